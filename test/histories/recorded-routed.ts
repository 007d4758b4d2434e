import { FORCE_RELEASE } from '../../actors/controllers/annotations.ts';
import { ProviderError } from '../../actors/ports/errors.ts';
import type { Provider } from '../../actors/ports/provider.ts';
import type { Json } from '../../actors/ports/records.ts';
import type { ObjectRef } from '../../machines/model/types.ts';
import { type ActorId, type Address, UNASSIGNED } from '../../machines/model/types.ts';
import { JobsWorld, OLD, YOUNG } from '../actors/kubernetes-jobs/world.ts';
import { FIREWALL, MINUTE, RoutedWorld, servicePort } from '../actors/routedip/world.ts';
import { type OperatorProcess, PROVIDER, providerIDOf, type World } from '../support/world.ts';
import type { Recording } from './recorded-journal.ts';

const ADDRESS = '203.0.113.7';
const CELL = 'rip/web/shop';
const FIREWALL_ACTOR = `firewall/${PROVIDER}/${FIREWALL}`;
/** What the Secret of a class is known under. */
const ACCOUNT = `${PROVIDER}@default.do-token`;

type Fields = { readonly [field: string]: Json };

/** What a RoutedIP starts from. */
interface Setup {
  readonly world: RoutedWorld;
  readonly ref: ObjectRef;
  readonly process: OperatorProcess;
}

/** A recording of a RoutedIP for the Service `shop` on nodes old and young: what becomes of it is told by `then`. */
const routed =
  (classFields: Fields, fields: Fields, then: (setup: Setup) => Promise<unknown>): Recording =>
  async (options, begin) => {
    const world = new RoutedWorld(options);
    begin(world);
    world.setClass(classFields);
    world.setNode(OLD, YOUNG);
    if (fields.routedIP) world.address(ADDRESS);
    world.setWeb('shop', ['old', 'young']);
    const ref = world.setRoutedIP('shop', fields);
    const process = await world.start();
    await then({ world, ref, process });
  };

const isIn = (world: World, actor: ActorId, state: string) => (): boolean => world.invariants.records.get(actor)?.snapshot.value === state;
const isGone = (world: World, ref: ObjectRef) => (): boolean =>
  world.cluster.pool(ref) === null && ![...world.invariants.records.keys()].some((actor) => actor.startsWith(CELL));

/** It gets an address, whose creation is lost sight of by a process that dies; the next one finds it, opens its port and assigns it. */
const created = routed({}, {}, async ({ world, ref, process }) => {
  world.provider.faults.next('createRoutedIP', { kind: 'loseReply' });
  await world.clock.runUntil(() => world.changes().includes('createRoutedIP'), MINUTE);
  await world.restart(process);
  await world.stable(ref, 'young', 10 * MINUTE);
});

/** A person names another address while one is made for it, and is told of that. */
const named = routed({ routedIPReclaimPolicy: 'Retain' }, {}, async ({ world }) => {
  await world.clock.runUntil(() => world.changes().includes('createRoutedIP'), MINUTE);
  world.address(ADDRESS);
  world.setRoutedIP('shop', { routedIP: ADDRESS });
  await world.clock.runUntil(() => world.cluster.announced.length > 0, MINUTE);
});

/** Its Service gets another port, which is opened. Then its node is cordoned: it is opened on the other one, moved there, and closed here. */
const moved = routed({}, { routedIP: ADDRESS }, async ({ world, ref }) => {
  await world.stable(ref, 'young');
  world.setWeb('shop', ['old', 'young'], { ports: [servicePort(8081)] });
  await world.clock.runUntil(() => world.firewall().ports.join(' ') === 'tcp/22 tcp/8081', MINUTE);
  await world.stable(ref, 'young');
  world.cluster.setNode({ ...YOUNG, unschedulable: true });
  await world.stable(ref, 'old');
});

/** Its port is opened only once it is assigned; the firewall refuses at first. */
const openedAfter = routed({ firewallPostAllow: true }, { routedIP: ADDRESS }, async ({ world, ref }) => {
  await world.stable(ref, 'young');
  world.provider.faults.next('addRoutedIPFirewallNode', { kind: 'refuse', error: 'Unavailable' });
  world.cluster.setNode({ ...YOUNG, ready: false });
  await world.stable(ref, 'old');
});

/** Somebody wants it on no node, and takes that back. */
const unassigned = routed({}, { routedIP: ADDRESS }, async ({ world, ref }) => {
  await world.stable(ref, 'young');
  world.invariants.unwanted.add(ADDRESS as Address);
  world.cluster.annotate(ref, { [UNASSIGNED]: 'true=alice' });
  await world.clock.runUntil(() => world.holderOf(ADDRESS) === null && world.firewall().nodes.length === 0, MINUTE);
  world.cluster.annotate(ref, {});
  await world.stable(ref, 'young');
});

/** Its node is lost, and on the only other one no change of the firewall is applied: it goes there all the same, and is well once all is applied. */
const hanging = routed({}, { routedIP: ADDRESS }, async ({ world, ref }) => {
  await world.stable(ref, 'young');
  world.provider.cloud.setFirewallStuck(providerIDOf('old'), true);
  world.cluster.setNode({ ...YOUNG, ready: false });
  await world.clock.runUntil(() => world.holderOf(ADDRESS) === 'old', MINUTE);
  world.provider.cloud.setFirewallStuck(providerIDOf('old'), false);
  await world.stable(ref, 'old', MINUTE);
});

/** Somebody closes its port, which the first try does not put back. */
const closedByHand = routed({}, { routedIP: ADDRESS }, async ({ world, ref }) => {
  await world.stable(ref, 'young');
  await world.clock.advance(MINUTE);
  world.rules.firewalls.byHand(() => world.provider.cloud.closePorts(FIREWALL, [{ port: 8080, protocol: 'TCP' }]));
  world.provider.faults.next('addRoutedIPFirewallPort', { kind: 'refuse', error: 'RateLimited' });
  await world.untilReason(ref, 'FirewallClosed', 'FirewallReady', 10 * MINUTE);
  await world.untilReason(ref, 'FirewallOpened', 'FirewallReady', 10 * MINUTE);
});

/** It goes while the provider cannot be reached, until its user waits no longer for what is left of it: the firewall removes that after rests, one of them over a
 *  change of leader, and is forgotten with its account. */
const leftover = routed({}, { routedIP: ADDRESS }, async ({ world, ref, process }) => {
  await world.stable(ref, 'young');
  world.provider.faults.always('any', { kind: 'noConnection' });
  world.cluster.markDeleting(ref);
  await world.clock.runUntil(isIn(world, `${CELL}/ip/${ADDRESS}`, 'CoolOff'), MINUTE);
  world.cluster.annotate(ref, { [FORCE_RELEASE]: 'true' });
  await world.clock.runUntil(isIn(world, FIREWALL_ACTOR, 'Resting'), MINUTE);
  world.provider.faults.clear();
  const { providers } = await world.restart(process);
  await world.clock.runUntil(() => isGone(world, ref)() && world.firewall().nodes.length === 0, 10 * MINUTE);
  await world.clock.runUntil(isIn(world, FIREWALL_ACTOR, 'Idle'), MINUTE);
  providers.set(PROVIDER, null);
  await world.clock.runUntil(() => !world.invariants.records.has(FIREWALL_ACTOR), MINUTE);
});

/** It goes, and takes the address with it that was made for it; to give that back succeeds the second time. */
const deleted = routed({ routedIPReclaimPolicy: 'Delete' }, {}, async ({ world, ref }) => {
  await world.stable(ref, 'young');
  world.provider.faults.next('deleteRoutedIP', { kind: 'refuse', error: 'Unavailable' });
  world.cluster.markDeleting(ref);
  await world.clock.runUntil(isGone(world, ref), 10 * MINUTE);
});

/** The Secret of its class comes, is refused, is replaced, and goes: nobody verifies what nobody can read. */
const account = routed(
  { fromSecretsRef: [{ name: 'do-token' }], routedIPFirewallName: '' },
  { routedIP: ADDRESS },
  async ({ world, ref, process }) => {
    const give = (change: Partial<Provider> = {}): void =>
      process.providers.set(ACCOUNT, { facts: world.facts, provider: { ...world.provider.process(), ...change } });
    give({ assignRoutedIP: () => Promise.reject(new ProviderError('Unauthorized', 'assign: 401')) });
    await world.untilReason(ref, 'Unauthorized');
    give();
    await world.stable(ref, 'young');
    process.providers.set(ACCOUNT, null);
    await world.clock.runUntil(() => !world.invariants.records.has(`verify/${ACCOUNT}`), MINUTE);
  },
);

/** Jobs make the address, open its port and assign it; one that is to move it fails, and the next one goes on through a change of leader. */
const byJobs: Recording = async (options, begin) => {
  const world = new JobsWorld(options);
  begin(world);
  world.jobClass();
  world.setNode(OLD, YOUNG);
  world.setWeb('shop', ['old', 'young']);
  const ref = world.setRoutedIP('shop');
  const process = await world.operator();
  await world.stable(ref, 'young', 2 * MINUTE);
  const assigns = (): number => world.jobs.actions.filter((action) => action === 'assign').length;
  const before = assigns();
  world.jobs.script('assign', { kind: 'exit', code: 1, says: { message: 'no route' } });
  world.jobs.script('assign', { kind: 'exit', code: 0, afterMs: 30_000 });
  world.cluster.setNode({ ...YOUNG, ready: false });
  await world.clock.runUntil(() => assigns() === before + 2, 2 * MINUTE);
  process.kill();
  await world.operator();
  await world.stable(ref, 'old', 5 * MINUTE);
};

/** Recordings of RoutedIPs, by the name of their file. */
/** Jobs find its address on a machine outside of the cluster, and look again. */
const heldElsewhere: Recording = async (options, begin) => {
  const world = new JobsWorld(options);
  begin(world);
  world.jobClass({ routedIPFirewallName: '' });
  world.setNode(OLD, YOUNG);
  world.jobs.platform.holders.set(ADDRESS, providerIDOf('stranger'));
  world.setWeb('shop', ['old', 'young']);
  const ref = world.setRoutedIP('shop', { routedIP: ADDRESS });
  await world.operator();
  await world.clock.runUntil(() => world.jobs.actions.filter((action) => action === 'find').length === 2, 10 * MINUTE);
  await world.untilReason(ref, 'HeldElsewhere', 'Degraded', MINUTE);
};

export const ROUTED_RECORDINGS: Readonly<Record<string, Recording>> = {
  'routed-created': created,
  'routed-named-while-creating': named,
  'routed-moved-and-pruned': moved,
  'routed-hanging-firewall': hanging,
  'routed-unassigned': unassigned,
  'routed-opened-after-the-assignment': openedAfter,
  'routed-closed-by-hand': closedByHand,
  'routed-leftover-of-a-forced-release': leftover,
  'routed-deleted-with-its-address': deleted,
  'routed-account': account,
  'routed-by-jobs': byJobs,
  'routed-held-elsewhere': heldElsewhere,
};
