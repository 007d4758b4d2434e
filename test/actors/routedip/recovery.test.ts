import { describe, expect } from 'vitest';
import { stateOf } from '../../../actors/controllers/record-view.ts';
import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { node, providerIDOf } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { MINUTE, type RoutedWorld, SECOND } from './world.ts';

const HOUR = 60 * MINUTE;
const OLD = node('old', { createdAt: 1 });
const YOUNG = node('young', { createdAt: 2 });
const BOTH = [providerIDOf('old'), providerIDOf('young')];

/** Changes of firewalls and actions take their time, so that every state lasts. */
const SLOW = { provider: { actionMs: 3 * SECOND, firewallMs: 2 * SECOND } };

/** What happens once, as soon as the address is in the state; also where that lasts no time. */
class Moment {
  #act: (() => void) | null = null;
  #world: RoutedWorld | null = null;
  #state = '';
  /** The process in which it happens ends with it. */
  #ends = false;

  plan(world: RoutedWorld, state: string, act: { readonly run: () => void; readonly ends: boolean }): void {
    [this.#world, this.#state, this.#act, this.#ends] = [world, state, act.run, act.ends];
  }

  /** Whether it has happened just now and ended the process. */
  look(): boolean {
    if (!this.#act || !this.#world || stateIn(this.#world) !== this.#state) return false;
    const act = this.#act;
    this.#act = null;
    act();
    return this.#ends;
  }

  get isOver(): boolean {
    return this.#act === null;
  }
}

async function served(world: RoutedWorld, moment = new Moment()): Promise<{ ref: ObjectRef; address: Address; assigned: number }> {
  world.setClass();
  world.setNode(OLD, YOUNG);
  world.setWeb('shop', ['old', 'young']);
  const ref = world.setRoutedIP('shop');
  await world.start(() => moment.look());
  await world.stable(ref, 'young');
  await world.clock.advance(5 * SECOND);
  return { ref, address: world.statusOf(ref).routedIP as Address, assigned: world.assigns().length };
}

/** The state of the only address, as the leader has it. */
function stateIn(world: RoutedWorld): string {
  const [record] = [...world.invariants.records].filter(([actor]) => actor.startsWith('rip/web/shop/ip/')).map(([, found]) => found);
  return stateOf(record?.snapshot.value);
}

const loseYoung = (world: RoutedWorld): void => world.cluster.setNode({ ...YOUNG, ready: false });

/** Leads the address into the state in which the moment comes. Answers where it has to end. */
async function until(world: RoutedWorld, state: string, moment: Moment): Promise<'old' | 'young'> {
  if (state === 'CoolOff') world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'InProgress' }, 6);
  if (state === 'Unassigned') world.cluster.setNode({ ...OLD, ready: false });
  if (state !== 'Stable') loseYoung(world);
  await world.clock.runUntil(() => {
    moment.look();
    return moment.isOver;
  }, MINUTE);
  world.cluster.setNode(OLD);
  return state === 'Stable' ? 'young' : 'old';
}

const STATES = ['Unassigned', 'Electing', 'FirewallOpening', 'Assigning', 'Pruning', 'Stable', 'CoolOff'] as const;

async function expectEnd(world: RoutedWorld, ref: ObjectRef, end: 'old' | 'young'): Promise<void> {
  await world.stable(ref, end, 5 * MINUTE);
  await world.clock.advance(MINUTE);
  expect(world.statusOf(ref)).toMatchObject({ state: 'Stable', assignedNode: end });
  expect(world.provider.cloud.addresses()).toHaveLength(1);
  expect(world.firewall()).toEqual({ ports: ['tcp/22', 'tcp/8080'], nodes: [providerIDOf(end)] });
  expect(Object.keys(world.cluster.holders())).toEqual([end]);
  expect(world.rules.wrongs()).toEqual([]);
}

describe('a leader change', () => {
  test.for(STATES)(
    'while an address is %s has the new leader go on; what the former one still hears changes nothing',
    async (state, { open }) => {
      const world = open(SLOW);
      const moment = new Moment();
      const { ref, address, assigned } = await served(world, moment);
      const [former] = world.processes;
      moment.plan(world, state, {
        ends: false,
        run: () => {
          // The former one lives, and its calls in flight are answered.
          former?.lease.cut();
          world.lease.delete();
          void world.start();
        },
      });
      const end = await until(world, state, moment);
      await world.clock.runUntil(() => world.processes.some((process) => process !== former && process.supervisor.leading), MINUTE);
      await expectEnd(world, ref, end);
      expect(former?.dead).toBe(false);
      expect(world.holderOf(address)).toBe(end);
      const sent = world.assigns().slice(assigned);
      if (state !== 'CoolOff') expect(sent.map(({ what }) => what)).toEqual(end === 'young' ? [] : [`${address} → old`]);
      expect(sent.filter(({ result }) => result === 'ok').length).toBeLessThanOrEqual(1);
    },
  );
});

describe('a job store that is wiped', () => {
  test.for(STATES)(
    'while an address is %s is rebuilt from the status and the provider, without a second address',
    async (state, { open }) => {
      const world = open(SLOW);
      const moment = new Moment();
      const { ref, address } = await served(world, moment);
      moment.plan(world, state, {
        ends: true,
        run: () => {
          for (const process of world.processes) process.kill();
          world.store.wipe();
          world.queues.wipe();
        },
      });
      const end = await until(world, state, moment);
      expect(world.store.checkpoint().data.cells.size).toBe(0);
      expect(world.processes).toEqual([]);
      await world.start();
      await expectEnd(world, ref, end);
      expect(world.statusOf(ref)).toMatchObject({ routedIP: address, addressOrigin: 'Created' });
    },
  );
});

describe('a wall clock that jumps back by an hour while a RoutedIP is in CoolOff', () => {
  /** The eighth try failed: the next comes after 60 s. */
  async function cooling(world: RoutedWorld): Promise<ObjectRef> {
    const { ref, assigned } = await served(world);
    world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'InProgress' }, 8);
    loseYoung(world);
    await world.clock.runUntil(() => world.assigns().length === assigned + 8, 5 * MINUTE);
    await world.clock.advance(SECOND);
    expect(world.statusOf(ref)).toMatchObject({ state: 'CoolOff', attempts: 8 });
    world.clock.jump(-HOUR);
    return ref;
  }
  const WAIT = 60 * SECOND;

  test('does not make the wait longer: it is measured by the time that passes', async ({ open }) => {
    const world = open();
    const ref = await cooling(world);
    const assigned = world.assigns().length;
    const waited = await world.clock.runUntil(() => world.assigns().length > assigned, WAIT);
    expect(waited).toBeGreaterThan(WAIT - 5 * SECOND);
    await world.stable(ref, 'old');
  });

  test('and whose leader changes then waits at most the whole time again', async ({ open }) => {
    const world = open();
    const ref = await cooling(world);
    const assigned = world.assigns().length;
    for (const process of world.processes) process.kill();
    world.lease.delete();
    const next = await world.start();
    await world.clock.runUntil(() => next.supervisor.leading, MINUTE);
    await world.clock.runUntil(() => world.assigns().length > assigned, WAIT + SECOND);
    await world.stable(ref, 'old');
  });
});

describe('a provider that shows the old holder for a while after an assign', () => {
  const reads = (world: RoutedWorld): number =>
    world.provider.calls.filter(({ verb }) => verb === 'findRoutedIP' || verb === 'listRoutedIPs').length;

  test('is asked again until it shows the new one: one assign, and nothing is closed before', async ({ open }) => {
    const world = open();
    const { ref, address, assigned } = await served(world);
    world.provider.staleReads(10 * SECOND);
    loseYoung(world);
    await world.untilOn(address, 'old');
    const before = reads(world);
    await world.clock.advance(5 * SECOND);
    expect(world.statusOf(ref), 'what is true is not seen yet').toMatchObject({ state: 'Assigning', assignedNode: 'young' });
    expect(world.firewall().nodes).toEqual(BOTH);
    expect(reads(world) - before).toBeGreaterThan(2);
    await world.stable(ref, 'old');
    expect(world.assigns()).toHaveLength(assigned + 1);
    expect(world.firewall().nodes).toEqual([providerIDOf('old')]);
  });

  test('is asked until the deadline, then the assign counts as unconfirmed; it is read before another one is sent', async ({ open }) => {
    const world = open();
    const { ref, address, assigned } = await served(world);
    // Nothing but the address itself can tell.
    world.provider.cloud.forgetActions();
    world.provider.staleReads(125 * SECOND);
    loseYoung(world);
    await world.untilOn(address, 'old');
    const waited = await world.clock.runUntil(() => world.statusOf(ref).state !== 'Assigning', 3 * MINUTE);
    expect(waited).toBeGreaterThan(115 * SECOND);
    expect(world.statusOf(ref)).toMatchObject({ state: 'CoolOff', assignedNode: 'young', electedNode: 'old', inDoubt: true });
    expect(world.messageOf(ref)).toContain('not confirmed within 120 s');
    expect(world.firewall().nodes).toEqual(BOTH);
    await world.stable(ref, 'old', 5 * MINUTE);
    expect(world.assigns(), 'a read showed that it was there').toHaveLength(assigned + 1);
  });

  test.for([
    { what: 'says that the action is completed', knows: true },
    { what: 'knows nothing of actions', knows: false },
  ])('for longer than that, and $what, is read before another assign is sent', async ({ knows }, { open }) => {
    const world = open();
    const { ref, assigned } = await served(world);
    if (!knows) world.provider.cloud.forgetActions();
    world.provider.staleReads(10 * MINUTE);
    loseYoung(world);
    const { calls } = world.provider;
    let askedWhileAssigning = 0;
    let left = false;
    await world.clock.runUntil(() => {
      if (world.assigns().length > assigned + 1) return true;
      left ||= world.assigns().length > assigned && stateIn(world) !== 'Assigning';
      if (!left) askedWhileAssigning = calls.length;
      return false;
    }, 15 * MINUTE);
    expect(left, 'the first one was given up').toBe(true);
    const between = calls.slice(askedWhileAssigning).map(({ verb }) => verb);
    expect(between.slice(0, between.lastIndexOf('assignRoutedIP'))).toContain('findRoutedIP');
    await world.stable(ref, 'old', 15 * MINUTE);
    expect(world.firewall().nodes).toEqual([providerIDOf('old')]);
  });
});
