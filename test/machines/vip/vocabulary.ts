import type { MachineEvent } from '../../../actors/runtime/step.ts';
import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { contendedAfter } from '../../../machines/vip/contention.ts';
import type { ServiceObserved, VipContext, VipInput } from '../../../machines/vip/decisions.ts';
import type { ReservedIP, VipService } from '../../../machines/vip/objects.ts';
import { failure, SECOND, START } from '../builders.ts';
import type { Exploration, Telling } from '../explore.ts';
import { event } from '../pool/world.ts';

export const A = '1.1.1.1' as Address;
export const B = '1.1.1.2' as Address;
export const REF: ObjectRef = { kind: 'Service', namespace: 'default', name: 'web', uid: 'uid-web' };
const HEIR: ObjectRef = { ...REF, uid: 'uid-heir' };
export const VIP_INPUT: VipInput = { id: 'vip/default/web', ref: REF };
export const DOUBT_MS = 60 * SECOND;

export const ip = (address: Address, uid: string, owner: ObjectRef = REF): ReservedIP => ({
  name: address,
  uid,
  address,
  owner: { namespace: owner.namespace, name: owner.name, uid: owner.uid },
  group: 'g',
  legacy: false,
});
const IP_A = ip(A, 'ip-a');
const IP_B = ip(B, 'ip-b');

/** A Service that wants an address and has nothing of ours; say what is different. */
export const service = (change: Partial<VipService> = {}): VipService => ({
  ref: REF,
  createdAt: START,
  wanting: true,
  deleting: false,
  guarded: false,
  ingress: [],
  loadBalancerIP: '',
  requestedIP: null,
  pinnedGroup: null,
  family: 4,
  ...change,
});
const lists = (...addresses: readonly Address[]): Pick<VipService, 'guarded' | 'ingress'> => ({
  guarded: true,
  ingress: addresses.map((each) => ({ ip: each })),
});

export const observed = (
  seen: VipService | null,
  owned: readonly ReservedIP[],
  target: Address | null,
  change: Partial<Pick<ServiceObserved, 'refusal' | 'usurps' | 'at' | 'foreign' | 'asks'>> = {},
): MachineEvent =>
  event('SERVICE_OBSERVED', {
    service: seen,
    owned,
    target: target && { address: target, group: 'g' },
    refusal: null,
    usurps: false,
    ...change,
  });

const FULL = { reason: 'PoolExhausted', message: 'no IP could be allocated' };
export const waits = observed(service(), [], null, { refusal: FULL });
export const wantsA = observed(service(), [], A);
export const wantsB = observed(service(), [], B);
export const hasA = observed(service(lists()), [IP_A], A);
export const boundA = observed(service(lists(A)), [IP_A], A);
export const boundMuchLater = { ...boundA, at: START + 600 * SECOND };
export const changesToB = observed(service(lists(A)), [IP_A], B);
export const hasBoth = observed(service(lists(A)), [IP_A, IP_B], B);
export const boundB = observed(service(lists(B)), [IP_A, IP_B], B);
export const backToA = observed(service(lists(B)), [IP_A, IP_B], A);
export const lost = observed(service(lists(A)), [], A);
export const usurps = observed(service(lists(A)), [], null, { usurps: true, refusal: FULL });
/** Somebody else's ingress. */
const THEIRS: Pick<VipService, 'ingress' | 'by'> = { ingress: [{ ip: '203.0.113.80' }], by: 'cloud' };
const leftWith = (isReserved: boolean): string => {
  const listing = { text: '203.0.113.80', isChanged: false, isMarked: isReserved, isReserved, isForeign: true, asks: '', by: 'cloud' };
  return contendedAfter({}, listing, START).contention?.message ?? '';
};
/** What is said of it, while an address of ours is reserved for it and while none is. */
const LEFT = { found: leftWith(false), reserved: leftWith(true) };
export const foreign = observed(service(THEIRS), [], null, { foreign: true });
export const foreignGuarded = observed(service({ ...THEIRS, guarded: true }), [], null, { foreign: true });
export const foreignAsks = observed(service(THEIRS), [], A, { asks: 'a' });
export const overwritten = observed(service({ ...THEIRS, guarded: true }), [IP_A], A, { foreign: true });
export const overwrittenAsks = observed(service({ ...THEIRS, guarded: true }), [IP_A], A, { asks: 'a' });
export const emptied = observed(service(lists()), [IP_A], A);
export const markedBound = observed(service({ ...lists(A), contended: 'left' }), [IP_A], A);
export const markedAway = observed(service({ contended: 'left', wanting: false }), [], null);
export const deleted = observed(service({ ...lists(A), deleting: true }), [IP_A], null);
export const deletedBare = observed(service({ ...lists(), deleting: true }), [], null);
export const away = observed(service({ ...lists(A), wanting: false }), [IP_A], null);
export const back = observed(service(lists()), [IP_A], A);
export const orphaned = observed(null, [IP_A], null);
export const gone = observed(null, [], null);
export const heir = observed(service({ ref: HEIR }), [IP_A], A);

export const done = (job: string, output: unknown): MachineEvent => event(`xstate.done.actor.${job}`, { output });
export const reservedA = done('reserve', IP_A);
export const reservedB = done('reserve', IP_B);
/** `seen`: what was listed when it was asked for. */
export const published = (address: Address | null, seen: string = address === A ? '' : A): MachineEvent =>
  done('publish', { uid: REF.uid, address, seen, changed: true });
export const publishedOver = done('publish', { uid: REF.uid, address: A, seen: '203.0.113.80', changed: true, repairs: true });
export const marked = (message: string | null, letsGo = false): MachineEvent => done('mark', { uid: REF.uid, message, letsGo });
export const freedA = done('free', { freed: ['ip-a'] });
export const yieldedA = done('yield', { freed: ['ip-a'] });
export const released = done('release', { kept: false, freed: ['ip-a'] });
export const kept = done('release', { kept: true, freed: [] });
export const missed = done('look', { wanting: false });
export const found = done('look', { wanting: true });

export const JOBS = ['reserve', 'publish', 'free', 'yield', 'release', 'look', 'mark'] as const;
export const failed = (job: string): MachineEvent => event(`xstate.error.actor.${job}`, { error: failure('Conflict') });
/** It may have taken effect, or may yet. */
export const lostTrack = (job: string): MachineEvent =>
  event(`xstate.error.actor.${job}`, { error: { ...failure('Unavailable'), unknownOutcome: true } });
export const resumed = event('RESUME');
export const rested = event('xstate.after.coolOff.vipService.CoolOff', {}, START + SECOND);
export const doubted = event('xstate.after.doubt.vipService.Releasing.Waiting', {}, START + DOUBT_MS);

export const VIP_EVENTS: readonly MachineEvent[] = [
  waits,
  wantsA,
  wantsB,
  hasA,
  boundA,
  boundMuchLater,
  changesToB,
  hasBoth,
  boundB,
  backToA,
  lost,
  usurps,
  deleted,
  deletedBare,
  away,
  back,
  orphaned,
  gone,
  heir,
  reservedA,
  reservedB,
  published(A),
  published(A, A),
  published(B),
  published(null),
  freedA,
  yieldedA,
  released,
  kept,
  missed,
  found,
  ...JOBS.map(failed),
  ...JOBS.map(lostTrack),
  resumed,
  rested,
  doubted,
];

/** What comes to a Service whose ingress somebody else writes, too. */
export const CONTENDED_EVENTS: readonly MachineEvent[] = [
  boundA,
  foreign,
  foreignGuarded,
  foreignAsks,
  overwritten,
  overwrittenAsks,
  emptied,
  markedBound,
  markedAway,
  deleted,
  away,
  gone,
  reservedA,
  published(A),
  publishedOver,
  marked(LEFT.found),
  marked(LEFT.found, true),
  marked(LEFT.reserved),
  marked(null),
  released,
  failed('mark'),
  resumed,
  rested,
];

/** Not the counts, and of what is late only whether anything is. */
export const vipTelling: Telling = ({ value, context }) => {
  const { ref, service: seen, heard, owned, target, usurps: isUsurping, doomed, looks, failure: failed, late } = context as VipContext;
  return [
    value,
    ref.uid,
    heard,
    seen && [seen.wanting, seen.deleting, seen.guarded, seen.ingress],
    owned.map(({ uid }) => uid),
    target?.address,
    isUsurping,
    doomed,
    looks > 0,
    failed !== null,
    late.freed.length > 0,
  ];
};

/** Of such a Service neither what is being deleted, nor what failed. */
export const contendedTelling: Telling = ({ value, context }) => {
  const { heard, service: seen, owned, target, ousted, repairs = [], contention, marked: said } = context as VipContext;
  return [
    value,
    heard,
    seen && [seen.wanting, seen.deleting, seen.guarded, seen.ingress, seen.contended],
    owned.length,
    target?.address,
    ousted,
    repairs.length > 0,
    contention?.asks,
    said,
  ];
};

/** No object comes back that was deleted. */
export const vipComes: NonNullable<Exploration['comes']> = ({ context }, { type, output }) =>
  type !== 'xstate.done.actor.reserve' || !(context as VipContext).late.freed.includes((output as ReservedIP).uid);
