import { describe, expect, test } from 'vitest';
import { at, type Json, type JsonObject } from '../../simulator/kubernetes/objects.ts';
import { movedFrom, staged } from '../e2e/served.ts';
import type { Stage } from '../e2e/stage.ts';
import type { Target } from '../e2e/target.ts';
import type { Operator } from '../support/operator.ts';
import { PENDING } from '../support/pending.ts';

const CRD = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  name: 'floatingippools.flipop.digitalocean.com',
};

/** A key that no taint can bear: it changes nothing, and is longer than a key may be. */
const LONG = { key: 'k'.repeat(400), operator: 'Exists' };
/** The words of newer servers, and of older ones. */
const TOO_LONG = /tolerations.*(Too long|at most 317 chars)/;
const MATCH = { nodeLabel: 'pool=work', podNamespace: 'default', podLabel: 'app=ingress' };

/** Since 1.30 a server lets be what breaks a rule and was not changed; before, it refuses each write of such an object. */
const letsBe = ({ cluster }: Target): boolean => Number(cluster?.version.split('.')[1] ?? 36) >= 30;

/** The definition without the limits of lists and texts, as it was. */
const unlimited = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(unlimited);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([name, most]) => !(['maxItems', 'maxLength'].includes(name) && typeof most === 'number'));
  return Object.fromEntries(kept.map(([name, inner]) => [name, unlimited(inner ?? null)]));
};

/** Runs `write` while the server has no limits; afterwards it has them again. */
async function withoutLimits(stage: Stage, write: () => Promise<void>): Promise<void> {
  const { client } = stage.target;
  const { spec } = (await client.get(CRD)) as unknown as { readonly spec: { readonly versions: JsonObject[] } };
  await client.patch(CRD, { spec: { versions: unlimited(spec.versions) } });
  // The server goes by a definition a moment after it has stored it.
  await stage.until('the write is accepted', () =>
    write().then(
      () => true,
      () => false,
    ),
  );
  await client.patch(CRD, { spec: { versions: spec.versions } });
  await stage.until('the limits count', () =>
    stage.pool('too-large', { ips: ['192.0.2.1'], match: { ...MATCH, tolerations: [LONG] } }).then(
      () => stage.deletePool('too-large').then(() => false),
      ({ message }: Error) => TOO_LONG.test(message),
    ),
  );
}

const saidTo = async (stage: Stage): Promise<readonly string[]> => {
  const events = await stage.target.client.list('events.k8s.io/v1', 'Event', { namespace: 'default' });
  return events.filter((event) => at(event, 'regarding', 'name') === 'ingress').map(({ reason, note }) => `${reason}: ${note}`);
};

const notWritten = ({ log }: Operator) => log.filter(({ msg, level }) => msg === 'status not written' && level === 'warn');

/** What was stored before there was a limit. */
describe('a pool that breaks a limit and was stored before there was one', () => {
  const { stage: current, served } = staged();

  test('is served: its address is assigned and fails over, and where the server refuses its status that is said once', async () => {
    const stage = current();
    await stage.nodes('a', 'b', 'c');
    const { ip } = stage.cloud.addReservedIP({ region: 'nyc3' });
    await withoutLimits(stage, () => stage.pool('ingress', { ips: [ip], match: { ...MATCH, tolerations: [LONG] } }));
    const operator = await stage.start();
    const annotated = async () => {
      const node = stage.heldBy(ip);
      return node !== null && (await stage.annotation(node)) === ip;
    };
    await stage.until('its address is assigned, and the node annotated', annotated);
    const first = stage.heldBy(ip) ?? '';

    if (letsBe(stage.target)) {
      await stage.until('it is shown', async () => (await stage.activeOn('ingress', ip)) === first);
      expect(notWritten(operator)).toEqual([]);
      await stage.notReady(first);
      await movedFrom({ stage, ip }, first);
      return;
    }
    await stage.until('an Event says so', async () =>
      (await saidTo(stage)).some((said) => said.startsWith('WriteRefused: its status cannot be written') && TOO_LONG.test(said)),
    );
    const readyz = async () => (await operator.metrics('/readyz')).text;
    expect(await readyz()).toMatch(/^ok\n(.*\n)*writes: .*FloatingIPPool default\/ingress: /);
    expect(await readyz()).toMatch(TOO_LONG);
    await stage.until('the figures say so', async () =>
      (await operator.metrics()).text.includes('routedip_objects_unserved{kind="FloatingIPPool",reason="NotWritten"} 1'),
    );
    await stage.notReady(first);
    await stage.until('it fails over', async () => stage.heldBy(ip) !== first && (await annotated()));
    expect((await stage.getPool('ingress')).status).toEqual(PENDING);
    expect(notWritten(operator)).toHaveLength(1);

    // Once it is mended it is shown at once, and nothing is left of it.
    const now = stage.heldBy(ip);
    await stage.editPool('ingress', { match: { tolerations: null } });
    await stage.until('it is shown', async () => (await stage.activeOn('ingress', ip)) === now);
    expect(await readyz()).not.toContain('writes:');
    expect(stage.assigns(ip)).toHaveLength(2);
  });

  test('with more addresses than a pool may have is told so with the limit, and keeps what it has', async () => {
    const { stage, ip, holder, operator } = await served();
    const many = Array.from({ length: 1000 }, (_, index) => `198.18.${index >> 8}.${index & 255}`);
    await withoutLimits(stage, () => stage.editPool('ingress', { ips: [ip, ...many] }));
    const text = 'spec.ips has 1001 addresses, and at most 1000 are allowed: give the others a pool of their own';
    await stage.until('an Event says so', async () => (await saidTo(stage)).includes(`InvalidSpec: ${text}`));
    if (letsBe(stage.target)) await stage.until('the status says so', async () => (await stage.getPool('ingress')).status?.error === text);
    expect(await operator.stop()).toBe(0);
    const second = await stage.start();
    await second.ready();
    await stage.until('the second one leads', () => second.log.some(({ msg }) => msg === 'leads'));
    await stage.editPool('ingress', { ips: [ip] });
    await stage.until('it is served as before', async () => {
      const { status } = await stage.getPool('ingress');
      return status?.error === undefined && status?.activeIPs === 1;
    });
    expect([stage.heldBy(ip), await stage.annotation(holder), stage.assigns(ip).length]).toEqual([holder, ip, 1]);
  });
});
