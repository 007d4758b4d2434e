import { describe, expect, test } from 'vitest';
import type { ClientRef } from '../../simulator/kubernetes/client.ts';
import { type Condition, GROUP, type Routed, routedStage } from '../e2e/routed.ts';
import { NAMESPACE } from '../e2e/routed-objects.ts';
import { kubectl } from '../support/kubectl.ts';

const POOL = { apiVersion: 'flipop.digitalocean.com/v1alpha1', kind: 'FloatingIPPool', namespace: 'default', name: 'ingress' };
const SHOP = { apiVersion: GROUP, kind: 'RoutedIP', namespace: NAMESPACE, name: 'shop' };
const nodeNamed = (name: string): ClientRef => ({ apiVersion: 'v1', kind: 'Node', name });
const BOTH = [POOL, SHOP];
const PAUSED = 'routedip.io/paused';
const MOVE_TO = 'routedip.io/move-to';
const UNASSIGNED = 'routedip.io/unassigned';
const EVACUATE = 'routedip.io/evacuate';

/** What people ask for by annotations of a pool, of a RoutedIP and of a node. */
describe('an annotation', () => {
  const { routed } = routedStage();

  const annotate = async (world: Routed, refs: readonly ClientRef[], key: string, value: string | null): Promise<void> => {
    for (const ref of refs) await world.stage.target.client.patch(ref, { metadata: { annotations: { [key]: value } } });
  };

  const conditionsOf = async (world: Routed, ref: ClientRef): Promise<readonly Condition[]> => {
    const { status } = (await world.stage.target.client.get(ref)) as unknown as { status?: { conditions?: readonly Condition[] } };
    return status?.conditions ?? [];
  };

  /** Resolves once the condition of each of them has the status; undefined for one that is not there. */
  const say = async (world: Routed, refs: readonly ClientRef[], type: string, status: string | undefined): Promise<void> => {
    const isSaid = async (ref: ClientRef) => (await conditionsOf(world, ref)).find((each) => each.type === type)?.status === status;
    for (const ref of refs) await world.stage.until(`${ref.name} says ${type} ${status}`, () => isSaid(ref));
  };

  /** The pool has an address on one node, `shop` one on another; a third node is free. */
  async function served(world: Routed) {
    await world.addFirewall();
    await world.setClass('floating', { perNodeIPLimit: 1 });
    await world.stage.nodes('a', 'b', 'c', 'd');
    await world.service('shop', ['a', 'b', 'c', 'd']);
    await world.stage.start();
    await world.stage.pool('ingress', { desiredIPs: 1 });
    await world.stage.until('the pool has its address', async () => (await world.stage.getPool('ingress')).status?.activeIPs === 1);
    const [pooled = ''] = Object.keys((await world.stage.getPool('ingress')).status?.ips ?? {});
    await world.routedIP('shop');
    const own = await world.stable('shop');
    return { pooled, own, on: (address: string) => world.stage.heldBy(address) ?? '' };
  }

  test('pauses a pool and a RoutedIP: nothing leaves a node that fails before they are resumed', async () => {
    const world = routed();
    const { pooled, own, on } = await served(world);
    const failed = [on(pooled), on(own)];
    await annotate(world, BOTH, PAUSED, 'true');
    await say(world, BOTH, 'Paused', 'True');
    const calls = world.lastCall();
    for (const name of failed) await world.stage.notReady(name);
    // Both have seen it, and say what waits for the end of the pause.
    await say(world, BOTH, 'Ready', 'False');
    expect([world.changes(calls), [on(pooled), on(own)]]).toEqual([[], failed]);
    await annotate(world, BOTH, PAUSED, null);
    await world.stage.until('both are elsewhere', () => [pooled, own].every((address) => !['', ...failed].includes(on(address))));
    await say(world, BOTH, 'Paused', undefined);
    await say(world, BOTH, 'Ready', 'True');
  });

  test('keeps an address on no node, says who asked, and gives it a node again once it is taken off', async () => {
    const world = routed();
    const { pooled, own, on } = await served(world);
    await annotate(world, [POOL], UNASSIGNED, `${pooled}=alice`);
    await annotate(world, [SHOP], UNASSIGNED, 'true=alice');
    await say(world, BOTH, 'Unassigned', 'True');
    await world.stage.until(
      'both are on none, and nothing is open',
      () => [pooled, own].every((address) => on(address) === '') && world.firewall().nodes.length === 0,
    );
    for (const [ref, address] of [
      [POOL, pooled],
      [SHOP, own],
    ] as const) {
      const said = (await conditionsOf(world, ref)).find(({ type }) => type === 'Unassigned');
      expect(said?.message).toContain(`${address} (alice) is on no node`);
      expect((await conditionsOf(world, ref)).find(({ type }) => type === 'Ready')).toMatchObject({
        status: 'False',
        reason: 'Unassigned',
      });
    }
    await annotate(world, BOTH, UNASSIGNED, null);
    await say(world, BOTH, 'Ready', 'True');
    await say(world, BOTH, 'Unassigned', undefined);
    expect([pooled, own].map(on)).not.toContain('');
  });

  test('moves an address to a node, and is taken off once that is done or refused', async () => {
    const world = routed();
    const { pooled, own, on } = await served(world);
    const taken = [on(pooled), on(own)];
    const [first = '', second = ''] = ['a', 'b', 'c', 'd'].filter((name) => !taken.includes(name));
    const asked = async (ref: ClientRef) =>
      ((await world.stage.target.client.get(ref)).metadata.annotations as Record<string, string> | undefined)?.[MOVE_TO];
    const isAnswered = (ref: ClientRef) => world.stage.until(`${ref.name} is answered`, async () => (await asked(ref)) === undefined);
    await annotate(world, [POOL], MOVE_TO, `${pooled}=${first}`);
    await annotate(world, [SHOP], MOVE_TO, second);
    await isAnswered(POOL);
    await isAnswered(SHOP);
    expect([on(pooled), on(own)]).toEqual([first, second]);
    await say(world, BOTH, 'Ready', 'True');
    // Nothing is left to be closed behind it.
    await world.stable('shop', second);
    const calls = world.lastCall();
    await annotate(world, [POOL], MOVE_TO, `${pooled}=${second}`);
    await annotate(world, [SHOP], MOVE_TO, 'nowhere');
    await isAnswered(POOL);
    await isAnswered(SHOP);
    for (const { name } of BOTH)
      await world.stage.until(`${name} has both Events`, async () => {
        const events = await world.events(name);
        return ['Moved', 'MoveRefused'].every((reason) => events.includes(reason));
      });
    expect([world.changes(calls), on(pooled), on(own)]).toEqual([[], first, second]);
  });

  test('evacuates a node: its addresses leave it, kubectl can wait for that, and the condition goes with the annotation', async () => {
    const world = routed();
    const { pooled, own, on } = await served(world);
    const nodes = [...new Set([on(pooled), on(own)])];
    await annotate(world, nodes.map(nodeNamed), EVACUATE, 'true');
    const { code, stderr } = await kubectl(
      ['wait', '--for=condition=routedip.io/Evacuated', '--timeout=60s', ...nodes.map((name) => `node/${name}`)],
      { kubeconfig: world.stage.target.adminKubeconfig, timeoutMs: 90_000 },
    );
    expect([code, stderr]).toEqual([0, '']);
    expect([nodes.includes(on(pooled)), nodes.includes(on(own)), on(pooled), on(own)]).toEqual([
      false,
      false,
      expect.stringMatching(/^[abcd]$/),
      expect.stringMatching(/^[abcd]$/),
    ]);
    await annotate(world, nodes.map(nodeNamed), EVACUATE, null);
    await say(world, nodes.map(nodeNamed), 'routedip.io/Evacuated', undefined);
    // Whatever else is said of the nodes stands.
    for (const name of nodes) expect((await conditionsOf(world, nodeNamed(name))).map(({ type }) => type)).toContain('Ready');
  });
});
