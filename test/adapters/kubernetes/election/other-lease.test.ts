import { describe, expect, test } from 'vitest';
import { refusal, ServerUnreachable } from '../../../../adapters/kubernetes/client/api-error.ts';
import type { Connection } from '../../../../adapters/kubernetes/client/connection.ts';
import { OtherLease, whileHeld } from '../../../../adapters/kubernetes/election/foreign-lease.ts';
import { recordedLog } from '../support.ts';
import { electing } from './electing.ts';

const LEASE = { namespace: 'vip-allocator-operator', name: '88cd116a.org' };
const OURS = 'routedip-operator_routedip-operator';

/** The other program, which contends as client-go does, and replicas of this one. */
const contending = () => {
  const { clock, server, told, candidate } = electing();
  const replica = (connection: Connection & { cut?: boolean } = server.path()) => {
    const log = recordedLog();
    const lease = new OtherLease({ connection, lease: LEASE, identity: OURS, clock, random: () => 0, log });
    return { lease, connection, log };
  };
  /** What `connection` answers, unless `refuse` says otherwise. */
  const refusing = (refuse: (method: string) => Error | null): Connection => {
    const path = server.path();
    return {
      ...path,
      send: (request) => {
        const error = refuse(request.method);
        return error ? Promise.reject(error) : path.send(request);
      },
    };
  };
  const holder = () => server.lease?.spec?.holderIdentity;
  return { clock, server, told, candidate, other: candidate('other'), replica, refusing, holder };
};

describe('the Lease of another program', () => {
  test('is waited for while that one renews it, and written by nobody else', async () => {
    const { clock, server, other, replica, told } = contending();
    await other.start();
    const { lease, log } = replica();
    await lease.start();
    await clock.advance(120_000);
    expect(told).toEqual(['other acquired']);
    expect(server.writes.length).toBeGreaterThan(30);
    expect(server.writes.every(({ spec }) => spec?.holderIdentity?.startsWith('other_'))).toBe(true);
    expect(lease.isHeld()).toBe(false);
    expect(() => lease.assertHeld()).toThrow('the Lease vip-allocator-operator/88cd116a.org is not held');
    expect(log.lines.filter((line) => line.startsWith('info leaves Services'))).toHaveLength(1);
  });

  test('is taken when it is given up, and the other one waits from then on', async () => {
    const { clock, other, candidate, replica, holder, told } = contending();
    await other.start();
    const { lease } = replica();
    await lease.start();
    let begun = false;
    void lease.held.then(() => {
      begun = true;
    });
    await clock.advance(10_000);
    expect([begun, lease.isHeld()]).toEqual([false, false]);
    await other.leadership.release();
    expect(await clock.runUntil(() => begun, 10_000)).toBeLessThanOrEqual(3_000);
    expect([holder(), lease.isHeld()]).toEqual([OURS, true]);
    lease.assertHeld();

    await candidate('later').start();
    await clock.advance(120_000);
    expect(told).toEqual(['other acquired', 'other lost: released']);
    lease.assertHeld();
  });

  test('is taken when it was not renewed for its duration', async () => {
    const { clock, other, replica, holder } = contending();
    await other.start();
    other.connection.cut = true;
    const { lease } = replica();
    await lease.start();
    await clock.advance(14_000);
    expect(lease.isHeld()).toBe(false);
    await clock.advance(4_000);
    expect([lease.isHeld(), holder()]).toEqual([true, OURS]);
  });

  test('is held by all replicas together, and renewed by one of them at a time', async () => {
    const { clock, server, other, replica } = contending();
    const [one, two] = [replica(), replica()];
    await one.lease.start();
    await two.lease.start();
    await other.start();
    await clock.advance(60_000);
    expect([one.lease.isHeld(), two.lease.isHeld()]).toEqual([true, true]);
    // Some 4 seconds apart; each for itself would be 10 and more each, and at every look 60.
    expect(server.writes.length).toBeGreaterThanOrEqual(7);
    expect(server.writes.length).toBeLessThanOrEqual(16);
    one.lease.stop();
    for (let second = 0; second < 60; second += 1) {
      await clock.advance(1_000);
      two.lease.assertHeld();
    }
    expect(new Set(server.writes.map(({ spec }) => spec?.holderIdentity))).toEqual(new Set([OURS]));
  });

  test('is no hindrance where there is none, nor where its namespace is not there', async () => {
    const there = contending();
    const first = there.replica();
    await first.lease.start();
    expect([first.lease.isHeld(), there.holder()]).toEqual([true, OURS]);
    expect(there.server.lease?.metadata).toMatchObject(LEASE);

    const { clock, replica, refusing } = contending();
    const second = replica(refusing((method) => (method === 'POST' ? refusal({ verb: 'create', path: '/x' }, 404, 'no namespace') : null)));
    await second.lease.start();
    await clock.advance(60_000);
    second.lease.assertHeld();
    expect(second.log.lines.filter((line) => line.startsWith('warn'))).toEqual([]);
  });

  test('that cannot be renewed stops all writes before the other one may have it; reads go on', async () => {
    const { clock, server, other, replica, told } = contending();
    const { lease, connection } = replica();
    await lease.start();
    await other.start();
    await clock.advance(30_000);
    expect(told).toEqual([]);
    const sent: string[] = [];
    const beyond = { ...server.path(), send: async ({ method }: { readonly method: string }) => void sent.push(method) };
    const guarded = whileHeld(beyond, lease);
    await guarded.send({ method: 'PATCH', path: '/x' });
    connection.cut = true;
    const refused = async () => {
      await guarded.send({ method: 'GET', path: '/x' });
      return guarded.send({ method: 'PATCH', path: '/x' }).then(
        () => null,
        (error: unknown) => error,
      );
    };
    let passed = 0;
    let error: unknown = null;
    for (; error === null && passed < 30; passed += 1) {
      await clock.advance(1_000);
      error = await refused();
    }
    expect(error).toBeInstanceOf(ServerUnreachable);
    expect(told).toEqual([]);
    expect(passed).toBeLessThanOrEqual(11);
    expect(sent.slice(-2)).toEqual(['PATCH', 'GET']);
    await clock.runUntil(() => told.length > 0, 30_000);
    expect(told).toEqual(['other acquired']);

    connection.cut = false;
    const lost = lease.lost.catch((why: unknown) => String(why));
    await clock.advance(5_000);
    expect(await lost).toMatch(/^Error: other_.* has taken the Lease vip-allocator-operator\/88cd116a.org/);
    expect([lease.isHeld(), server.lease?.spec?.holderIdentity]).toEqual([false, expect.stringMatching(/^other_/)]);
  });

  test('that may not be read is named with the right that is missing, once in the log, and had when it is given', async () => {
    let granted = false;
    const { clock, replica, refusing } = contending();
    const path = '/apis/coordination.k8s.io/v1/namespaces/vip-allocator-operator/leases/88cd116a.org';
    const { lease, log } = replica(
      refusing(() => (granted ? null : refusal({ verb: 'get', path }, 403, 'User "operator" cannot do that'))),
    );
    await lease.start();
    await clock.advance(20_000);
    expect(lease.isHeld()).toBe(false);
    expect(lease.hindrance()).toContain('may not get leases in namespace vip-allocator-operator');
    expect(log.lines.filter((line) => line.startsWith('warn'))).toHaveLength(1);
    granted = true;
    await clock.advance(5_000);
    expect([lease.isHeld(), lease.hindrance()]).toEqual([true, null]);
    granted = false;
    await clock.advance(12_000);
    expect(lease.hindrance()).toContain('may not get leases');
    expect(() => lease.assertHeld()).toThrow('is not renewed');
  });
});
