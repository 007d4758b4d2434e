import { describe, expect, test } from 'vitest';
import { UnshownWrites } from '../../../actors/vip/stale-watch.ts';
import { virtualClock } from '../../../adapters/memory/clock.ts';
import type { Fault } from '../../../adapters/memory/faults.ts';
import type { VipVerb } from '../../../adapters/memory/vip-world.ts';
import { VIP_FINALIZER, type VipService } from '../../../machines/vip/objects.ts';
import { recordedLog } from '../../adapters/kubernetes/support.ts';
import type { OperatorProcess } from '../../support/world.ts';
import { SECOND, VipWorld } from './world.ts';

const MINUTE = 60 * SECOND;

const world = (options: ConstructorParameters<typeof VipWorld>[0] = {}): VipWorld => {
  const w = new VipWorld({ vips: { callMs: 10 }, ...options });
  w.k8s.setGroup('g', { segment: '1.1.1.0/30', excludedIPs: ['1.1.1.0'] });
  return w;
};

const FAULTS: Readonly<Record<string, Fault>> = {
  'is refused for want of rights': { kind: 'refuse', error: 'Unauthorized' },
  'meets an API server that is away': { kind: 'refuse', error: 'Unavailable' },
  'is answered by an error of the server': { kind: 'refuse', error: 'Invalid' },
  'meets a conflict': { kind: 'refuse', error: 'Conflict' },
  'gets no connection': { kind: 'noConnection' },
  'is lost': { kind: 'loseRequest' },
  'takes effect, and its answer is lost': { kind: 'loseReply' },
  'is never answered': { kind: 'hang' },
  'takes effect after its deadline': { kind: 'hang', effectAfterMs: 20_000 },
};
const LIFE: readonly VipVerb[] = ['guard', 'reserve', 'publish', 'free', 'unguard', 'look'];
const rows = Object.entries(FAULTS).flatMap(([what, fault]) => LIFE.map((verb): [VipVerb, string, Fault] => [verb, what, fault]));

describe('through a whole life of a Service', () => {
  test.each(rows)('a %s that %s leaves one address while it lives, and none after', async (verb, _, fault) => {
    const w = world();
    for (const each of ['guard', 'reserve', 'publish'] as const) if (each === verb) w.k8s.faults.next(verb, fault);
    await w.start();
    w.k8s.setService({ name: 'web', loadBalancerIP: '1.1.1.1' });
    await w.untilListed({ web: '1.1.1.1' }, 3 * MINUTE);
    await w.clock.advance(30 * SECOND);
    expect([w.reserved(), w.listed('web'), w.finalizers('web')]).toEqual([{ '1.1.1.1': 'default/web' }, ['1.1.1.1'], [VIP_FINALIZER]]);
    w.k8s.faults.clear();
    w.k8s.faults.next(verb, fault);
    w.k8s.setService({ name: 'web', loadBalancerIP: '1.1.1.2' });
    await w.untilListed({ web: '1.1.1.2' }, 3 * MINUTE);
    await w.clock.advance(3 * MINUTE);
    expect([w.reserved(), w.listed('web')]).toEqual([{ '1.1.1.2': 'default/web' }, ['1.1.1.2']]);
    w.k8s.faults.clear();
    w.k8s.faults.next(verb, fault);
    const ref = w.k8s.service('default', 'web')?.ref;
    if (ref) w.k8s.deleteService(ref);
    await w.untilGone('web', 3 * MINUTE);
    await w.clock.advance(3 * MINUTE);
    expect([w.reserved(), w.state('web'), w.faults()]).toEqual([{}, null, []]);
  });

  test('a refusal is told in an Event, and the state says that it waits', async () => {
    const w = world();
    w.k8s.faults.always('reserve', { kind: 'refuse', error: 'Unauthorized', message: 'no rights' });
    await w.start();
    w.k8s.setService({ name: 'web' });
    await w.clock.advance(10 * SECOND);
    expect([w.state('web'), w.reserved(), w.listed('web')]).toEqual(['CoolOff', {}, []]);
    expect(w.told('web')).toEqual(['AllocationFailed: an error occurred while allocating IP: no rights']);
    w.k8s.faults.clear();
    await w.untilListed({ web: '1.1.1.1' }, 2 * MINUTE);
  });
});

describe('an API server that answers with an error, for a webhook of somebody', () => {
  const FAILS = { kind: 'refuse', error: 'Unavailable', message: 'failed calling webhook "vip.kb.io": connection refused' } as const;
  const SAYS = 'APIServerError: the API server answers with an error: failed calling webhook "vip.kb.io": connection refused';
  const unserved = (process: OperatorProcess) => process.supervisor.unserved().map(({ kind, reason }) => `${kind} ${reason}`);

  test('is told within 25 seconds by an Event about the Service, a line in the log and a series, and asked ever more seldom', async () => {
    const w = world();
    w.k8s.faults.always('reserve', FAILS);
    const process = await w.start();
    w.k8s.setService({ name: 'web' });
    await w.clock.advance(25 * SECOND);
    expect(w.told('web')).toEqual([SAYS]);
    expect(unserved(process)).toEqual(['Service APIServerError']);
    expect(w.log.filter(({ message }) => message.startsWith('the API server fails a job'))).toHaveLength(1);
    const before = w.k8s.writes.length;
    await w.clock.advance(MINUTE);
    expect(w.k8s.writes.length - before).toBeLessThanOrEqual(6);
    w.k8s.faults.clear();
    await w.untilListed({ web: '1.1.1.1' }, 15 * SECOND);
    await w.clock.advance(4 * SECOND);
    expect(unserved(process)).toEqual([]);
  });

  test('is told of a Service that is deleted, too', async () => {
    const w = world();
    const process = await w.start();
    const ref = w.k8s.setService({ name: 'web' });
    await w.untilListed({ web: '1.1.1.1' });
    w.k8s.faults.always('unguard', FAILS);
    w.k8s.deleteService(ref);
    await w.clock.advance(25 * SECOND);
    expect([w.told('web').at(-1), unserved(process)]).toEqual([SAYS, ['Service APIServerError']]);
    w.k8s.faults.clear();
    await w.untilGone('web', 15 * SECOND);
  });

  test('is told to nobody when it lasts for little more than a second', async () => {
    const w = world();
    w.k8s.faults.next('reserve', FAILS, 3);
    const process = await w.start();
    w.k8s.setService({ name: 'web' });
    await w.untilListed({ web: '1.1.1.1' });
    await w.clock.advance(25 * SECOND);
    expect([w.told('web').filter((text) => text.startsWith('APIServerError')), unserved(process)]).toEqual([[], []]);
  });
});

describe('watches that are late', () => {
  test.each([100, 2_000, 9_000, 30_000])('by %i ms have nothing done twice: one address, however often it is looked', async (watchMs) => {
    const w = world({ vips: { callMs: 10, watchMs } });
    await w.start();
    w.k8s.setService({ name: 'web' });
    w.k8s.setService({ name: 'next' });
    await w.untilListed({ web: '1.1.1.2' }, 2 * MINUTE).catch(() => undefined);
    await w.clock.advance(3 * MINUTE);
    expect(Object.values(w.reserved()).sort()).toEqual(['default/next', 'default/web']);
    expect(w.k8s.writes.filter(({ verb, result }) => verb === 'reserve' && result === 'done')).toHaveLength(2);
    expect([...w.listed('web'), ...w.listed('next')].sort()).toEqual(['1.1.1.1', '1.1.1.2']);
  });

  test('and stand still keep nobody from being served, and lead nobody to free what is used', async () => {
    const w = world();
    const first = await w.start();
    w.k8s.setService({ name: 'web' });
    await w.untilListed({ web: '1.1.1.1' });
    await w.clock.advance(15 * SECOND);
    w.vipsOf(first).holdWatches();
    const [ip] = w.k8s.ips();
    w.k8s.setService({ name: 'web', type: 'ClusterIP' });
    w.k8s.setService({ name: 'web', type: 'LoadBalancer' });
    w.k8s.setService({ name: 'next' });
    await w.clock.advance(3 * MINUTE);
    expect(w.k8s.ips()).toEqual([ip]);
    w.vipsOf(first).resumeWatches();
    await w.clock.runUntil(() => w.listed('web').length === 1 && w.listed('next').length === 1, 30 * SECOND);
    await w.clock.advance(5 * SECOND);
    expect(Object.keys(w.reserved())).toHaveLength(2);
  });

  test('of a new leader that still show a Service of before do not cost its successor of the same name the address', async () => {
    const w = world();
    const first = await w.start();
    const old = w.k8s.setService({ name: 'web', loadBalancerIP: '1.1.1.2' });
    await w.untilListed({ web: '1.1.1.2' });
    const second = await w.start();
    await w.clock.advance(SECOND);
    w.vipsOf(second).holdWatches();
    w.k8s.deleteService(old);
    await w.untilGone('web');
    w.k8s.setService({ name: 'web', loadBalancerIP: '1.1.1.1' });
    await w.untilListed({ web: '1.1.1.1' });
    await w.clock.advance(SECOND);
    const [ip] = w.k8s.ips();
    first.kill();
    w.lease.delete();
    await w.clock.advance(2 * MINUTE);
    expect(second.supervisor.leading).toBe(true);
    expect([w.k8s.ips(), w.listed('web')]).toEqual([[ip], ['1.1.1.1']]);
    w.vipsOf(second).resumeWatches();
    await w.clock.advance(2 * MINUTE);
    expect([w.k8s.ips(), w.listed('web'), w.state('web')]).toEqual([[ip], ['1.1.1.1'], 'Bound']);
  });
});

describe('an address that somebody else reserves first', () => {
  test('is his: the Service gets the next one', async () => {
    const w = world();
    const process = await w.start();
    w.vipsOf(process).holdWatches();
    await w.clock.advance(SECOND);
    w.k8s.setIP({ name: '1.1.1.1' });
    w.k8s.setService({ name: 'web' });
    w.vipsOf(process).resumeWatches();
    await w.untilListed({ web: '1.1.1.2' });
    expect(w.reserved()).toEqual({ '1.1.1.1': '', '1.1.1.2': 'default/web' });
  });

  test('between the choice and the reservation is no harm either', async () => {
    const w = world({ vips: { callMs: 100 } });
    await w.start();
    w.k8s.setService({ name: 'web' });
    await w.clock.advance(350);
    const theirs = w.k8s.setIP({ name: '1.1.1.1' });
    await w.untilListed({ web: '1.1.1.2' });
    expect(w.k8s.ips().find(({ name }) => name === '1.1.1.1')).toEqual(theirs);
    expect(w.k8s.writes.some(({ verb, result }) => verb === 'reserve' && result === 'Conflict')).toBe(true);
  });
});

describe('watches that tell nothing more although nobody ended them', () => {
  const stuck = async (w: VipWorld): Promise<void> => {
    const process = await w.start();
    w.k8s.setService({ name: 'first' });
    await w.clock.runUntil(() => w.k8s.ips().length === 1, 5 * SECOND);
    w.vipsOf(process).stickWatches();
    await w.untilListed({ first: '1.1.1.1' });
    w.k8s.setService({ name: 'second' });
  };

  test('are taken up again after 10 s: what we wrote ourselves was not shown by then', async () => {
    const w = world();
    await stuck(w);
    await w.clock.advance(9 * SECOND);
    expect(w.listed('second')).toEqual([]);
    await w.untilListed({ second: '1.1.1.2' }, 2 * SECOND);
    expect(w.log.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([
      'the watch of Services does not show what was written: it is taken up again',
    ]);
  });

  test.each([
    ['goes on', 1],
    ['stops', 0],
  ])('are waited for while the process %s only', async (what, renewals) => {
    const w = world();
    await stuck(w);
    const published = w.invariants.turns.find(({ transitions }) =>
      transitions.some(({ events, after }) => after && events.includes('xstate.done.actor.publish')),
    );
    const [service] = w.k8s.services();
    const clock = virtualClock();
    let renewed = 0;
    const seen = { services: new Map([['vip/default/first', { ...service, ingress: [] } as unknown as VipService]]) };
    const renew = (): void => {
      renewed += 1;
    };
    const watched = new UnshownWrites({ seen, source: { renew }, clock, log: recordedLog() });
    if (!published) throw new Error('nothing was published');
    watched.turnSaved(published);
    if (what === 'stops') watched.close();
    await clock.advance(11 * SECOND);
    expect(renewed).toBe(renewals);
  });

  test('are left alone when they show it in time, however late', async () => {
    const w = world({ vips: { callMs: 10, watchMs: 9 * SECOND } });
    await w.start();
    w.k8s.setService({ name: 'first' });
    w.k8s.setService({ name: 'second' });
    await w.untilListed({ first: '1.1.1.1', second: '1.1.1.2' });
    await w.clock.advance(MINUTE);
    expect(w.log.filter(({ level }) => level === 'warn')).toEqual([]);
  });
});
