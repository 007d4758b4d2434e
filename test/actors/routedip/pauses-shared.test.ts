import { describe, expect } from 'vitest';
import type { ActorId, ObjectRef } from '../../../machines/model/types.ts';
import { node, type OperatorProcess, PROVIDER } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { MINUTE, type RoutedWorld, SECOND } from './world.ts';

/** Whoever goes through many objects lets others have a turn in between, for so long: time for anything to happen. */
const PAUSE_MS = 10;
const COUNT = 6;
/** After what the objects share has changed, ms: before any of them was told, while they are, and when all were. */
const MOMENTS = Array.from({ length: 10 }, (_, each) => each * PAUSE_MS);
/** What the class's Secret is known under. */
const KEY = `${PROVIDER}@default.do-token`;
/** What a class says that has an account of its own. */
const NAMING = { fromSecretsRef: [{ name: 'do-token' }] };
const nodes = Array.from({ length: COUNT + 2 }, (_, index) => node(`n${index}`, { createdAt: index }));
const setWeb = (world: RoutedWorld, name: string, names = nodes.map((each) => each.name)): void => world.setWeb(name, names);

interface Served {
  readonly world: RoutedWorld;
  readonly process: OperatorProcess;
  readonly refs: readonly ObjectRef[];
  readonly last: ObjectRef;
}

/** Many RoutedIPs of one class that are served, each on a node of its own. */
async function served(world: RoutedWorld, change: Parameters<RoutedWorld['setClass']>[0] = {}): Promise<Served> {
  for (const name of ['second', 'third']) world.provider.cloud.addFirewall(name, []);
  world.setClass(change);
  world.setNode(...nodes);
  const process = await world.leader();
  process.providers.set(KEY, known(world));
  const refs = Array.from({ length: COUNT }, (_, index) => {
    setWeb(world, `shop-${index}`);
    return world.setRoutedIP(`shop-${index}`);
  });
  await world.clock.runUntil(() => refs.every((ref) => world.statusOf(ref).state === 'Stable'), 2 * MINUTE);
  await world.clock.advance(5 * SECOND);
  return { world, process, refs, last: refs[COUNT - 1] as ObjectRef };
}

/** The same account with other credentials. */
const known = (world: RoutedWorld) => ({ facts: world.facts, provider: { ...world.provider.process() } });

/** Runs until the firewall is open for exactly as many nodes, and the former ones for none. */
const untilOpen = (world: RoutedWorld, name: string, count: number, ...former: readonly string[]): Promise<number> =>
  world.clock.runUntil(
    () => world.firewall(name).nodes.length === count && former.every((each) => world.firewall(each).nodes.length === 0),
    MINUTE,
  );

/** What the actor hears from now on. */
function heardBy({ invariants }: RoutedWorld, id: ActorId): readonly string[] {
  const heard: string[] = [];
  const { turnSaved } = invariants;
  invariants.turnSaved = (turn) => {
    turnSaved.call(invariants, turn);
    for (const { actor, events } of turn.transitions) if (actor === id) heard.push(...events);
  };
  return heard;
}

describe('a class of many RoutedIPs', () => {
  test.for(MOMENTS)('serves all of them as it says last, when it changes again %i ms later', async (ms, { open }) => {
    const { world, refs } = await served(open({ pauseMs: PAUSE_MS }));
    world.setClass({ routedIPFirewallName: 'second' });
    await world.clock.advance(ms);
    world.setClass({ routedIPFirewallName: 'third' });
    await untilOpen(world, 'third', COUNT, 'edge', 'second');
    await world.clock.runUntil(() => refs.every((ref) => world.statusOf(ref).state === 'Stable'), MINUTE);
  });

  test.for(MOMENTS)('serves all but the one that is deleted %i ms later', async (ms, { open }) => {
    const { world, last } = await served(open({ pauseMs: PAUSE_MS }));
    world.setClass({ routedIPFirewallName: 'second' });
    await world.clock.advance(ms);
    world.cluster.markDeleting(last);
    await world.clock.runUntil(() => world.cluster.pool(last) === null, MINUTE);
    await untilOpen(world, 'second', COUNT - 1, 'edge');
  });

  test.for(MOMENTS)('serves the one whose node is lost %i ms later', async (ms, { open }) => {
    const { world, last } = await served(open({ pauseMs: PAUSE_MS }));
    const held = String(world.statusOf(last).assignedNode);
    const heard = heardBy(world, `rip/web/${last.name}`);
    world.setClass({ routedIPFirewallName: 'second' });
    await world.clock.advance(ms);
    setWeb(world, last.name, ['n0', 'n1', 'n6', 'n7']);
    for (const each of nodes.filter(({ name }) => name === held)) world.setNode({ ...each, ready: false });
    await world.clock.runUntil(() => world.statusOf(last).assignedNode !== held && world.statusOf(last).state === 'Stable', MINUTE);
    expect(heard.find((type) => type === 'SPEC_OBSERVED' || type === 'CLUSTER_OBSERVED')).toBe('SPEC_OBSERVED');
    await untilOpen(world, 'second', COUNT, 'edge');
  });

  test.for(MOMENTS)('serves all of them by the one that leads %i ms later', async (ms, { open }) => {
    const { world, process } = await served(open({ pauseMs: PAUSE_MS }));
    world.setClass({ routedIPFirewallName: 'second' });
    await world.clock.advance(ms);
    process.kill();
    await world.leader();
    await untilOpen(world, 'second', COUNT, 'edge');
  });

  test.for(MOMENTS)('serves all of them with the account that it comes to name, whose Secret changes %i ms later', async (ms, { open }) => {
    const { world, process, refs, last } = await served(open({ pauseMs: PAUSE_MS }), { routedIPFirewallName: '' });
    const address = String(world.statusOf(last).routedIP);
    world.setClass({ routedIPFirewallName: '', ...NAMING });
    await world.clock.advance(ms);
    process.providers.set(KEY, known(world));
    await world.clock.advance(10 * SECOND);
    expect(refs.map((ref) => world.statusOf(ref).state)).toEqual(refs.map(() => 'Stable'));
    const held = String(world.statusOf(last).assignedNode);
    world.provider.cloud.moveByHand(address as Parameters<typeof world.provider.cloud.moveByHand>[0], null);
    await world.untilOn(address as Parameters<typeof world.untilOn>[0], held, 10 * MINUTE);
  });
});

describe('an account of many RoutedIPs', () => {
  /** All of them wait for credentials that are not refused. */
  const refused = async (world: RoutedWorld) => {
    const all = await served(world, NAMING);
    all.process.providers.set(KEY, { facts: { ...world.facts, missing: 'no Secret' }, provider: null });
    await world.clock.runUntil(() => all.refs.every((ref) => world.reasonOf(ref) === 'SecretNotFound'), MINUTE);
    return all;
  };

  test.for(MOMENTS)('has all of them served with the Secret that is there, when it changes again %i ms later', async (ms, { open }) => {
    const { world, process, refs } = await refused(open({ pauseMs: PAUSE_MS }));
    process.providers.set(KEY, known(world));
    await world.clock.advance(ms);
    process.providers.set(KEY, known(world));
    await world.clock.runUntil(() => refs.every((ref) => world.reasonOf(ref) === 'Assigned'), MINUTE);
  });

  test.for(MOMENTS)('has all of them served as their class says that changes %i ms later', async (ms, { open }) => {
    const { world, process, refs } = await refused(open({ pauseMs: PAUSE_MS }));
    process.providers.set(KEY, known(world));
    await world.clock.advance(ms);
    world.setClass({ ...NAMING, routedIPFirewallName: 'second' });
    await world.clock.runUntil(() => refs.every((ref) => world.reasonOf(ref) === 'Assigned'), MINUTE);
    await untilOpen(world, 'second', COUNT, 'edge');
  });
});
