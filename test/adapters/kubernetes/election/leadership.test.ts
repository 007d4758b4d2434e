import { describe, expect, test } from 'vitest';
import { Fenced } from '../../../../actors/ports/errors.ts';
import type { LeaseElection } from '../../../../adapters/kubernetes/election/leadership.ts';
import { LEASE_NAME } from '../../../../adapters/kubernetes/election/lease.ts';
import { electing } from './electing.ts';

describe('leader election', () => {
  test('gives the lease to one of two, and writes it as client-go does', async () => {
    const { clock, server, told, candidate } = electing();
    await candidate('one').start();
    await candidate('two').start();
    await clock.advance(60_000);
    expect(told).toEqual(['one acquired']);
    expect(server.lease?.spec).toEqual({
      holderIdentity: expect.stringMatching(/^one_[0-9a-f-]{36}$/),
      leaseDurationSeconds: 15,
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:01:00.000000Z',
      leaseTransitions: 0,
    });
    expect(server.lease?.metadata).toMatchObject({ name: LEASE_NAME, namespace: 'operator' });
  });

  test('tells a leader that cannot renew to stop before another one starts', async () => {
    const { clock, told, candidate, server } = electing();
    const one = candidate('one');
    await one.start();
    await candidate('two').start();
    await clock.advance(20_000);
    one.connection.cut = true;
    const lostAfter = await clock.runUntil(() => told.length === 2, 30_000);
    expect(told[1]).toBe('one lost: the lease could not be renewed for 10000 ms');
    expect(lostAfter).toBeLessThanOrEqual(10_000);
    const takenAfter = lostAfter + (await clock.runUntil(() => told.length === 3, 30_000));
    expect(told[2]).toBe('two acquired');
    expect(takenAfter).toBeGreaterThanOrEqual(13_000);
    expect(takenAfter).toBeLessThanOrEqual(19_000);
    expect(server.lease?.spec?.leaseTransitions).toBe(1);
    one.connection.cut = false;
    await clock.advance(60_000);
    expect(told).toHaveLength(3);
  });

  test('counts the time of a foreign lease from what it saw itself, whatever the clocks say', async () => {
    const { clock, told, candidate, server } = electing();
    const one = candidate('one');
    await one.start();
    one.connection.cut = true;
    server.edit((lease) => ({ ...lease, spec: { ...lease.spec, renewTime: '2020-01-01T00:00:00.000000Z' } }));
    await candidate('two').start();
    clock.jump(3_600_000);
    await clock.advance(14_000);
    expect(told.filter((line) => line.startsWith('two'))).toEqual([]);
    await clock.advance(4_000);
    expect(told.at(-1)).toBe('two acquired');
  });

  test.each([
    ['ahead', 120],
    ['behind', -120],
  ])('says once that the clock of the holder is %s, and counts as ever', async (_, seconds) => {
    const { clock, told, candidate, server } = electing();
    const two = candidate('two');
    const renewedBy = (holder: string, offsetMs: number): void =>
      server.edit((lease) => ({
        ...lease,
        spec: {
          ...lease.spec,
          holderIdentity: holder,
          leaseDurationSeconds: 15,
          renewTime: new Date(clock.now() + offsetMs).toISOString(),
        },
      }));
    const one = candidate('one');
    await one.start();
    one.connection.cut = true;
    await two.start();
    for (const offset of [0, -1_000, seconds * 1000, seconds * 1000]) {
      renewedBy('other', offset);
      await clock.advance(5_000);
    }
    const lines = two.log.lines.filter((line) => line.includes('the clocks differ'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(
      new RegExp(`^warn the clocks differ {"holder":"other","aheadMs":${seconds < 0 ? '-1(1|2)\\d{4}' : '1(1|2)\\d{4}'}}$`),
    );
    expect(told).toEqual(['one acquired', expect.stringMatching(/^one lost/)]);
  });

  test('goes on after a short outage without anybody losing anything', async () => {
    const { clock, told, candidate } = electing();
    const one = candidate('one');
    const two = candidate('two');
    await one.start();
    await two.start();
    await clock.advance(10_000);
    one.connection.cut = true;
    two.connection.cut = true;
    await clock.advance(7_000);
    one.connection.cut = false;
    two.connection.cut = false;
    await clock.advance(60_000);
    expect(told).toEqual(['one acquired']);
  });

  test('hands over at once when the leader stops', async () => {
    const { clock, told, candidate, server } = electing();
    const one = candidate('one');
    await one.start();
    await candidate('two').start();
    await clock.advance(5_000);
    await one.leadership.release();
    expect(told).toEqual(['one acquired', 'one lost: released']);
    expect(server.lease?.spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 });
    const after = await clock.runUntil(() => told.length === 3, 10_000);
    expect(told[2]).toBe('two acquired');
    expect(after).toBeLessThanOrEqual(2_400);
    expect(server.lease?.spec?.leaseDurationSeconds).toBe(15);
  });

  test('hands over to one that may lead from one that may not, and to nobody while nobody may', async () => {
    const { clock, told, candidate, server } = electing();
    const unfit = { one: null as string | null, two: null as string | null };
    const one = candidate('one', () => unfit.one);
    await one.start();
    await candidate('two', () => unfit.two).start();
    await clock.advance(5_000);
    unfit.one = 'no store';
    unfit.two = 'no store';
    await clock.advance(30_000);
    expect(told).toEqual(['one acquired', 'one lost: no store']);
    expect(server.lease?.spec?.holderIdentity).toBe('');
    expect(one.leadership.lease().renewedAt).toBe(Number.NEGATIVE_INFINITY);
    unfit.two = null;
    expect(await clock.runUntil(() => told.length === 3, 10_000)).toBeLessThanOrEqual(2_400);
    expect(told[2]).toBe('two acquired');
    unfit.one = null;
    await clock.advance(30_000);
    expect(told).toHaveLength(3);
  });

  test('tells a leader whose Lease was taken or deleted', async () => {
    const { clock, told, candidate, server } = electing();
    await candidate('one').start();
    server.edit((lease) => ({ ...lease, spec: { ...lease.spec, holderIdentity: 'thief' } }));
    await clock.advance(2_000);
    expect(told).toEqual(['one acquired', 'one lost: thief holds the Lease']);
    await clock.advance(20_000);
    expect(told[2]).toBe('one acquired');
    server.lease = null;
    await clock.advance(2_000);
    expect(told[3]).toBe('one lost: the Lease was deleted');
    await clock.advance(2_000);
    expect(told[4]).toBe('one acquired');
  });

  test('keeps leading when somebody only annotates the Lease, and keeps the annotation', async () => {
    const { clock, told, candidate, server } = electing();
    await candidate('one').start();
    server.edit((lease) => ({ ...lease, metadata: { ...lease.metadata, annotations: { note: 'x' } } }));
    await clock.advance(30_000);
    expect(told).toEqual(['one acquired']);
    expect(server.lease?.metadata.annotations).toEqual({ note: 'x' });
  });

  test('lets every replica name the leader, for as long as its lease has not run out', async () => {
    const { clock, candidate, server } = electing();
    const one = candidate('one');
    const two = candidate('two');
    expect(two.leadership.holder()).toBeNull();
    await one.start();
    await two.start();
    expect([one.leadership.holder(), two.leadership.holder()]).toEqual([server.lease?.spec?.holderIdentity, one.leadership.holder()]);
    expect(two.leadership.holder()).toMatch(/^one_/);
    two.connection.cut = true;
    await clock.advance(14_000);
    expect(two.leadership.holder()).toMatch(/^one_/);
    await clock.advance(4_000);
    expect([one.leadership.holder(), two.leadership.holder()]).toEqual([expect.stringMatching(/^one_/), null]);
    two.connection.cut = false;
    await one.leadership.release();
    await clock.advance(3_000);
    expect(two.leadership.holder()).toMatch(/^two_/);
    expect(candidate('three', undefined, true).leadership.holder()).toBe('three');
  });

  test('looks after the Lease every few seconds, also in vain, but not while a request neither ends nor fails', async () => {
    const { clock, candidate } = electing();
    const one = candidate('one');
    await one.start();
    one.connection.cut = true;
    await clock.advance(600_000);
    expect(clock.monotonic() - one.leadership.triedAt()).toBeLessThanOrEqual(2_400);
    one.connection.send = () => new Promise(() => undefined);
    await clock.advance(600_000);
    expect(clock.monotonic() - one.leadership.triedAt()).toBeGreaterThan(590_000);
    const lone = candidate('two', undefined, true);
    await lone.start();
    await clock.advance(600_000);
    expect(lone.leadership.triedAt()).toBe(clock.monotonic());
  });

  test('makes a process that starts anew another holder', async () => {
    const { candidate } = electing();
    const identities = [candidate('one'), candidate('one')].map(({ leadership }) => (leadership as LeaseElection).identity);
    expect(new Set(identities).size).toBe(2);
  });
});

describe('the term', () => {
  test('is written by the leader on the Lease and seen by every replica', async () => {
    const { clock, candidate, server } = electing();
    const one = candidate('one');
    const two = candidate('two');
    await one.start();
    await two.start();
    expect(one.leadership.seenTerm()).toBe(0);
    await one.leadership.writeTerm(7, null);
    expect(one.leadership.seenTerm()).toBe(7);
    expect(server.lease?.metadata.annotations).toEqual({ 'routedip.io/term': '7' });
    await clock.advance(2_500);
    expect(two.leadership.seenTerm()).toBe(7);
    await clock.advance(30_000);
    expect(server.lease?.metadata.annotations).toEqual({ 'routedip.io/term': '7' });
  });

  test('is what the Lease bears now, also when that was deleted and made anew with a lower one', async () => {
    const { clock, candidate, server } = electing();
    const one = candidate('one');
    const two = candidate('two');
    await one.start();
    await two.start();
    await one.leadership.writeTerm(7, '5f3c');
    await clock.advance(2_500);
    server.edit((lease) => ({ ...lease, metadata: { ...lease.metadata, annotations: {} } }));
    await clock.advance(2_500);
    expect([two.leadership.seenTerm(), two.leadership.seenServer(), two.leadership.isNew()]).toEqual([7, '5f3c', true]);
    server.edit((lease) => ({ ...lease, metadata: { ...lease.metadata, annotations: { 'routedip.io/term': '2' } } }));
    await clock.advance(2_500);
    expect([two.leadership.seenTerm(), two.leadership.seenServer(), two.leadership.isNew()]).toEqual([2, null, false]);
  });

  test('stands beside the server on which it was opened, until somebody writes it who does not say where', async () => {
    const { clock, candidate, server } = electing();
    const one = candidate('one');
    const two = candidate('two');
    await one.start();
    await two.start();
    await one.leadership.writeTerm(7, '5f3c run');
    expect([one.leadership.seenServer(), server.lease?.metadata.annotations?.['routedip.io/redis']]).toEqual(['5f3c run', '7 5f3c run']);
    await clock.advance(2_500);
    expect(two.leadership.seenServer()).toBe('5f3c run');
    // A program of before writes the term, and leaves what it does not know.
    server.edit((lease) => ({
      ...lease,
      metadata: { ...lease.metadata, annotations: { ...lease.metadata.annotations, 'routedip.io/term': '8' } },
    }));
    await clock.advance(2_500);
    expect([two.leadership.seenTerm(), two.leadership.seenServer()]).toEqual([8, null]);
    await clock.advance(15_000);
    await one.leadership.writeTerm(9, null);
    expect(server.lease?.metadata.annotations).toEqual({ 'routedip.io/term': '9' });
    await clock.advance(2_500);
    expect([two.leadership.seenTerm(), two.leadership.seenServer()]).toEqual([9, null]);
  });

  test('is another one on another Lease, be its number the same', async () => {
    const { clock, candidate, server } = electing();
    const one = candidate('one');
    await one.start();
    await one.leadership.writeTerm(1, null);
    const written = one.leadership.seenLease();
    server.lease = null;
    await clock.advance(2_500);
    expect(one.leadership.seenLease()).toBe(written);
    const two = candidate('two');
    await two.start();
    expect([two.leadership.seenTerm(), two.leadership.seenLease()]).toEqual([0, null]);
    await clock.advance(5_000);
    await two.leadership.writeTerm(1, null);
    await clock.advance(2_500);
    expect([one.leadership.seenTerm(), one.leadership.seenLease()]).toEqual([1, two.leadership.seenLease()]);
    expect(one.leadership.seenLease()).not.toBe(written);
  });

  test('is refused to one who does not lead, or who was overtaken', async () => {
    const { clock, candidate, server, told } = electing();
    const one = candidate('one');
    const two = candidate('two');
    await one.start();
    await two.start();
    await expect(two.leadership.writeTerm(8, null)).rejects.toBeInstanceOf(Fenced);
    server.edit((lease) => ({ ...lease, spec: { ...lease.spec, holderIdentity: 'thief' } }));
    await expect(one.leadership.writeTerm(8, null)).rejects.toBeInstanceOf(Fenced);
    expect(told).toEqual(['one acquired', 'one lost: thief holds the Lease']);
    await clock.settle();
    expect(server.lease?.metadata.annotations).toBeUndefined();
  });

  test('is refused when the server is away', async () => {
    const { candidate } = electing();
    const one = candidate('one');
    await one.start();
    one.connection.cut = true;
    await expect(one.leadership.writeTerm(1, null)).rejects.toMatchObject({ name: 'ServerUnreachable' });
  });
});

describe('the freshness of the lease', () => {
  const ageOf = ({ clock, leadership }: { clock: { monotonic(): number }; leadership: { lease(): { renewedAt: number } } }): number =>
    clock.monotonic() - leadership.lease().renewedAt;

  test('is never younger than the last renewal, on every replica', async () => {
    const { clock, candidate } = electing();
    const one = candidate('one');
    const two = candidate('two');
    await one.start();
    await two.start();
    await clock.advance(20_000);
    expect(ageOf({ clock, leadership: one.leadership })).toBeLessThanOrEqual(2_400);
    expect(ageOf({ clock, leadership: two.leadership })).toBeLessThanOrEqual(4_800);
    one.connection.cut = true;
    const cutAt = clock.monotonic();
    await clock.advance(9_000);
    expect(two.leadership.lease().renewedAt).toBeLessThanOrEqual(cutAt);
    expect(two.leadership.lease().durationMs).toBe(15_000);
    expect(ageOf({ clock, leadership: two.leadership })).toBeGreaterThanOrEqual(9_000);
  });

  test('is unknown before a renewal was seen, and after the lease was given up', async () => {
    const { clock, candidate } = electing();
    const one = candidate('one');
    await one.start();
    const two = candidate('two');
    await two.start();
    expect(two.leadership.lease().renewedAt).toBe(Number.NEGATIVE_INFINITY);
    await clock.advance(5_000);
    expect(two.leadership.lease().renewedAt).toBeGreaterThan(Number.NEGATIVE_INFINITY);
    const three = candidate('three');
    await one.leadership.release();
    three.connection.cut = true;
    two.connection.cut = false;
    await two.leadership.release();
    const four = candidate('four');
    await three.start();
    expect(three.leadership.lease().renewedAt).toBe(Number.NEGATIVE_INFINITY);
    await four.start();
    expect(clock.monotonic() - four.leadership.lease().renewedAt).toBe(0);
  });
});
