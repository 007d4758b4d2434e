import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Fleet, fleetOn, type Replica, type Stroke } from '../e2e/fleet.ts';
import { CLASS, type Routed, routedStageOnce } from '../e2e/routed.ts';
import { HTTP } from '../e2e/routed-objects.ts';
import { MORTAL_FLAGS } from '../support/operator.ts';
import { isRunning } from '../support/processes.ts';

/** What each node listens on: a move opens one port and closes another. */
const LISTENS: Readonly<Record<string, number>> = { a: 8081, b: 8082 };

/** What is open on one node, and nothing else of ours. */
const openOn = (node: string) => ({ ports: ['tcp/22', `tcp/${LISTENS[node]}`], nodes: [node] });

/** A real API server gives each nodePort once. */
const HTTP_OF_CART = 30_081;

const MOVE = ['AddPort', 'AddNode', 'AssignRoutedIP', 'DeletePort', 'DeleteNode'];

interface Death {
  readonly stroke: Pick<Stroke, 'at' | 'about'>;
  /** What the provider has been told by then. */
  readonly done: readonly string[];
  /** The other replica may not take the job. */
  readonly alone: boolean;
}

/** Where the leader ends by SIGKILL in a move. */
const DEATHS: Readonly<Record<string, Death>> = {
  'when the move is decided and nothing queued yet': { stroke: { at: 'afterWrite', about: 'rip/' }, done: [], alone: false },
  'when it has opened the port and not read the answer': {
    stroke: { at: 'beforeReplyRead', about: 'open ports on firewall' },
    done: MOVE.slice(0, 1),
    alone: true,
  },
  'when it has sent the assign and not read the answer': {
    stroke: { at: 'beforeReplyRead', about: 'assign ' },
    done: MOVE.slice(0, 3),
    alone: true,
  },
};

/** Two processes of one operator, of which one ends while an address with open ports is on its way. Each test goes on where the one before has left the address. */
describe('a RoutedIP that is kept by two replicas', () => {
  const routed = routedStageOnce();
  const held: { fleet?: Fleet & { close(): Promise<void> }; address?: string } = {};
  const fleet = (): Fleet => {
    if (!held.fleet) throw new Error('there is no fleet outside of a test');
    return held.fleet;
  };

  beforeAll(async () => {
    const world = routed();
    held.fleet = fleetOn(world.stage);
    await world.addFirewall();
    await world.setClass(CLASS);
    await world.stage.nodes('a', 'b');
    for (const [node, hostPort] of Object.entries(LISTENS)) await world.pod(node, { ports: [{ containerPort: 80, hostPort }] });
    await world.service('shop', ['a', 'b']);
    await manned(world);
    await world.routedIP('shop');
    held.address = await world.stable('shop');
  });
  afterAll(() => held.fleet?.close());

  /** Resolves once two replicas are there, and ready. */
  async function manned(world: Routed): Promise<{ readonly leader: Replica; readonly follower: Replica }> {
    const { replicas } = fleet();
    const running = () => replicas.filter(({ operator }) => isRunning(operator.pid));
    for (const { redis } of running()) redis.mend();
    while (running().length < 2) await fleet().start({ armable: true, flags: MORTAL_FLAGS });
    for (const replica of running()) await world.stage.until('each is ready', () => replica.isReady());
    const leader = await fleet().leader();
    const [follower] = await fleet().followers();
    if (!follower) throw new Error('there is no follower');
    return { leader, follower };
  }

  /** Two replicas, and the address at rest on a node: what every test begins with. */
  async function atRest() {
    const world = routed();
    const replicas = await manned(world);
    const address = await world.stable('shop');
    const holder = world.stage.heldBy(address) ?? '';
    const other = holder === 'a' ? 'b' : 'a';
    await world.stage.ready(other);
    expect([address, world.firewall()]).toEqual([held.address, openOn(holder)]);
    return { world, address, holder, other, ...replicas };
  }

  /** Nothing is left of the move but that it was made; there is one address. */
  async function moved(world: Routed, { address, to, from }: { readonly address: string; readonly to: string; readonly from: string }) {
    await world.stable('shop', to);
    await world.stage.until('the ports are open there alone', () => JSON.stringify(world.firewall()) === JSON.stringify(openOn(to)));
    await world.stage.until('the mark is on its node alone', async () => {
      const [here, there] = await Promise.all([world.taints(to), world.taints(from)]);
      return here.includes('routedip.io/routed-ip:PreferNoSchedule') && !there.some((taint) => taint.startsWith('routedip.io/'));
    });
    await world.stage.until('it is said to be ready', async () => (await world.condition('shop', 'Ready'))?.status === 'True');
    expect([world.stage.heldBy(address), [...world.stage.cloud.state.reservedIPs.keys()]]).toEqual([to, [address]]);
  }

  for (const [where, { stroke, done, alone }] of Object.entries(DEATHS)) {
    test(`moves once and in order, with its ports open all along, though the leader is killed ${where}`, async () => {
      const { world, address, holder, other, leader, follower } = await atRest();
      const [before, term] = [world.lastCall(), await leader.figure('routedip_term')];
      if (alone) follower.redis.cut();
      if (alone) await world.stage.until('the follower sees no queue', async () => !(await follower.isReady()));
      leader.arm(stroke);
      await world.stage.notReady(holder);
      await world.stage.until('the leader is dead', () => leader.operator.signal() === 'SIGKILL');
      expect(world.changes(before)).toEqual(done);
      follower.redis.mend();
      expect(await fleet().leader()).toBe(follower);
      await moved(world, { address, to: other, from: holder });
      expect(world.changes(before)).toEqual(MOVE);
      await world.stage.until('its term is a later one', async () => (await follower.figure('routedip_term')) > term);
      expect(follower.operator.log.filter(({ level }) => level === 'error')).toEqual([]);
    });
  }

  test('stays where it is, and nothing is written at the provider, while the leader stops and hands over', async () => {
    const { world, address, holder, other, leader, follower } = await atRest();
    const [before, term] = [world.lastCall(), await leader.figure('routedip_term')];
    expect(await leader.operator.stop()).toBe(0);
    expect(await fleet().leader()).toBe(follower);
    await world.stage.until('its term is shown', async () => ((await world.status('shop'))?.term ?? 0) > term);
    expect(world.changes(before)).toEqual([]);
    expect([world.stage.heldBy(address), world.firewall()]).toEqual([holder, openOn(holder)]);
    await world.stage.notReady(holder);
    await moved(world, { address, to: other, from: holder });
    expect(world.changes(before)).toEqual(MOVE);
  });

  test('has one address, though the leader is killed when one was created for it and nobody has read which', async () => {
    const { world, leader, follower } = await atRest();
    await world.stage.nodes('c');
    await world.service('cart', ['c'], [{ ...HTTP, nodePort: HTTP_OF_CART }]);
    const before = world.lastCall();
    follower.redis.cut();
    await world.stage.until('the follower sees no queue', async () => !(await follower.isReady()));
    leader.arm({ at: 'beforeReplyRead', about: 'create an address' });
    await world.routedIP('cart');
    await world.stage.until('the leader is dead', () => leader.operator.signal() === 'SIGKILL');
    expect(world.changes(before)).toEqual(['CreateRoutedIP']);
    follower.redis.mend();
    const address = await world.stable('cart', 'c');
    expect([...world.stage.cloud.state.reservedIPs.keys()].sort()).toEqual([held.address, address].sort());
    expect(world.changes(before).filter((change) => ['CreateRoutedIP', 'AssignRoutedIP'].includes(change))).toEqual([
      'CreateRoutedIP',
      'AssignRoutedIP',
    ]);
  });
});
