import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { isGuarded, listedBy, sharedVipStage, type Vips } from '../e2e/vip-objects.ts';

const ASKED = 'failed to allocate specific ip:';
const TAKEN = `RequestedIPUnavailable: ${ASKED} the requested ip is not available`;
const NONE_LEFT = 'PoolExhausted: no IP could be allocated';
const NO_SPEC = 'InvalidSegment: the group has no spec; spec.segment must be a CIDR such as 192.0.2.0/24';

/** Requests for one address come first: those for any would take it. */
const SPECIFIC = [
  'valid-specific-ip',
  'mix-reserved-ip',
  'valid-requested-ip',
  'valid-pinned-group',
  'invalid-excluded-ip',
  'invalid-no-group-for-ip',
  'invalid-not-an-ip',
  'valid-nodeport',
];
const ANY = ['valid-multiple-ports', 'valid-annotations-and-labels', 'valid-keepalived-annotation', 'valid-two-services', 'long-name'];
/** Of the eleven addresses those that remain for them, and who gets them. */
const LEFT = ['1.1.1.3', '1.1.1.4', '1.1.1.5', '1.1.1.6', '1.1.2.2', '1.1.3.4'];
const SERVED_BY_THEM = [
  'a-service-whose-name-is-as-long-as-a-virtualip-was-not-to-be',
  'valid-annotations-and-labels',
  'valid-keepalived-annotation',
  'valid-multiple-ports',
  'valid-two-services-a',
  'valid-two-services-b',
];
/** What those come to that are not served by any address: theirs, or what they are told. */
const OUTCOMES: Readonly<Record<string, string>> = {
  'valid-specific-ip': '1.1.2.4',
  'mix-reserved-ip-first': '1.1.2.6',
  'mix-reserved-ip-second': TAKEN,
  'invalid-excluded-ip': TAKEN,
  'invalid-no-group-for-ip': `AllocationFailed: ${ASKED} IPGroup not found for the requested ip`,
  'invalid-not-an-ip': `AllocationFailed: ${ASKED} the requested ip could not be parsed`,
  'valid-requested-ip': '1.1.2.3',
  'valid-pinned-group': '1.1.3.3',
  'valid-nodeport': '',
  'valid-any-ip': '1.1.1.1',
  'invalid-no-available-ip': NONE_LEFT,
};

/** Each Service's address, or what it is told while it has none. */
async function outcomes(vips: Vips): Promise<Readonly<Record<string, string>>> {
  const told = await vips.told();
  const outcome = (name: string, listed: string) => (listed === '' ? (told.get(name) ?? []).join('; ') : listed);
  return Object.fromEntries((await vips.services()).map((each) => [each.metadata.name, outcome(each.metadata.name, listedBy(each))]));
}

/** A group without a spec was always accepted. An IP that is no address is nobody's, where somebody else than the operator may write one. */
const sample = (kind: string, spec?: JsonObject): JsonObject => ({
  apiVersion: 'paas.org/v1',
  kind,
  metadata: { name: `${kind.toLowerCase()}-sample` },
  ...(spec && { spec }),
});

async function applyAll(vips: Vips): Promise<void> {
  for (const file of ['namespace', 'ipgroups']) await vips.example(`${file}.yaml`);
  await vips.client.create(sample('IPGroup'));
  await vips.client.create(sample('IP', { foo: 'bar' }));
  await vips.start();
  for (const file of SPECIFIC) await vips.example(`${file}.yaml`);
  await vips.example('valid-any-ip.yaml');
  await vips.listing('valid-any-ip', '1.1.1.1');
  for (const file of ANY) await vips.example(`${file}.yaml`);
  await vips.until('all addresses are listed', async () => (await vips.services()).filter((each) => listedBy(each) !== '').length === 11);
  await vips.example('invalid-no-available-ip.yaml');
  await vips.until('all is told', async () => {
    const now = await outcomes(vips);
    return Object.entries(OUTCOMES).every(([name, outcome]) => (now[name] === '') === (outcome === ''));
  });
}

const conditionOf = async (vips: Vips, group: string): Promise<string> => {
  const { status, reason, message } = (await vips.groupStatus(group))?.conditions[0] ?? {};
  return `${status} ${reason}: ${message}`;
};

/** The examples of the allocator that this one takes the place of, as Services of type LoadBalancer. */
describe('the examples', () => {
  const { vips } = sharedVipStage('test', applyAll);

  test('have the address each that is theirs, or wait and say why', async () => {
    const all = await outcomes(vips());
    const named = Object.fromEntries(Object.keys(OUTCOMES).map((name) => [name, all[name]]));
    expect(named).toEqual(OUTCOMES);
    expect(Object.keys(all).sort()).toEqual([...SERVED_BY_THEM, ...Object.keys(OUTCOMES)].sort());
    expect(SERVED_BY_THEM.map((name) => all[name]).sort()).toEqual(LEFT);
    const owners = Object.entries(await vips().reserved()).filter(([name]) => name !== 'ip-sample');
    const listed = Object.entries(all).filter(([, outcome]) => /^[\d.]+$/.test(outcome));
    expect(new Map(owners)).toEqual(new Map(listed.map(([name, address]) => [address, `test/${name}`])));
  });

  test('keep what people wrote on them; a Service of another type is not touched', async () => {
    const ports = (await vips().find('valid-multiple-ports'))?.spec.ports ?? [];
    expect(ports.map(({ port, targetPort }) => `${port} ${targetPort}`)).toEqual(['5000 5000', '5001 5000', '5002 5002']);
    const annotated = await vips().find('valid-annotations-and-labels');
    expect([annotated?.metadata.annotations, annotated?.metadata.labels, isGuarded(annotated)]).toEqual([{ a: 'a1' }, { l: 'l1' }, true]);
    expect((await vips().find('valid-keepalived-annotation'))?.metadata.annotations).toEqual({
      'keepalived-operator.redhat-cop.io/keepalivedgroup': 'namespace/group',
    });
    const other = await vips().find('valid-nodeport');
    expect([other?.spec.type, isGuarded(other)]).toEqual(['NodePort', false]);
  });

  test('show in their groups that all is in use, and what is wrong with one without a spec', async () => {
    const counts = async (name: string) => {
      const { capacity, allocated, available } = (await vips().groupStatus(name)) ?? {};
      return [capacity, allocated, available];
    };
    const wanted = { 'ipgroup-1': [5, 5, 0], 'ipgroup-2': [4, 4, 0], 'ipgroup-3': [2, 2, 0], 'ipgroup-sample': [0, 0, 0] };
    for (const [name, numbers] of Object.entries(wanted)) {
      await vips().until(`${name} counts ${numbers.join()}`, async () => (await counts(name)).join() === numbers.join());
    }
    expect(await conditionOf(vips(), 'ipgroup-1')).toBe('True Full: all 5 addresses are allocated');
    expect(await conditionOf(vips(), 'ipgroup-sample')).toBe(`False ${NO_SPEC}`);
    const told = async () => (await vips().toldOfGroups()).get('ipgroup-sample') ?? [];
    await vips().until('an Event says so', async () => (await told()).length > 0);
    expect(await told()).toEqual([NO_SPEC]);
    const made = await vips().client.get({ apiVersion: 'paas.org/v1', kind: 'IP', name: 'ip-sample' });
    expect([made.metadata.name, made.spec]).toEqual(['ip-sample', {}]);
  });

  test('are served when what they wait for is free; one that is deleted while it waits leaves nothing', async () => {
    await vips().remove('mix-reserved-ip-first');
    await vips().listing('mix-reserved-ip-second', '1.1.2.6');
    await vips().group('ipgroup-4', '1.1.4.0/30');
    await vips().listing('invalid-no-available-ip', '1.1.4.0');
    await vips().example('privileged-ports.yaml');
    await vips().listing('privileged-ports', '1.1.4.1');
    const refusal = await vips().example('valid-two-protocols.yaml').catch(String);
    if (refusal === undefined) await vips().listing('valid-two-protocols', '1.1.4.2');
    else expect(refusal).toContain('may not contain more than 1 protocol');
    await vips().remove('invalid-not-an-ip');
    await vips().until('it is gone', async () => (await vips().find('invalid-not-an-ip')) === null);
    const reserved = await vips().reserved();
    expect(Object.values(reserved).filter((owner) => /not-an-ip|reserved-ip-first/.test(owner))).toEqual([]);
    expect([reserved['1.1.2.6'], reserved['1.1.4.0']]).toEqual(['test/mix-reserved-ip-second', 'test/invalid-no-available-ip']);
  });
});
