import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { KillPoint } from '../../actors/ports/observers.ts';
import { CLASS, FIREWALL, type Routed, routedStage } from '../e2e/routed.ts';
import { shareOfScenarios } from '../support/extent.ts';
import { MORTAL_FLAGS } from '../support/operator.ts';

const PRELOAD = new URL('../support/kill-at.mjs', import.meta.url).href;

/** What each node listens on: ports are to be opened and closed with a move. */
const LISTENS: Readonly<Record<string, number>> = { a: 8081, b: 8082 };

const MOVE = ['AddPort', 'AddNode', 'AssignRoutedIP', 'DeletePort', 'DeleteNode'];

interface Death {
  readonly at: KillPoint;
  readonly about: string;
  /** How much of the move the provider has been told by then. */
  readonly done: number;
}

/** Where the operator ends by SIGKILL in a move. */
const DEATHS: Readonly<Record<string, Death>> = {
  'when the move is decided, and no job queued': { at: 'afterWrite', about: 'rip/', done: 0 },
  'when the port is about to be opened': { at: 'beforeSend', about: 'open ports on firewall', done: 0 },
  'when the port was opened and nobody knows': { at: 'beforeReplyRead', about: 'open ports on firewall', done: 1 },
  'when the node was added and nobody knows': { at: 'beforeReplyRead', about: 'add nodes to firewall', done: 2 },
  'when the assign is about to be sent': { at: 'beforeSend', about: 'assign ', done: 2 },
  'when the assign was sent and nobody knows': { at: 'beforeReplyRead', about: 'assign ', done: 3 },
  'when the former port is about to be closed': { at: 'beforeSend', about: 'close ports on firewall', done: 3 },
  'when the former port was closed and nobody knows': { at: 'beforeReplyRead', about: 'close ports on firewall', done: 4 },
  'when the former node was taken out and nobody knows': { at: 'beforeReplyRead', about: 'remove nodes from firewall', done: 5 },
};

/** How Redis loses everything. */
const LOSSES: Readonly<Record<string, RegExp>> = {
  'while the port is opened': /^AddPort$/,
  'while the address moves': /^AssignRoutedIP$/,
  'while the former port is closed': /^DeletePort$/,
};

/** RoutedIPs whose operator, or whose Redis, does not live to see the end of a move. */
describe('a move of a RoutedIP ends with one address, its ports open on its node alone, and the rules of others as they were,', () => {
  const { routed } = routedStage({ aof: true });

  /** A RoutedIP `shop` on a, and b beside it; somebody else has a rule and a droplet in the firewall. */
  async function shop(start: (world: Routed) => Promise<unknown>) {
    const world = routed();
    await world.addFirewall();
    await world.setClass(CLASS);
    await world.stage.nodes('a', 'foreign');
    const foreign = [...world.stage.cloud.state.droplets.values()].find(({ name }) => name === 'foreign')?.id ?? 0;
    await addByHand(world, foreign);
    await world.pod('a', { ports: [{ containerPort: 80, hostPort: LISTENS.a ?? 0 }] });
    await world.service('shop', ['a']);
    await start(world);
    await world.routedIP('shop');
    const address = await world.stable('shop', 'a');
    await world.stage.nodes('b');
    await world.pod('b', { ports: [{ containerPort: 80, hostPort: LISTENS.b ?? 0 }] });
    await world.endpoints('shop', ['a', 'b']);
    expect(world.firewall()).toEqual({ ports: ['tcp/22', `tcp/${LISTENS.a}`], nodes: ['a', 'foreign'] });
    return { world, address };
  }

  /** Waits for the end, and looks at all of it. */
  async function ended(world: Routed, address: string): Promise<void> {
    await world.stable('shop', 'b');
    const clean = { ports: ['tcp/22', `tcp/${LISTENS.b}`], nodes: ['b', 'foreign'] };
    await world.stage.until('the firewall has what it is to have', () => JSON.stringify(world.firewall()) === JSON.stringify(clean));
    await world.stage.until('the marks are right', async () => {
      const [here, there] = await Promise.all([world.taints('b'), world.taints('a')]);
      return here.includes('routedip.io/routed-ip:PreferNoSchedule') && !there.some((taint) => taint.startsWith('routedip.io/'));
    });
    expect([world.stage.heldBy(address), [...world.stage.cloud.state.reservedIPs.keys()]]).toEqual(['b', [address]]);
    expect(world.changes().filter((change) => change === 'CreateRoutedIP')).toHaveLength(1);
    expect(world.changes()).not.toContain('UnassignRoutedIP');
    await world.stage.until('it is said to be ready', async () => (await world.condition('shop', 'Ready'))?.status === 'True');
  }

  for (const [where, { at, about, done }] of shareOfScenarios(Object.entries(DEATHS), 3)) {
    test(`though its operator is killed ${where}`, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'routedip-kill-'));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      const armed = join(folder, 'armed');
      const env = { ROUTEDIP_KILL_AT: at, ROUTEDIP_KILL_ABOUT: about, ROUTEDIP_ARMED_BY: armed };
      const first = await routed().stage.start({ nodeFlags: [`--import=${PRELOAD}`], env, flags: MORTAL_FLAGS });
      const { world, address } = await shop(async () => first);
      const before = world.lastCall();
      writeFileSync(armed, '');
      await world.stage.notReady('a');
      await world.stage.until('the operator is dead', () => first.signal() === 'SIGKILL');
      expect(world.changes(before)).toEqual(MOVE.slice(0, done));
      await world.stage.start({ flags: MORTAL_FLAGS });
      await ended(world, address);
      expect(world.changes(before)).toEqual(MOVE);
    });
  }

  for (const [when, call] of Object.entries(LOSSES)) {
    test(`though Redis loses everything ${when}`, async () => {
      const { world, address } = await shop(({ stage }) => stage.start());
      const slow = world.stage.cloud.faults.add({ kind: 'slowAction', ms: 1500, match: { method: 'POST', path: '/actions$' } });
      world.stage.cloud.setFirewallMs(1000);
      const before = world.lastCall();
      await world.stage.notReady('a');
      await world.stage.until('the call was received', () => world.changes(before).some((change) => call.test(change)));
      await world.stage.redis.flushAll();
      slow.remove();
      world.stage.cloud.setFirewallMs(50);
      await ended(world, address);
      expect(world.stage.assigns(address)).toHaveLength(2);
    });
  }

  test('though Redis loses everything at rest, which changes nothing; it goes on as before', async () => {
    const { world, address } = await shop(({ stage }) => stage.start());
    const before = world.lastCall();
    const term = (await world.status('shop'))?.term ?? 0;
    await world.stage.redis.flushAll();
    await world.stage.until('it is rebuilt', async () => ((await world.status('shop'))?.term ?? 0) > term);
    await world.stable('shop', 'a');
    expect(world.changes(before)).toEqual([]);
    await world.stage.notReady('a');
    await ended(world, address);
    expect(world.changes(before)).toEqual(MOVE);
  });

  test('though Redis has lost everything while no operator ran, and the RoutedIP is deleted then', async () => {
    const first = await routed().stage.start();
    const { world, address } = await shop(async () => first);
    expect(await first.stop()).toBe(0);
    await world.stage.redis.flushAll();
    await world.deleteRoutedIP('shop');
    await world.stage.start();
    await world.stage.until('it is gone', async () => (await world.status('shop')) === null);
    expect(world.firewall()).toEqual({ ports: ['tcp/22'], nodes: ['foreign'] });
    expect(world.stage.heldBy(address)).toBe('a');
  });
});

/** A droplet in the firewall that is none of ours. */
async function addByHand({ stage }: Routed, droplet: number): Promise<void> {
  const [firewall] = [...stage.cloud.state.firewalls.values()].filter(({ name }) => name === FIREWALL);
  const { status } = await fetch(`${stage.cloud.url}/v2/firewalls/${firewall?.id}/droplets`, {
    method: 'POST',
    headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
    body: JSON.stringify({ droplet_ids: [droplet] }),
  });
  if (status !== 204) throw new Error(`the droplet was answered with ${status}`);
}
