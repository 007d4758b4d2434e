import { describe, expect } from 'vitest';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { node, PROVIDER } from '../../support/world.ts';
import { test } from '../routedip/routedip-test.ts';
import { MINUTE, type RoutedWorld, SECOND, servicePort } from '../routedip/world.ts';

/** Whoever goes through many objects lets others have a turn in between, for so long: time for anything to happen. */
const PAUSE_MS = 10;
/** After another one has begun to lead, ms: before it has read the provider, while it tells one object after the other, and when all are told. */
const MOMENTS = Array.from({ length: 16 }, (_, each) => each * PAUSE_MS);
const COUNT = 4;
const FIREWALLS = 12;
const LAST = COUNT - 1;
const nodes = Array.from({ length: FIREWALLS + 2 }, (_, index) => node(`n${index}`, { createdAt: index }));

/** Makes objects of one account that one leader serves, and has another one lead from a while ago. Answers the last one of them. */
async function takenOver(world: RoutedWorld, afterMs: number, make: (index: number) => ObjectRef, isServed: (ref: ObjectRef) => boolean) {
  world.setNode(...nodes);
  const first = await world.leader();
  const refs = Array.from({ length: COUNT }, (_, index) => make(index));
  await world.clock.runUntil(() => refs.every(isServed), MINUTE);
  await world.clock.advance(5 * SECOND);
  await world.restart(first);
  await world.clock.advance(afterMs);
  return refs[LAST] as ObjectRef;
}

const routed = (world: RoutedWorld, afterMs: number): Promise<ObjectRef> => {
  world.setClass();
  const setWeb = (name: string) =>
    world.setWeb(
      name,
      nodes.map((each) => each.name),
    );
  const make = (index: number) => [setWeb(`shop-${index}`), world.setRoutedIP(`shop-${index}`)][1] as ObjectRef;
  return takenOver(world, afterMs, make, (ref) => world.statusOf(ref).state === 'Stable');
};

const pools = (world: RoutedWorld, afterMs: number): Promise<ObjectRef> => {
  const make = (index: number) => world.pool(`pool-${index}`, { ips: [world.address(`203.0.113.${index}`)], match: {} });
  return takenOver(world, afterMs, make, (ref) => world.status(ref).activeIPs === 1);
};

describe('a process that leads after it has watched another one', () => {
  test('goes by what the statuses say by now when all records are lost', async ({ open }) => {
    const world = open({ pauseMs: 3 * SECOND });
    world.setClass();
    world.setNode(...nodes);
    world.setWeb('shop', ['n0']);
    const first = await world.leader();
    const ref = world.setRoutedIP('shop');
    const second = await world.start();
    await world.stable(ref, 'n0', 10 * MINUTE);
    const { routedIP } = world.statusOf(ref);
    first.kill();
    world.store.wipe();
    world.queues.wipe();
    world.invariants.forget();
    await world.clock.runUntil(() => second.supervisor.leading, 2 * MINUTE);
    await world.clock.advance(5 * MINUTE);
    expect(world.statusOf(ref)).toMatchObject({ routedIP, state: 'Stable' });
    expect(world.changes().filter((verb) => verb === 'createRoutedIP')).toHaveLength(1);
  });
});

describe('a firewall of many that a new leader takes over', () => {
  test('goes on before anything is asked of it', async ({ open }) => {
    const world = open({ pauseMs: 5 * PAUSE_MS });
    world.setNode(...nodes);
    const names = nodes.map((each) => each.name);
    world.openNamespace();
    const first = await world.leader();
    const refs = names.slice(0, FIREWALLS).map((name, index) => {
      world.provider.cloud.addFirewall(name, []);
      world.setClass({ routedIPFirewallName: name }, name);
      const spec = { issuerClass: PROVIDER, region: 'nyc3', routedIPFirewallName: name };
      world.cluster.setPolicy({ kind: 'RoutedIPIssuer', namespace: 'web', name, spec });
      world.setWeb(name, names);
      return world.cluster.setPool({
        kind: 'RoutedIP',
        namespace: 'web',
        name,
        spec: { issuerRef: { name }, serviceRef: { serviceName: name }, routedIP: world.address(`203.0.113.${index}`) },
      });
    });
    await world.clock.runUntil(() => refs.every((ref) => world.statusOf(ref).state === 'Stable'), MINUTE);
    await world.clock.advance(5 * SECOND);
    world.provider.faults.always('addRoutedIPFirewallPort', { kind: 'refuse', error: 'Unavailable' });
    for (const { name } of refs) world.setWeb(name, names, { ports: [servicePort(8080), servicePort(8443)] });
    await world.clock.advance(2 * SECOND);
    const heard = new Map<string, string>();
    const { invariants } = world;
    const { turnSaved } = invariants;
    invariants.turnSaved = (turn) => {
      turnSaved.call(invariants, turn);
      const [transition] = turn.transitions;
      if (turn.cell.startsWith('firewall/') && transition && !heard.has(turn.cell)) heard.set(turn.cell, transition.events.join());
    };
    first.kill();
    const next = await world.start();
    await world.clock.runUntil(() => next.supervisor.leading, MINUTE);
    for (const { name } of refs) world.setWeb(name, names, { ports: [servicePort(8080), servicePort(9443)] });
    // They are observed once more, so that they are told all they have to know while firewalls are still gone through.
    for (const ref of refs) world.cluster.annotate(ref, { 'routedip.io/delete-adopted': 'true' });
    world.provider.faults.clear();
    await world.clock.advance(20 * SECOND);
    expect(heard.size).toBe(FIREWALLS);
    expect([...heard.values()]).toEqual(Array.from({ length: FIREWALLS }, () => 'RESUME'));
  });
});

describe('an object of many that a new leader tells what it has to know', () => {
  test.for(MOMENTS)('is served by its last spec, which changes %i ms after that one leads', async (ms, { open }) => {
    const world = open({ pauseMs: PAUSE_MS });
    const ref = await routed(world, ms);
    world.setWeb('blog', ['n0']);
    world.setRoutedIP(ref.name, { serviceRef: { serviceName: 'blog' } });
    await world.stable(ref, 'n0', 8 * SECOND);
  });

  test.for(MOMENTS)('is let go when it is deleted %i ms after that one leads', async (ms, { open }) => {
    const world = open({ pauseMs: PAUSE_MS });
    const ref = await routed(world, ms);
    world.cluster.markDeleting(ref);
    await world.clock.runUntil(() => world.cluster.pool(ref) === null, 10 * SECOND);
  });

  test.for(MOMENTS)('is served when it is made again %i ms after that one leads', async (ms, { open }) => {
    const world = open({ pauseMs: PAUSE_MS });
    const ref = await pools(world, ms);
    world.cluster.removePool(ref);
    const again = world.pool(ref.name, { ips: [world.address('203.0.113.99')], match: {} });
    await world.untilStates(again, { '203.0.113.99': 'active' }, 10 * SECOND);
  });

  test.for(MOMENTS)('is served by the one after that, which leads %i ms later', async (ms, { open }) => {
    const world = open({ pauseMs: PAUSE_MS });
    const ref = await routed(world, ms);
    for (const process of world.processes) process.kill();
    world.setWeb('blog', ['n0']);
    world.setRoutedIP(ref.name, { serviceRef: { serviceName: 'blog' } });
    await world.leader();
    await world.stable(ref, 'n0', MINUTE);
  });
});
