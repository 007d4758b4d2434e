import { describe, expect, test } from 'vitest';
import type { Address } from '../../../machines/model/types.ts';
import { mustPublish, publishInput, type ServiceObserved, textOf, type VipContext, vipContext } from '../../../machines/vip/decisions.ts';
import type { VipService } from '../../../machines/vip/objects.ts';
import { notePublished, observe } from '../../../machines/vip/outcomes.ts';

const REF = { kind: 'Service', namespace: 'default', name: 'web', uid: 'u' };
const ADDRESS = '1.1.1.1' as Address;

const listing = (...ips: readonly string[]): VipService => ({
  ref: REF,
  createdAt: 0,
  wanting: true,
  deleting: false,
  guarded: true,
  ingress: ips.map((ip) => ({ ip })),
  loadBalancerIP: '',
  requestedIP: null,
  pinnedGroup: null,
  family: null,
});

const told = (service: VipService): ServiceObserved => ({
  type: 'SERVICE_OBSERVED',
  at: 1,
  service,
  owned: [
    { name: ADDRESS, uid: 'ip', address: ADDRESS, owner: { namespace: 'default', name: 'web', uid: 'u' }, group: 'g', legacy: false },
  ],
  target: { address: ADDRESS, group: 'g' },
  refusal: null,
  usurps: false,
});

const published = (context: VipContext, seen: string) =>
  notePublished(context, { type: 'xstate.done.actor.publish', at: 2, output: { uid: 'u', address: ADDRESS, changed: true, seen } });

describe('an address that was published', () => {
  const edited = observe(vipContext({ id: 'vip/default/web', ref: REF }), told(listing('9.9.9.9')));
  const { seen } = publishInput(edited);

  test('is listed, whatever a watch that is behind still says', () => {
    expect([seen, mustPublish(edited)]).toEqual(['9.9.9.9', true]);
    const after = published(edited, seen);
    expect(after.service && textOf(after.service)).toBe(ADDRESS);
    expect(mustPublish(observe(after, told(listing('9.9.9.9'))))).toBe(false);
  });

  test('is published again when somebody wrote another one over it before that was heard', () => {
    const meanwhile = observe(observe(edited, told(listing(ADDRESS))), told(listing('8.8.8.8')));
    const after = published(meanwhile, seen);
    expect(after.service && textOf(after.service)).toBe('8.8.8.8');
    expect(mustPublish(after)).toBe(true);
  });

  test('is believed when the watch was quicker than the outcome', () => {
    const after = published(observe(edited, told(listing(ADDRESS))), seen);
    expect(mustPublish(after)).toBe(false);
    expect(mustPublish(observe(after, told(listing('9.9.9.9'))))).toBe(true);
  });

  test('is not taken for listed any more than a watch may be behind, after the clock was set back', () => {
    const after = published(edited, seen);
    const later = { ...told(listing('9.9.9.9')), at: -3_600_000 };
    expect(mustPublish(observe(after, later))).toBe(true);
  });
});

describe('an address that somebody else writes over', () => {
  const by = (service: VipService): VipService => ({ ...service, by: 'cloud' });
  const bound = observe(vipContext({ id: 'vip/default/web', ref: REF }), told(listing(ADDRESS)));
  const overwritten = observe(bound, told(by(listing('9.9.9.9'))));
  const repaired = (context: VipContext) =>
    notePublished(context, {
      type: 'xstate.done.actor.publish',
      at: 2,
      output: { uid: 'u', address: ADDRESS, changed: true, seen: '9.9.9.9', repairs: true },
    });

  test('is put right, which counts', () => {
    expect(publishInput(overwritten)).toMatchObject({ repairs: true, seen: '9.9.9.9' });
    expect(repaired(overwritten)).toMatchObject({ repairs: [2], ousted: false });
  });

  test('and does so again before we heard that it was put right, is left then', () => {
    const again = observe(observe(overwritten, told(listing(ADDRESS))), told(by(listing('8.8.8.8'))));
    expect([again.contention, mustPublish(again)]).toEqual([undefined, true]);
    const after = repaired(again);
    expect([mustPublish(after), after.contention?.message]).toEqual([false, expect.stringContaining('(cloud)')]);
  });

  test('counts only what was really written', () => {
    const output = { uid: 'u', address: ADDRESS, changed: false, seen: '9.9.9.9', repairs: true as const };
    expect(notePublished(overwritten, { type: 'xstate.done.actor.publish', at: 2, output }).repairs).toBeUndefined();
  });

  test('is another Service’s by now: of the former one nothing is remembered', () => {
    const contended = observe(repaired(overwritten), told(by(listing('9.9.9.9'))));
    const left = observe({ ...contended, marked: 'left' }, { ...told(by(listing('9.9.9.9'))), at: 20_000 });
    expect(left.contention).toBeTruthy();
    const ref = { ...REF, uid: 'another' };
    const fresh = observe(left, { ...told({ ...listing(), ref }), owned: [] });
    expect(fresh).toMatchObject({ contention: null, repairs: [], ousted: false, marked: null });
  });
});
