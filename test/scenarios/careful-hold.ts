import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import {
  assignedAt,
  type CarefulPool,
  CLOCKS_MS,
  carefulPool,
  conditionOf,
  holders,
  killed,
  loseMachine,
  machinesAskedFor,
  statusOf,
  untilEvent,
  untilReason,
  verified,
} from '../e2e/careful-steps.ts';
import type { Names } from '../e2e/named.ts';
import { MORTAL_FLAGS } from '../support/operator.ts';

// ---------------------------------------------------------------- spec.safeHold

const holdOf = (windowSeconds: number): JsonObject => ({ safeHold: { maxUnavailable: 1, windowSeconds } });

/** Longer than any test. */
const LONG_SECONDS = 3600;

/** Two addresses on a and b; c and d are free. The free node e fails first, which is allowed, then a and b: nothing has moved before the pool holds. */
async function holding(names: Names, flags: readonly string[] = []): Promise<CarefulPool> {
  const pool = await carefulPool(names, holdOf(LONG_SECONDS), { nodes: ['a', 'b', 'c', 'd', 'e'], addresses: 2, flags });
  for (const node of ['e', 'a', 'b']) await pool.stage.notReady(node);
  await pool.stage.until('three nodes are held', async () => (await heldNodes(pool)) === 'a,b,e');
  return pool;
}

const held = async ({ stage }: CarefulPool) => (await stage.getPool('ingress')).status?.safeHold?.nodes ?? [];

const heldNodes = async (pool: CarefulPool): Promise<string> => (await held(pool)).map(({ name }) => name).join();

const assignsOf = ({ stage, ips }: CarefulPool): readonly number[] => ips.map((ip) => stage.assigns(ip).length);

export const holdScenarios = (current: () => Names) =>
  describe('with a safe hold', () => {
    test('moves nothing when more nodes fail than allowed while their machines are there, says so, and ends that when they are back', async () => {
      const pool = await holding(current());
      const { stage, ips } = pool;
      const [one = '', two = ''] = ips;
      for (const type of ['Degraded', 'Ready']) expect(await conditionOf(pool, type)).toMatchObject({ reason: 'SafeHold' });
      expect((await conditionOf(pool, 'Degraded'))?.message).toMatch(/^a, b, e do not match any more, 3 nodes where maxUnavailable is 1, /);
      await untilEvent(pool, 'SafeHold: ');
      await stage.until('the provider was asked for each', () => [...machinesAskedFor(pool)].sort().join() === 'a,b,e');
      await verified(pool);
      expect(assignsOf(pool)).toEqual([1, 1]);
      expect((await stage.getPool('ingress')).status?.ips).toMatchObject({ [one]: { state: 'active', held: true }, [two]: { held: true } });
      expect([await stage.annotation('a'), await stage.annotation('b')]).toEqual([one, two]);

      for (const node of ['a', 'b']) await stage.ready(node);
      await untilReason(pool, 'Degraded', 'AsExpected');
      await untilReason(pool, 'Ready', 'AllActive');
      await verified(pool);
      expect([assignsOf(pool), await heldNodes(pool)]).toEqual([[1, 1], '']);
    });

    test('moves the address of each machine that is deleted meanwhile, and no other', async () => {
      const pool = await holding(current());
      const { stage, ips } = pool;
      const [one = '', two = ''] = ips;
      await verified(pool);
      expect(assignsOf(pool)).toEqual([1, 1]);
      loseMachine(pool, 'a');
      await stage.until('its address is elsewhere', async () => (await stage.activeOn('ingress', one)) === 'c');
      await verified(pool);
      expect([holders(pool, one), holders(pool, two)]).toEqual([
        [null, 'a', null, 'c'],
        [null, 'b'],
      ]);
      loseMachine(pool, 'b');
      await stage.until('so is the other one', async () => (await stage.activeOn('ingress', two)) === 'd');
      expect(assignsOf(pool)).toEqual([2, 2]);
    });

    test('ends that, and moves the rest, when the provider says that enough of the machines are gone', async () => {
      const names = current();
      const pool = await carefulPool(names, holdOf(LONG_SECONDS), { nodes: ['a', 'b', 'c'] });
      const { stage, ip } = pool;
      loseMachine(pool, 'b');
      await stage.notReady('b');
      await stage.notReady('a');
      await untilEvent(pool, 'SafeHold: a, b ');
      await stage.until('the address is elsewhere', async () => (await stage.activeOn('ingress', ip)) === 'c');
      expect([...machinesAskedFor(pool)].sort()).toEqual(['a', 'b']);
      expect([holders(pool, ip), await heldNodes(pool)]).toEqual([[null, 'a', 'c'], '']);
      await untilReason(pool, 'Degraded', 'AsExpected');
    });

    test('goes on with it after the window, when its operator was killed and Redis has lost all, until people allow more', async () => {
      const pool = await holding(current(), MORTAL_FLAGS);
      const { stage, ips } = pool;
      const since = (await held(pool)).map(({ notReadySince }) => Date.parse(notReadySince));
      expect(since).toHaveLength(3);
      // From the beginning it would have to be longer than a busy machine takes to fail all three.
      const windowSeconds = 1;
      await stage.editPool('ingress', holdOf(windowSeconds));
      await stage.until('all went longer ago than the window', () => Date.now() > Math.max(...since) + windowSeconds * 1000);
      await stage.until('the window is known', async () => {
        const { metadata, status } = await stage.getPool('ingress');
        return status?.observedGeneration === metadata.generation;
      });
      await verified(pool);
      expect([assignsOf(pool), await heldNodes(pool)]).toEqual([[1, 1], 'a,b,e']);
      await killed(pool, 'loses');
      await untilReason(pool, 'Degraded', 'SafeHold');
      await verified(pool);
      expect([assignsOf(pool), await heldNodes(pool)]).toEqual([[1, 1], 'a,b,e']);
      await stage.editPool('ingress', { safeHold: { maxUnavailable: 3 } });
      await stage.until('both are elsewhere', async () => {
        const nodes = await Promise.all(ips.map((ip) => stage.activeOn('ingress', ip)));
        return nodes.sort().join() === 'c,d';
      });
      expect(assignsOf(pool)).toEqual([2, 2]);
    });
  });

// ---------------------------------------------------------------- spec.contention

/** So long that a busy machine sees within it what is done right after it has begun. */
const WINDOW_SECONDS = 10;

/** Somebody else's machine in the same account. */
const foreignMachine = ({ cloud }: Names['stage']): number => cloud.addDroplet({ name: 'foreign', region: 'nyc3' }).id;

const contended = async (pool: CarefulPool): Promise<number> => Date.parse((await statusOf(pool)).contendedUntil ?? '') || 0;

/** Somebody else moves the first address to that machine. Resolves once it was put back, which has been confirmed, or is left there; answers which. */
async function moveAway(pool: CarefulPool, foreign: number): Promise<'back' | 'left'> {
  const { stage, ip } = pool;
  const assignedLast = async () => (await stage.getPool('ingress')).status?.lastAssignmentTime;
  const before = await assignedLast();
  stage.cloud.moveReservedIP(ip, foreign);
  const found: { left?: boolean } = {};
  await stage.until('it is put back, or left', async () => {
    found.left = (await contended(pool)) > 0;
    return found.left || (await assignedLast()) !== before;
  });
  return found.left ? 'left' : 'back';
}

const isForeign = ({ stage, ip }: CarefulPool, foreign: number): boolean => stage.cloud.state.reservedIPs.get(ip)?.dropletId === foreign;

export const contentionScenarios = (current: () => Names) =>
  describe('that somebody else takes an address from', () => {
    const contention = (takeover: string, moves: number, windowSeconds: number): JsonObject => ({
      contention: { moves, windowSeconds, takeover },
    });

    test('puts it back until it was moved so often, then leaves it, serves its other addresses, and has it back when people say so', async () => {
      const names = current();
      const foreign = foreignMachine(names.stage);
      const pool = await carefulPool(names, contention('Yield', 3, 3600), { nodes: ['a', 'b'], addresses: 2 });
      const { stage, ip } = pool;
      const other = pool.ips[1] ?? '';
      for (const times of [1, 2]) {
        expect([await moveAway(pool, foreign), stage.assigns(ip).length, isForeign(pool, foreign)]).toEqual(['back', 1 + times, false]);
      }
      expect(await moveAway(pool, foreign)).toBe('left');
      const message = `${ip} was moved by somebody else 3 times within 3600 s: it is left on digitalocean://${foreign}, and tried again at `;
      for (const type of ['Degraded', 'Ready']) expect(await conditionOf(pool, type)).toMatchObject({ reason: 'Contended' });
      expect((await conditionOf(pool, 'Degraded'))?.message).toContain(message);
      await untilEvent(pool, `Contended: ${message}`);
      await verified(pool);
      await stage.until('no node bears it', async () => (await stage.annotation('a')) === null);
      expect([stage.assigns(ip).length, isForeign(pool, foreign)]).toEqual([3, true]);

      await stage.notReady('b');
      await stage.until('the other one is on a', async () => (await stage.activeOn('ingress', other)) === 'a');
      await stage.ready('b');
      await verified(pool);
      expect([stage.assigns(ip).length, isForeign(pool, foreign)]).toEqual([3, true]);
      await stage.editPool('ingress', { contention: null });
      await stage.until('it is back', async () => (await stage.activeOn('ingress', ip)) === 'b');
      await untilReason(pool, 'Degraded', 'AsExpected');
      expect(stage.assigns(ip)).toHaveLength(4);
    });

    test('takes it back once in each window when it is to reclaim it', async () => {
      const names = current();
      const foreign = foreignMachine(names.stage);
      const pool = await carefulPool(names, contention('Reclaim', 2, WINDOW_SECONDS), { nodes: ['a'] });
      const { stage, ip } = pool;
      const isBack = () => stage.until('it is back', async () => (await stage.activeOn('ingress', ip)) === 'a');
      // What is older than the window does not count: on a machine that is slow it takes a move more.
      while ((await moveAway(pool, foreign)) === 'back') expect(stage.assigns(ip).length).toBeLessThan(10);
      const fought = stage.assigns(ip).length;
      const windows = [await contended(pool)];
      await untilReason(pool, 'Degraded', 'Contended');
      expect((await conditionOf(pool, 'Degraded'))?.message).toContain(', and taken back at ');
      await isBack();
      expect(await moveAway(pool, foreign)).toBe('left');
      windows.push(await contended(pool));
      await isBack();

      const sent = assignedAt(pool, ip).slice(fought);
      expect(sent).toHaveLength(2);
      for (const [index, end] of windows.entries()) expect(sent[index]).toBeGreaterThanOrEqual(end - CLOCKS_MS);
      // The second window began when the address was taken back: not before the first one was over.
      expect((windows[1] ?? 0) - (windows[0] ?? 0)).toBeGreaterThanOrEqual(WINDOW_SECONDS * 1000);
    });
  });
