import { describe, expect, test } from 'vitest';
import { claimsOf } from '../../../actors/runtime/charts.ts';
import { serviceQueryOf } from '../../../machines/model/service-ref.ts';
import { type PoolContext, type PoolInput, poolContext } from '../../../machines/pool/context.ts';
import { nodesRemembered } from '../../../machines/pool/node-claim.ts';
import type { RoutedIPFact } from '../../../machines/spec/routedip.ts';
import { rememberedRoutedIP } from '../../../machines/status/restore-routedip.ts';
import { routedIPStatus } from '../../../machines/status/routedip.ts';
import { A, B, C, cutOff, failure, node, registry, START } from '../builders.ts';
import { CALL_DEADLINE, Driven } from '../drive.ts';

const ID = 'rip/web/shop';
const REF = { kind: 'RoutedIP', namespace: 'web', name: 'shop', uid: 'uid-shop' };
const INPUT: PoolInput = { id: ID, ref: REF, since: 0 };
const CLASS_NAME = 'digitalocean.com/floating-ip';
const FACT: RoutedIPFact = {
  ...{ namespace: 'web', name: 'shop', uid: REF.uid, operatorNamespace: 'operator', generation: 1 },
  spec: { className: CLASS_NAME, serviceRef: { serviceName: 'shop' } },
  policy: {
    ...{ kind: 'ClusterRoutedIPClass', namespace: '', name: 'floating', generation: 1 },
    spec: { className: CLASS_NAME, routedIPReclaimPolicy: 'Delete' },
  },
};
const SPEC = { spec: FACT, generation: 1, registry: registry(), conflicts: {}, guarded: true };
const SERVED = {
  query: serviceQueryOf('web', 'shop'),
  nodes: [node('a')],
  serving: null,
  service: {
    ...{ type: 'NodePort', hasSelector: true },
    ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 80, nodePort: 30080 }],
    endpoints: [{ node: 'a', ready: true, pod: null }],
  },
};

/** An address was made for it, and another leader takes over before that stands in its status: nothing is told yet of its nodes. */
const takenOver = (): Driven<PoolContext> =>
  new Driven<PoolContext>('pool', INPUT)
    .send('SPEC_OBSERVED', SPEC)
    .send('CLUSTER_OBSERVED', SERVED)
    .send('PROVIDER_OBSERVED', { addresses: [] })
    .done('intend', { knownAddresses: [], listedAt: START })
    .done('create', { address: A })
    .send('RESUME');

const creating = (): Driven<PoolContext> =>
  new Driven<PoolContext>('pool', INPUT)
    .send('SPEC_OBSERVED', SPEC)
    .send('CLUSTER_OBSERVED', SERVED)
    .send('PROVIDER_OBSERVED', { addresses: [] })
    .done('intend', { knownAddresses: [], listedAt: START });

const statusOf = ({ context }: Driven<PoolContext>) =>
  routedIPStatus({
    ...{ state: 'Serving', recordSet: null, context, addresses: {}, term: 2, at: START },
    ...{ owned: {}, loss: null, waits: null },
  });

describe('a RoutedIP for which an address was made', () => {
  test('names it in its status before its nodes are told again: whoever has that alone makes no other one', () => {
    const routed = takenOver();
    expect([routed.started, statusOf(routed).routedIP]).toEqual([['publish'], undefined]);
    routed.done('publish', { ips: [A], generation: Number.MAX_SAFE_INTEGER });
    expect([routed.told, statusOf(routed)]).toMatchObject([[], { routedIP: A, addressOrigin: 'Created' }]);
    const remembered = rememberedRoutedIP(statusOf(routed), START, CALL_DEADLINE);
    expect(poolContext({ ...INPUT, remembered })).toMatchObject({ created: [A], exposed: { bound: A }, acquiring: { published: [A] } });
  });

  test('knows after the records were lost which node was chosen for it last', () => {
    const status = { routedIP: A, electedNode: 'n1', epoch: 1, state: 'FirewallOpening' };
    const context = poolContext({ ...INPUT, remembered: rememberedRoutedIP(status, START, CALL_DEADLINE) });
    expect(nodesRemembered(context)).toEqual(['n1']);
  });

  test('gives it back when it is deleted before its nodes are told again', () => {
    const routed = takenOver()
      .done('publish', { ips: [A], generation: Number.MAX_SAFE_INTEGER })
      .send('DELETED');
    expect([routed.state, routed.last.effects]).toMatchObject([
      'Stopping.Releasing',
      [
        { type: 'spawn', params: { input: { address: A, origin: 'Created', observed: { providerID: null, locked: false } } } },
        { type: 'tell', params: { event: { type: 'RETIRE', policy: 'Delete' } } },
      ],
    ]);
    expect(routed.send('GONE', { address: A }).state).toBe('Stopping.Clearing');
  });

  test('leaves it to whoever has it when it is deleted', () => {
    const routed = takenOver()
      .send('SPEC_OBSERVED', { ...SPEC, conflicts: { [A]: 'FloatingIPPool web/front' } })
      .done('publish', { ips: [A], generation: Number.MAX_SAFE_INTEGER })
      .send('DELETED');
    expect([routed.state, routed.told]).toEqual(['Stopping.Clearing', []]);
  });
});

describe('a RoutedIP that gets another class while the addresses that exist are listed', () => {
  test('creates nothing by that list', () => {
    const routed = new Driven<PoolContext>('pool', INPUT)
      .send('SPEC_OBSERVED', SPEC)
      .send('CLUSTER_OBSERVED', SERVED)
      .send('PROVIDER_OBSERVED', { addresses: [] });
    const { provider } = routed.inputOf('intendCreate') as { readonly provider: string };
    expect(routed.done('intend', { knownAddresses: [], listedAt: START, provider: 'job.floating' }).started).toEqual(['intendCreate']);
    expect(routed.done('intend', { knownAddresses: [], listedAt: START, provider }).started).toEqual(['create']);
  });
});

describe('a RoutedIP whose class comes to want the firewall first', () => {
  const classed = (fields: object): RoutedIPFact => ({
    ...FACT,
    policy: { ...FACT.policy, spec: { className: CLASS_NAME, routedIPFirewallName: 'edge', ...fields } } as RoutedIPFact['policy'],
  });

  const fact = { ...classed({ firewallPostAllow: true }), spec: { ...(FACT.spec as object), routedIP: A } };
  const waiting = () =>
    new Driven<PoolContext>('pool', INPUT)
      .send('SPEC_OBSERVED', { ...SPEC, spec: fact })
      .send('CLUSTER_OBSERVED', { ...SERVED, nodes: [] })
      .send('PROVIDER_OBSERVED', { addresses: [] })
      .send('READY', { address: A, holder: null, region: '' });
  const firewallFirst = { ...SPEC, spec: { ...fact, policy: classed({}).policy } };

  test.each([
    ['after it was away', { ...SPEC, spec: { ...fact, policy: null } }],
    ['during a pause', { ...firewallFirst, marks: { paused: 'true' } }],
  ])('%s has its address hear of that before it gets a node', (_, before) => {
    const routed = waiting().send('SPEC_OBSERVED', before).send('CLUSTER_OBSERVED', SERVED).send('SPEC_OBSERVED', firewallFirst);
    expect(routed.told).toEqual([]);
    expect(routed.send('CLUSTER_OBSERVED', SERVED).told).toEqual(['POLICY_OBSERVED', 'NODE_GRANTED']);
    expect(routed.context.exposed?.policy).toMatchObject({ postAllow: false });
  });
});

describe('a RoutedIP whose class becomes one of another platform while an address is made for it', () => {
  const TEMPLATE = { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'platform', image: 'curl:8' }] } } };
  const [API, JOBS] = ['digitalocean', 'job.floating'];
  const { digitalocean: facts } = registry();
  const [byApi, byJobs, byGroup] = [{}, { updateRoutedIP: TEMPLATE }, { updateRoutedIP: TEMPLATE, ipGroup: 'edge' }].map((templates) => ({
    ...SPEC,
    spec: { ...FACT, policy: { ...FACT.policy, spec: { className: CLASS_NAME, routedIPReclaimPolicy: 'Delete', ...templates } } },
    registry: { ...registry(), ...(facts && { [JOBS]: facts }) },
  }));
  const claims = ({ chart, context }: Driven<PoolContext>) =>
    claimsOf(chart, ID, context).map(({ provider, node: claimed }) => `${provider} ${claimed}`);
  const listing = (first = byApi) =>
    new Driven<PoolContext>('pool', INPUT)
      .send('SPEC_OBSERVED', first)
      .send('CLUSTER_OBSERVED', SERVED)
      .send('PROVIDER_OBSERVED', { addresses: [] });
  const creating = (first = byApi) => listing(first).done('intend', { knownAddresses: [], listedAt: START });

  test('looks for it where the call was sent, and keeps nobody else from creating where its class is now', () => {
    const routed = creating().send('SPEC_OBSERVED', byJobs).send('CLUSTER_OBSERVED', SERVED);
    expect([routed.started, claims(routed)]).toEqual([[], [`${API} #create`]]);
    routed.failed('create', cutOff());
    expect([routed.inputOf('reconcileCreate'), claims(routed)]).toMatchObject([{ provider: API, region: '' }, [`${API} #create`]]);
    expect(routed.inputOf('reconcileCreate')).not.toHaveProperty('subject');
    routed.done('reconcile', { found: 'none' });
    expect([routed.inputOf('intendCreate'), claims(routed)]).toMatchObject([{ provider: JOBS }, [`${JOBS} #create`]]);
    expect(routed.context.acquiring).not.toHaveProperty('by');
  });

  test('looks for the Job that was to make it, as that knows it', () => {
    const routed = creating(byJobs).send('SPEC_OBSERVED', byApi).failed('create', cutOff());
    expect(routed.inputOf('reconcileCreate')).toMatchObject({ provider: JOBS, subject: { uid: REF.uid } });
    routed.done('reconcile', { found: 'one', address: A });
    expect([routed.inputOf('publish'), claims(routed)]).toMatchObject([{ provider: JOBS, address: A }, [`${JOBS} #create`]]);
    routed.done('publish', { ips: [A], generation: Number.MAX_SAFE_INTEGER });
    expect([routed.context.exposed?.bound, routed.context.acquiring.by]).toEqual([A, undefined]);
  });

  test('keeps the right of the account whose addresses are being listed, until it has that of the other one', () => {
    const routed = listing().send('SPEC_OBSERVED', byJobs);
    expect(claims(routed)).toEqual([`${API} #create`]);
    routed.send('CLAIMS_OBSERVED', { fullNodes: ['#create'] }).done('intend', { knownAddresses: [], listedAt: START, provider: API });
    expect([routed.started, claims(routed)]).toEqual([[], []]);
  });

  test('looks for what may be reserved in an IPGroup that its class names no more, which keeps nobody else from creating', () => {
    const offer = { group: 'edge', address: A };
    const routed = listing(byGroup)
      .send('GROUP_OBSERVED', { offer, refusal: null })
      .done('intend', { knownAddresses: [], listedAt: START })
      .failed('create', cutOff());
    routed.send('SPEC_OBSERVED', byJobs).send('RESUME');
    expect([routed.inputOf('reconcileCreate'), claims(routed)]).toMatchObject([
      { offer: { address: A }, subject: { ipGroup: 'edge' } },
      [],
    ]);
  });

  test('gives back where it was made what the Job says that it made, when it is deleted', () => {
    const routed = creating(byJobs).send('SPEC_OBSERVED', byApi).send('DELETED').done('reconcile', { found: 'one', address: A });
    expect(routed.last.effects).toMatchObject([
      { type: 'spawn', params: { input: { provider: JOBS, address: A, policy: { subject: { uid: REF.uid } } } } },
      { type: 'tell', params: { event: { type: 'RETIRE', policy: 'Delete' } } },
    ]);
  });
});

describe('a RoutedIP that is deleted while nobody knows whether an address was made for it', () => {
  const deleted = () => creating().failed('create', cutOff()).send('DELETED');
  const told = {
    message: expect.stringMatching(`^${A} may have been made for this RoutedIP. If nobody else made it, it belongs to nobody`),
  };

  test('does not delete what only a list shows, which may be somebody else’s: it tells of it', () => {
    const routed = deleted().done('reconcile', { found: 'one', address: A });
    expect([routed.told, routed.inputOf('announce')]).toMatchObject([[], told]);
    expect(routed.done('announce').state).toBe('Stopping.Clearing');
  });

  test('no more than that when it was about to be bound to that one', () => {
    const routed = creating().failed('create', cutOff()).done('reconcile', { found: 'one', address: A });
    expect(routed.started).toEqual(['publish']);
    routed.send('DELETED');
    expect([routed.told, routed.inputOf('announce')]).toMatchObject([[], told]);
  });

  test('gives back what the call has answered', () => {
    const routed = creating().done('create', { address: A }).send('DELETED');
    expect([routed.started, routed.told]).toEqual([[], ['spawn', 'RETIRE']]);
  });
});

describe('a RoutedIP for which a person names another address while one is made', () => {
  const named = (routedIPReclaimPolicy: 'Delete' | 'Retain', fact: Readonly<Record<string, unknown>> = {}) => {
    const policy = { ...FACT.policy, spec: { className: CLASS_NAME, routedIPReclaimPolicy } };
    const spec = { ...FACT, spec: { className: CLASS_NAME, serviceRef: { serviceName: 'shop' }, routedIP: B }, policy };
    return { ...SPEC, spec, generation: 2, ...fact };
  };
  /** Where B is was read. */
  const READ = { address: B, holder: null, region: 'nyc3', adopts: 'Free' };
  const membersOf = ({ context }: Driven<PoolContext>) =>
    Object.entries(context.members).map(([address, { retiring }]) => [address, retiring]);
  const asked = ({ last }: Driven<PoolContext>, address: string) =>
    last.effects.flatMap((effect) => (effect.type === 'tell' && effect.params.to.endsWith(address) ? [effect.params.event] : []));

  test('is bound to that one, and gives back what was made', () => {
    const routed = creating().send('SPEC_OBSERVED', named('Delete')).send('CLUSTER_OBSERVED', SERVED).send('READY', READ);
    expect(routed.context.exposed?.bound).toBe(B);
    routed.done('create', { address: A });
    expect([routed.started, asked(routed, A)]).toMatchObject([[], [{ type: 'RETIRE', policy: 'Delete' }]]);
    // Until it is gone the status remembers it: a rebuild would lose it else.
    expect([statusOf(routed).routedIP, statusOf(routed).pendingCreate]).toMatchObject([B, { knownAddresses: [] }]);
    expect(membersOf(routed.send('GONE', { address: A }))).toEqual([[B, false]]);
    expect(statusOf(routed).pendingCreate).toBeUndefined();
  });

  test('says of what is given back that it was made, when nothing else is left of one that is deleted', () => {
    const routed = creating().send('SPEC_OBSERVED', named('Delete')).send('CLUSTER_OBSERVED', SERVED).done('create', { address: A });
    routed.send('DELETED').send('GONE', { address: B });
    expect(membersOf(routed)).toEqual([[A, true]]);
    expect(statusOf(routed)).toMatchObject({ routedIP: A, addressOrigin: 'Created' });
  });

  test('tells of what was to be given back, when it is let go at once', () => {
    const routed = creating().send('SPEC_OBSERVED', named('Delete'));
    routed.done('create', { address: A }).send('DELETED', { force: true });
    expect([routed.started, routed.inputOf('announce')]).toMatchObject([['announce'], { message: expect.stringContaining(A) }]);
    expect(routed.done('announce', {}).send('GONE', { address: A }).context.acquiring).not.toHaveProperty('givenBack');
  });

  test('does not delete what only a list shows, which may be somebody else’s: it tells of it', () => {
    const routed = creating()
      .failed('create', cutOff())
      .send('SPEC_OBSERVED', named('Delete'))
      .send('CLUSTER_OBSERVED', SERVED)
      .send('READY', READ)
      .done('reconcile', { found: 'one', address: A });
    expect([asked(routed, A), routed.context.exposed?.bound]).toEqual([[], B]);
    expect(routed.inputOf('announce')).toMatchObject({ message: expect.stringMatching(`^${A} may have been made for this RoutedIP`) });
  });

  test('tells of it where the class retains, and until that was heard', () => {
    const routed = creating()
      .send('SPEC_OBSERVED', named('Retain'))
      .send('CLUSTER_OBSERVED', SERVED)
      .send('READY', READ)
      .done('create', { address: A });
    const told = { reason: 'AddressLeft', message: expect.stringContaining(`${A} was made for this RoutedIP, which has another address`) };
    expect([routed.inputOf('announce'), membersOf(routed)]).toMatchObject([told, [[B, false]]]);
    expect(routed.failed('announce', failure('Unavailable')).elapse().started).toEqual(['announce']);
    routed.done('announce');
    expect([routed.context.acquiring.intent, routed.context.created, statusOf(routed).routedIP]).toEqual([null, [], B]);
  });

  test('tells of those of which one may have been made', () => {
    const routed = creating().failed('create', cutOff()).send('SPEC_OBSERVED', named('Delete')).send('CLUSTER_OBSERVED', SERVED);
    routed.done('reconcile', { found: 'several', addresses: [A, C] });
    expect(routed.inputOf('announce')).toMatchObject({ message: expect.stringContaining(`one of ${A}, ${C} may have been made for this`) });
    expect(routed.done('announce').context.acquiring.unclear).toEqual([]);
  });

  test('tells of it while it is paused: nothing is given back then', () => {
    const routed = creating()
      .send('SPEC_OBSERVED', named('Delete', { marks: { paused: 'true' } }))
      .send('CLUSTER_OBSERVED', SERVED)
      .done('create', { address: A });
    expect([routed.started, asked(routed, A)]).toEqual([['announce'], []]);
  });

  test('is bound to neither while somebody else has that one, and binds it once it is free', () => {
    const routed = creating()
      .send('SPEC_OBSERVED', named('Delete', { conflicts: { [B]: 'RoutedIP web/other' } }))
      .send('CLUSTER_OBSERVED', SERVED)
      .done('create', { address: A });
    expect([membersOf(routed), routed.context.exposed?.bound, statusOf(routed).routedIP]).toEqual([[[A, true]], null, undefined]);
    routed.send('SPEC_OBSERVED', named('Delete')).send('CLUSTER_OBSERVED', SERVED).send('GONE', { address: A }).send('READY', READ);
    expect([membersOf(routed), routed.context.exposed?.bound]).toEqual([[[B, false]], B]);
  });

  test('keeps what was made when that was known before: the spec is not valid', () => {
    const routed = creating().done('create', { address: A }).send('SPEC_OBSERVED', named('Delete')).send('CLUSTER_OBSERVED', SERVED);
    expect([routed.context.error, membersOf(routed)]).toEqual([expect.stringContaining(`${A} is bound`), []]);
    routed.done('publish', { ips: [A], generation: Number.MAX_SAFE_INTEGER });
    expect([routed.context.exposed?.bound, statusOf(routed).routedIP]).toEqual([A, A]);
  });
});

describe('a RoutedIP that is rebuilt from its status, and not told of its nodes yet', () => {
  const rebuilt = () => {
    const remembered = rememberedRoutedIP({ routedIP: A, addressOrigin: 'Created' }, START, CALL_DEADLINE);
    return new Driven<PoolContext>('pool', { ...INPUT, remembered });
  };

  test('waits for that when it is deleted, since its address has to be given up', () => {
    const routed = rebuilt().send('DELETED', { force: false });
    expect([routed.state, routed.context.exposed?.deleting]).toEqual(['Priming', true]);
  });

  test('makes no other address, and keeps nobody else from making one, when its status names the one that was made and tells of that still', () => {
    const pendingCreate = { region: 'nyc3', knownAddresses: [B], startedAt: '2026-03-01T12:00:00.000Z' };
    const intents = ['Created', 'IPGroup', 'Adopted'].map(
      (addressOrigin) => rememberedRoutedIP({ routedIP: A, addressOrigin, pendingCreate }, START, CALL_DEADLINE).intent,
    );
    expect(intents).toMatchObject([null, null, { knownAddresses: [B] }]);
  });

  test('ends when its object is gone: nobody would tell it, and no other one of its name would be served', () => {
    expect(rebuilt().send('DELETED', { gone: true }).state).toBe('Stopping.Clearing');
    expect(rebuilt().send('DELETED', { force: false }).send('DELETED', { gone: true }).state).toBe('Stopping.Clearing');
  });
});

describe('a RoutedIP that is deleted while it is not served', () => {
  const missing = registry({ missing: 'Secret operator/do is not there' });
  const saying = (reclaim: string): RoutedIPFact => ({
    ...FACT,
    policy: { ...FACT.policy, spec: { className: CLASS_NAME, routedIPReclaimPolicy: reclaim } } as RoutedIPFact['policy'],
  });
  const served = (reclaim: string) =>
    new Driven<PoolContext>('pool', INPUT)
      .send('SPEC_OBSERVED', { ...SPEC, spec: saying(reclaim) })
      .send('CLUSTER_OBSERVED', SERVED)
      .send('PROVIDER_OBSERVED', { addresses: [] })
      .done('intend', { knownAddresses: [], listedAt: START })
      .done('create', { address: A })
      .done('publish', { ips: [A], generation: Number.MAX_SAFE_INTEGER });

  test.each([
    ['its credentials are missing', 'Retain', 'Delete', { registry: missing }, {}],
    ['its credentials are missing', 'Delete', 'Retain', { registry: missing }, {}],
    ['its own spec is not valid', 'Delete', 'Retain', {}, { spec: { className: CLASS_NAME } }],
  ])('since %s gives back its address as its class says by then: not %s, but %s', (_, before, then, event, spec) => {
    const routed = served(before);
    expect(routed.state).toContain('Serving');
    routed.send('SPEC_OBSERVED', { ...SPEC, spec: { ...saying(then), ...spec }, ...event });
    expect(routed.state).toBe('Invalid');
    routed.send('DELETED');
    expect(routed.last.effects).toMatchObject([{ type: 'tell', params: { event: { type: 'RETIRE', policy: then } } }]);
  });
});

describe('what a status says was opened for the address of a RoutedIP', () => {
  const rule = { firewall: 'edge', provider: 'digitalocean', ports: [{ port: 80, protocol: 'TCP' }], nodes: ['digitalocean://a'] };
  const rebuilt = () => {
    const remembered = rememberedRoutedIP({ routedIP: A, ownedRules: [rule] }, START, CALL_DEADLINE);
    return new Driven<PoolContext>('pool', { ...INPUT, remembered });
  };
  const leaves = [{ type: 'tell', params: { to: 'firewall/digitalocean/edge', event: { type: 'CLAIM', node: null, mode: 'prune' } } }];
  const claims = ({ last }: Driven<PoolContext>) =>
    last.effects.filter((effect) => effect.type === 'tell' && effect.params.to.startsWith('firewall/'));

  test('is given up when it is let go at once before the address is started', () => {
    expect(claims(rebuilt().send('DELETED', { force: true }))).toMatchObject(leaves);
  });

  test('is given up by the address, where that is started', () => {
    const routed = rebuilt()
      .send('SPEC_OBSERVED', SPEC)
      .send('CLUSTER_OBSERVED', SERVED)
      .send('PROVIDER_OBSERVED', { addresses: [{ address: A, region: 'nyc3', providerID: null, locked: false }] });
    expect([claims(routed), claims(routed.send('DELETED', { force: true }))]).toEqual([[], []]);
  });
});
