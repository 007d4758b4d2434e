import { afterEach, describe, expect, test } from 'vitest';
import type { FloatingIPPoolSpec } from '../../crds/generated/floatingippool.ts';
import type { Condition } from '../e2e/named.ts';
import { staged } from '../e2e/served.ts';
import { type KubectlResult, kubectl } from '../support/kubectl.ts';

/** As it waits in production, where those of other scenarios would be over at once. */
const FLAGS = ['--backoff-slow=1m,5m,10m'];
const MATCH = { nodeLabel: 'pool=work', podNamespace: 'default', podLabel: 'app=ingress' };

/** Tools that apply manifests, as docs/gitops.md has them: by kubectl, which applies as Flux does on the server, and as Argo CD does without. */
describe('a pool whose manifest is applied again and again', () => {
  const { stage, target } = staged({ audit: true });

  afterEach(() => stage().deletePool('ingress'));

  const manifest = (spec: Partial<FloatingIPPoolSpec>): string =>
    JSON.stringify({
      apiVersion: 'flipop.digitalocean.com/v1alpha1',
      kind: 'FloatingIPPool',
      metadata: { name: 'ingress', namespace: 'default' },
      spec: { provider: 'digitalocean', region: 'nyc3', match: MATCH, ...spec },
    });
  const applied = async (args: readonly string[], spec: Partial<FloatingIPPoolSpec>): Promise<KubectlResult> => {
    const answer = await kubectl(['apply', ...args, '-f', '-'], { kubeconfig: target().adminKubeconfig, input: manifest(spec) });
    expect([answer.code, answer.stderr]).toEqual([0, '']);
    return answer;
  };
  const onServer = (spec: Partial<FloatingIPPoolSpec>) => applied(['--server-side', '--field-manager=flux'], spec);
  const byClient = (spec: Partial<FloatingIPPoolSpec>) => applied([], spec);

  const listed = async (): Promise<readonly string[]> => (await stage().getPool('ingress')).spec.ips ?? [];
  const active = (count: number): Promise<void> =>
    stage().until(`${count} are active`, async () => (await stage().getPool('ingress')).status?.activeIPs === count);
  const condition = async (type: string): Promise<Condition | undefined> =>
    ((await stage().getPool('ingress')).status?.conditions as readonly Condition[] | undefined)?.find((each) => each.type === type);
  const created = (): readonly string[] => [...stage().cloud.state.reservedIPs.keys()];

  test('on the server and names no addresses keeps those that the operator has added, and is told of no conflict', async () => {
    await stage().nodes('a', 'b', 'c');
    await stage().start({ flags: FLAGS });
    await onServer({ desiredIPs: 2 });
    await active(2);
    const first = await listed();
    expect([...first].sort()).toEqual([...created()].sort());

    await onServer({ desiredIPs: 2 });
    expect(await listed()).toEqual(first);
    await onServer({ desiredIPs: 3 });
    await active(3);
    const all = await listed();
    expect([all.slice(0, 2), all.length, created().length]).toEqual([first, 3, 3]);
    // Addresses that it names are its own, the others are the operator's.
    await onServer({ desiredIPs: 3, ips: first.slice(0, 1) });
    await onServer({ desiredIPs: 3 });
    expect([...(await listed())].sort()).toEqual([...all].sort());
    expect((await condition('Degraded'))?.reason).toBe('AsExpected');
    const { metadata } = await stage().getPool('ingress');
    const managers = (metadata as unknown as { managedFields: readonly { manager: string; fieldsV1: { 'f:spec'?: object } }[] })
      .managedFields;
    const ofIPs = managers.filter(({ fieldsV1 }) => 'f:ips' in (fieldsV1['f:spec'] ?? {})).map(({ manager }) => manager);
    expect(ofIPs).toEqual(['routedip-operator']);
  });

  test('and takes them out is answered once, then told; they serve on, and it ends once all are listed', async () => {
    await stage().nodes('a', 'b', 'c', 'd');
    const { ip } = stage().cloud.addReservedIP({ region: 'nyc3' });
    const spec = { ips: [ip], desiredIPs: 3 };
    await stage().start({ flags: FLAGS });
    await byClient(spec);
    await active(3);
    const all = await listed();
    const sent = stage().cloud.calls.select({ writes: true }).length;
    await byClient(spec);
    await stage().until('they are added again', async () => (await listed()).length === 3);
    await byClient(spec);
    await stage().until('it is told', async () => (await condition('Degraded'))?.reason === 'SpecReverted');

    const writes = () =>
      stage()
        .target.operatorWrites()
        .filter((write) => write.includes('/floatingippools/')).length;
    const before = writes();
    for (let round = 0; round < 8; round += 1) {
      await byClient(spec);
      expect(await listed()).toEqual([ip]);
    }
    // The one that says so may be followed by another one.
    expect(writes() - before).toBeLessThan(3);
    expect(await condition('Ready')).toMatchObject({ status: 'True', reason: 'AllActive' });
    expect([created().length, stage().cloud.calls.select({ writes: true }).length]).toEqual([3, sent]);
    const [, other = ''] = all;
    const failing = stage().heldBy(other) ?? '';
    await stage().notReady(failing);
    await stage().until('one that is not listed moves', async () => ![null, failing].includes(await stage().activeOn('ingress', other)));

    await byClient({ ...spec, ips: [...all] });
    await stage().until('it is over', async () => (await condition('Degraded'))?.reason === 'AsExpected');
    await byClient({ ...spec, ips: [...all] });
    expect([await listed(), created().length]).toEqual([all, 3]);
  });
});
