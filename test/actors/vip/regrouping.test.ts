import { describe, expect, test } from 'vitest';
import { SECOND, VipWorld } from './world.ts';

const SEGMENT = { segment: '1.1.1.0/29', excludedIPs: ['1.1.1.0'] };
/** Labels are looked after once this has passed, with room. */
const SOON = 3 * SECOND;

/** `web` and `mail` have 1.1.1.1 and 1.1.1.2 of the group `old`. */
async function served(): Promise<VipWorld> {
  const w = new VipWorld({ vips: { callMs: 10 } });
  w.k8s.setGroup('old', SEGMENT);
  w.k8s.setService({ name: 'web' });
  await w.start();
  await w.untilListed({ web: '1.1.1.1' });
  w.k8s.setService({ name: 'mail' });
  await w.untilListed({ mail: '1.1.1.2' });
  await w.clock.advance(SOON);
  return w;
}

const labels = (w: VipWorld): Readonly<Record<string, string | null>> =>
  Object.fromEntries(w.k8s.ips().map(({ address, group }) => [address, group]));
const verbsSince = (w: VipWorld, since: number): readonly string[] =>
  w.k8s.writes.slice(since).map(({ verb, about }) => `${verb} ${about}`);

describe('the label of an IP', () => {
  test('whose group was renamed names the group that has the address by now; nothing else is written, and no Service is touched', async () => {
    const w = await served();
    const [since, told] = [w.k8s.writes.length, w.told('web')];
    w.k8s.removeGroup('old');
    w.k8s.setGroup('new', SEGMENT);
    await w.clock.runUntil(() => Object.values(labels(w)).every((group) => group === 'new'), SOON);
    await w.clock.advance(120 * SECOND);
    expect(labels(w)).toEqual({ '1.1.1.1': 'new', '1.1.1.2': 'new' });
    expect(verbsSince(w, since).toSorted()).toEqual(['regroup 1.1.1.1', 'regroup 1.1.1.2']);
    expect([w.listed('web'), w.listed('mail'), w.told('web')]).toEqual([['1.1.1.1'], ['1.1.1.2'], told]);
    expect([w.state('web'), w.faults()]).toEqual(['Bound', []]);
    // What is given next is given as if the group had always had this name.
    w.k8s.setService({ name: 'next' });
    await w.untilListed({ next: '1.1.1.3' });
    expect(labels(w)['1.1.1.3']).toBe('new');
  });

  test('stays while no group has the address: the group is gone, has shrunk, or cannot be read', async () => {
    const w = await served();
    const since = w.k8s.writes.length;
    w.k8s.removeGroup('old');
    await w.clock.advance(SOON);
    w.k8s.setGroup('elsewhere', { segment: '2.2.2.0/29', excludedIPs: [] });
    w.k8s.setGroup('wrong', { segment: 'banana', excludedIPs: [] });
    await w.clock.advance(120 * SECOND);
    expect(labels(w)).toEqual({ '1.1.1.1': 'old', '1.1.1.2': 'old' });
    expect(verbsSince(w, since)).toEqual([]);
  });

  test('names the first of several by name, and stays when its own is one of them, excluded there or not', async () => {
    const w = await served();
    const since = w.k8s.writes.length;
    w.k8s.setGroup('a', SEGMENT);
    w.k8s.setGroup('old', { ...SEGMENT, excludedIPs: ['1.1.1.0-1.1.1.7'] });
    await w.clock.advance(SOON);
    expect(verbsSince(w, since)).toEqual([]);
    w.k8s.setGroup('b', SEGMENT);
    w.k8s.setGroup('old', { segment: '1.1.1.2/32', excludedIPs: [] });
    await w.clock.runUntil(() => labels(w)['1.1.1.1'] === 'a', SOON);
    await w.clock.advance(SOON);
    expect(labels(w)).toEqual({ '1.1.1.1': 'a', '1.1.1.2': 'old' });
  });

  test('is nobody’s business on an IP that is not ours, or a VirtualIP’s', async () => {
    const w = await served();
    w.k8s.setIP({ name: '1.1.1.5' });
    w.k8s.setIP({ name: '1.1.1.6', legacy: true, owner: { namespace: 'default', name: 'vip', uid: null } });
    const since = w.k8s.writes.length;
    w.k8s.removeGroup('old');
    w.k8s.setGroup('new', SEGMENT);
    await w.clock.runUntil(() => labels(w)['1.1.1.1'] === 'new', SOON);
    await w.clock.advance(SOON);
    expect(labels(w)).toMatchObject({ '1.1.1.5': null, '1.1.1.6': null });
    expect(verbsSince(w, since).filter((verb) => !verb.endsWith('1.1.1.1') && !verb.endsWith('1.1.1.2'))).toEqual([]);
  });

  test('that could not be written is tried again, by who leads alone', async () => {
    const w = await served();
    await w.start();
    w.k8s.faults.next('regroup', { kind: 'refuse', error: 'Unavailable' }, 2);
    const since = w.k8s.writes.length;
    w.k8s.removeGroup('old');
    w.k8s.setGroup('new', SEGMENT);
    await w.clock.advance(SOON);
    expect(labels(w)).toEqual({ '1.1.1.1': 'old', '1.1.1.2': 'old' });
    await w.clock.runUntil(() => Object.values(labels(w)).every((group) => group === 'new'), 120 * SECOND);
    expect(verbsSince(w, since)).toHaveLength(4);
  });
});
