import { describe, expect } from 'vitest';
import type { Address } from '../../../machines/model/types.ts';
import { aways } from '../../support/away-crash.ts';
import { type Opening, refuseCalls, withoutHands } from '../../support/replicas.ts';
import { ingress } from '../../support/setups.ts';
import { test } from '../../support/sound.ts';
import type { World } from '../../support/world.ts';
import { allActive, creates, ipsOf } from '../pool/creation-steps.ts';

const A = '203.0.113.207' as Address;
const POOL = 'pool/default/ingress';
const SECOND = 1000;

/** Definitions of FLIPOP let no status tell of a creation, nor of a term. */
function pruned(world: World): void {
  const process = world.cluster.process.bind(world.cluster);
  world.cluster.process = () => {
    const writer = process();
    const { project } = writer;
    writer.project = (projection) => {
      const { pendingCreate: _, term: __, ...status } = projection.status as Readonly<Record<string, unknown>>;
      project({ ...projection, status: status as typeof projection.status });
    };
    writer.recordIntent = async () => undefined;
    return writer;
  };
}

/** Nothing, or the store, once, at this call of whoever opens the next term. */
const FAILURES: readonly (Opening | null)[] = [null, 'drop', 'openTerm', 'resetClaims'];

describe.each(FAILURES)('the store goes again at %s', (call) => {
  test('a creation that is under way when Redis goes for the leader alone is not made again by the one that has Redis, whose status does not tell of it', async ({
    open,
  }) => {
    const world = open({ away: true });
    const refusals = call && refuseCalls(world, call);
    pruned(world);
    const ref = ingress(world, { nodes: ['a', 'b'], addresses: { [A]: 'a' } });
    const first = await world.start();
    await world.clock.advance(700);
    const second = await world.start();
    await world.clock.runUntil(allActive(world, ref, 1), 60 * SECOND);
    world.provider.faults.next('createRoutedIP', { kind: 'hang', effectAfterMs: 5_000 });
    world.pool('ingress', { ips: [A], desiredIPs: 2 });
    await world.clock.runUntil(() => creates(world).length === 1, 10 * SECOND);
    first.store.cut();
    await world.clock.advance(5 * SECOND);
    if (refusals) refusals.left = 1;
    await world.clock.runUntil(() => second.supervisor.leading, 60 * SECOND);
    expect(world.log.some(({ message }) => message === 'the stored records are out of date, and are rebuilt from what is shown')).toBe(
      true,
    );
    expect(world.status(ref).pendingCreate).toBeUndefined();
    await world.clock.runUntil(allActive(world, ref, 2), 120 * SECOND);
    await world.clock.advance(60 * SECOND);
    expect([creates(world).length, world.provider.cloud.addresses().length, ipsOf(world, ref).length]).toEqual([1, 2, 2]);
    expect(refusals?.left ?? 0, 'the store went').toBe(0);
  });
});

test('people hear of an address that is made for a pool that was deleted when Redis was away for its leader, which has ended', async ({
  open,
}) => {
  const world = open({ away: true });
  const ref = ingress(world, { nodes: ['a', 'b'], addresses: { [A]: 'a' } });
  const first = await world.start();
  await world.clock.advance(700);
  const second = await world.start();
  await world.clock.runUntil(allActive(world, ref, 1), 60 * SECOND);
  world.provider.faults.next('createRoutedIP', { kind: 'hang', effectAfterMs: 5_000 });
  world.pool('ingress', { ips: [A], desiredIPs: 2 });
  await world.clock.runUntil(() => creates(world).length === 1, 10 * SECOND);
  first.store.cut();
  await world.clock.advance(3 * SECOND);
  first.kill();
  world.cluster.removePool(ref);
  await world.clock.runUntil(() => second.supervisor.leading, 60 * SECOND);
  const left = (): boolean => world.cluster.announced.some(({ event }) => event.reason === 'AddressLeft');
  await world.clock.runUntil(left, 120 * SECOND);
  await world.clock.runUntil(() => Object.keys(world.cluster.annotations()).length === 0, 60 * SECOND);
  expect([creates(world).length, world.provider.cloud.addresses().length]).toEqual([1, 2]);
});

describe.each(FAILURES)('the store goes again at %s', (call) => {
  test('a creation that another process sends late, when Redis is back for the leader, is found by whoever looks for it', async ({
    open,
  }) => {
    // What is in doubt by its own time is settled before others have to know of a new term.
    const world = open({ away: true, settings: { callDeadlineMs: 5 * SECOND }, provider: { deadlineMs: 5 * SECOND } });
    const refusals = call && call !== 'drop' ? refuseCalls(world, call) : null;
    const ref = ingress(world, { nodes: ['a', 'b'], addresses: { [A]: 'a' } });
    const moment = { saved: (): void => undefined };
    const first = await withoutHands(world, () =>
      world.start((point) => {
        if (point === 'afterWrite') moment.saved();
        return false;
      }),
    );
    const second = await world.start();
    await world.clock.runUntil(allActive(world, ref, 1), 60 * SECOND);
    await world.clock.advance(10 * SECOND);
    // As soon as the creation is saved nobody reaches the records: its job waits in the queue.
    moment.saved = () => {
      const pool = first.supervisor.records().get(POOL)?.get(POOL);
      if (JSON.stringify(pool?.snapshot.value).includes('"Creating"')) for (const { store } of [first, second]) store.cut();
    };
    world.pool('ingress', { ips: [A], desiredIPs: 2 });
    await world.clock.advance(500);
    second.lease.cut();
    await world.clock.runUntil(() => aways(world) === 1, 5 * SECOND);
    moment.saved = () => undefined;
    await world.clock.advance(6 * SECOND);
    expect([first.supervisor.leading, creates(world)]).toEqual([true, []]);
    if (refusals) refusals.left = 1;
    first.store.mend();
    await world.clock.advance(1_500);
    world.provider.faults.next('createRoutedIP', { kind: 'hang', effectAfterMs: 4_900 });
    second.store.mend();
    await world.clock.runUntil(() => creates(world).length === 1, SECOND);
    await world.clock.runUntil(() => world.log.some(({ message }) => message === 'the store is back'), 2 * SECOND);
    second.lease.mend();
    await world.clock.runUntil(allActive(world, ref, 2), 120 * SECOND);
    await world.clock.advance(60 * SECOND);
    expect([creates(world).length, world.provider.cloud.addresses().length, ipsOf(world, ref).length]).toEqual([1, 2, 2]);
    expect(refusals?.left ?? 0, 'the store went').toBe(0);
  });
});

test('a creation that waits until Redis is back is not taken for lost, however long that lasts', async ({ open }) => {
  const world = open({ away: true });
  const ref = ingress(world, { nodes: ['a', 'b'], addresses: { [A]: 'a' } });
  const { store } = await world.start();
  await world.clock.runUntil(allActive(world, ref, 1), 60 * SECOND);
  store.cut();
  await world.clock.runUntil(() => aways(world) === 1, 30 * SECOND);
  world.pool('ingress', { ips: [A], desiredIPs: 2 });
  await world.clock.advance(480 * SECOND);
  expect(world.log.filter(({ message }) => message === 'what was waited for did not come in time')).toEqual([]);
  expect(creates(world)).toEqual([]);
  store.mend();
  await world.clock.runUntil(allActive(world, ref, 2), 60 * SECOND);
  expect(creates(world)).toHaveLength(1);
});
