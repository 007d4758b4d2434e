import type {
  FreedVips,
  FreeVipsInput,
  LookVipInput,
  MarkedVip,
  MarkVipInput,
  PublishedVip,
  PublishVipInput,
  ReleasedVips,
  ReleaseVipInput,
  ReserveVipInput,
} from '../jobs.ts';
import type { BackoffTables } from '../model/backoff.ts';
import type { ActorId, Address, JobFailure, ObjectRef } from '../model/types.ts';
import type { Contended } from './contention.ts';
import { isOwnedBy, type ReservedIP, type VipService } from './objects.ts';

/** The queue of all jobs that reserve addresses and publish them. */
export const VIP_QUEUE = 'vip';

/** The address chosen for a Service. */
export interface VipTarget {
  readonly address: Address;
  /** Its IPGroup. */
  readonly group: string;
}

/** Why it has none, or not the requested one. */
export interface VipRefusal {
  /** A constant for programs and Events. */
  readonly reason: string;
  readonly message: string;
}

/** The state of a Service, what is reserved for it, and what was chosen for it among all Services. */
export interface ServiceObserved {
  readonly type: 'SERVICE_OBSERVED';
  readonly at: number;
  /** Null when it is gone, or neither wants an address nor has our finalizer. */
  readonly service: VipService | null;
  /** Lowest address first. */
  readonly owned: readonly ReservedIP[];
  readonly target: VipTarget | null;
  readonly refusal: VipRefusal | null;
  /** It lists an address that is reserved for another owner. */
  readonly usurps: boolean;
  /** Another controller wrote its ingress, which has no address of ours in it, and it requests nothing of us. Absent for no. */
  readonly foreign?: true;
  /** What it requests of us and of no other, as one string, where another controller has written its ingress or our condition says so; absent for nothing. */
  readonly asks?: string;
}

/** State of a Service's address. */
export interface VipContext
  extends VipInput,
    Contended,
    Pick<ServiceObserved, 'service' | 'owned' | 'target' | 'refusal' | 'usurps' | 'asks'> {
  /** Names the queue. */
  readonly provider: typeof VIP_QUEUE;
  /** A fact was observed: nothing is decided before the first one. */
  readonly heard: boolean;
  /** By uid: the IPs that the current, or last, job deletes. */
  readonly freeing: readonly string[];
  /** By uid: IPs whose deletion was once requested. The request may still be under way, so they are no longer relied on. */
  readonly doomed: readonly string[];
  readonly late: Late;
  /** How often in a row the owner was looked up and not found. */
  readonly looks: number;
  /** When the next try or look-up is due, ms since the epoch; null for at once. */
  readonly resumeAt: number | null;
  readonly failure: JobFailure | null;
  readonly attempts: number;
  /** The condition that we wrote last, empty for removed: a cache may not show it, old servers do not keep it, and if it is removed by others we do not react. Absent, or null,
   *  where we wrote none, and where another writer has since written a different one. */
  readonly marked?: string | null;
}

/** Our own writes that a cache may not show yet. */
export interface Late {
  /** Facts after this time are believed without restriction, ms since the epoch. */
  readonly until: number;
  readonly guarded: boolean;
  /** The ingress before we wrote it; null when we did not. */
  readonly ingress: string | null;
  readonly reserved: readonly ReservedIP[];
  /** By uid: such an object does not come back, even if a stale cache still shows it. */
  readonly freed: readonly string[];
  /** Until this time they are kept even if no cache shows them, ms since the epoch. */
  readonly freedUntil: number;
}

export interface VipInput {
  readonly id: ActorId;
  readonly ref: ObjectRef;
}

export interface VipSettings {
  readonly backoff: BackoffTables;
  /** Interval between two look-ups of the owner of an address that seems to be orphaned, ms. */
  readonly orphanDoubtMs: number;
}

type Done<I extends string, O> = { readonly type: `xstate.done.actor.${I}`; readonly output: O; readonly at: number };

export type AnyVipEvent =
  | ServiceObserved
  | { readonly type: 'RESUME'; readonly at: number }
  | Done<'reserve', ReservedIP>
  | Done<'publish', PublishedVip>
  | Done<'free' | 'yield', FreedVips>
  | Done<'release', ReleasedVips>
  | Done<'look', { readonly wanting: boolean }>
  | Done<'mark', MarkedVip>
  | {
      readonly type: `xstate.error.actor.${'reserve' | 'publish' | 'free' | 'yield' | 'release' | 'look' | 'mark'}`;
      readonly error: JobFailure;
      readonly at: number;
    };

export const NOTHING_LATE: Late = { until: 0, guarded: false, ingress: null, reserved: [], freed: [], freedUntil: 0 };

export const vipContext = ({ id, ref }: VipInput): VipContext => ({
  id,
  provider: VIP_QUEUE,
  ref,
  service: null,
  heard: false,
  owned: [],
  target: null,
  refusal: null,
  usurps: false,
  freeing: [],
  doomed: [],
  late: NOTHING_LATE,
  looks: 0,
  resumeAt: null,
  failure: null,
  attempts: 0,
});

// ---------------------------------------------------------------- claims about the context

/** The Service exists, is not being deleted, and wants an address of ours. */
export const isAlive = ({ service }: VipContext): boolean => (service?.wanting && !service.deleting) ?? false;

/** The Service exists, whatever it wants. */
export const isSeen = ({ service }: VipContext): boolean => service !== null;

const isGuarded = ({ service }: VipContext): boolean => service?.guarded ?? false;

/** Nothing of ours is left anywhere. */
export const isBare = (context: VipContext): boolean =>
  context.heard && !isAlive(context) && context.owned.length === 0 && !isGuarded(context) && mark(context) === '';

/** An address is reserved for a Service that does not exist, as far as is known. */
export const isOrphaned = (context: VipContext): boolean => context.heard && context.service === null && context.owned.length > 0;

export const mustRelease = (context: VipContext): boolean => context.heard && !isAlive(context) && !isBare(context) && !isOrphaned(context);

/** IPs that the Service cannot use, and that may block its address: those of a former Service of its name, and those whose deletion was requested. */
export const leftovers = ({ owned, ref, doomed }: VipContext): readonly ReservedIP[] =>
  owned.filter((ip) => !isOwnedBy(ip, ref) || doomed.includes(ip.uid));

export const mustYield = (context: VipContext): boolean => context.heard && isAlive(context) && leftovers(context).length > 0;

/** Without our finalizer the Service could go and leave the address orphaned. An address that is not listed yet is reserved again, unless we have just done so: a cache may
 *  show an IP that was freed before this record began. */
export const mustReserve = (context: VipContext): boolean =>
  context.heard &&
  isAlive(context) &&
  !isContended(context) &&
  context.target !== null &&
  leftovers(context).length === 0 &&
  !(isGuarded(context) && isOwned(context) && (isListed(context) || isFresh(context)));

/** Its status differs from what is reserved for it; or, while nothing is reserved, lists another owner's address. */
export const mustPublish = (context: VipContext): boolean =>
  context.heard &&
  isAlive(context) &&
  !isContended(context) &&
  (context.target === null ? context.usurps : isOwned(context) && isGuarded(context) && !isListed(context));

/** The Service lists exactly its address, which is reserved for it. */
export const isBound = (context: VipContext): boolean =>
  context.heard &&
  isAlive(context) &&
  isOwned(context) &&
  isGuarded(context) &&
  isListed(context) &&
  leftovers(context).length === 0 &&
  !mustMark(context);

/** It is left to another controller that writes its ingress. */
export const isContended = (context: VipContext): boolean => isAlive(context) && Boolean(context.contention);

/** The known message of our condition; empty where it is absent. */
const mark = ({ marked, service }: VipContext): string => (service ? (marked ?? service.contended ?? '') : '');

/** Our condition is out of date; or our finalizer is on a Service that we leave to another controller, with nothing to give back. */
export const mustMark = (context: VipContext): boolean =>
  context.heard && isAlive(context) && (mark(context) !== (context.contention?.message ?? '') || letsGo(context));

const letsGo = (context: VipContext): boolean => isContended(context) && context.owned.length === 0 && isGuarded(context);

/** Addresses that the Service had before. Freed only once it lists another one. */
export const surplus = ({ owned, target }: VipContext): readonly ReservedIP[] => owned.filter(({ address }) => address !== target?.address);

export const mustTidy = (context: VipContext): boolean => isBound(context) && surplus(context).length > 0;

const isOwned = (context: VipContext): boolean => {
  const spoilt = leftovers(context);
  return context.owned.some((ip) => ip.address === context.target?.address && !spoilt.includes(ip));
};
/** The API server itself has confirmed the reservation. */
const isFresh = ({ late, target }: VipContext): boolean => late.reserved.some(({ address }) => address === target?.address);
export const isListed = ({ service, target }: Pick<VipContext, 'service' | 'target'>): boolean =>
  service !== null && textOf(service) === target?.address;

/** The ingress as one string; an entry with only a hostname is a `-`. */
export const textOf = ({ ingress }: VipService): string => ingress.map(({ ip }) => ip ?? '-').join(' ');

/** The owner was not found once before, some time ago. */
export const isDoubtedEnough = ({ looks }: VipContext): boolean => looks > 0;

export const isKept = (_: VipContext, event: AnyVipEvent): boolean => event.type === 'xstate.done.actor.release' && event.output.kept;

// ---------------------------------------------------------------- inputs of jobs

export const reserveInput = ({ provider, ref, target }: VipContext): ReserveVipInput => ({ provider, service: ref, ...wanted(target) });

export const publishInput = ({ provider, ref, service, target, ousted, usurps }: VipContext): PublishVipInput => ({
  provider,
  service: ref,
  address: target?.address ?? null,
  seen: service ? textOf(service) : '',
  ...(!usurps && (ousted || service?.by !== undefined) && { repairs: true }),
});

export const markInput = (context: VipContext): MarkVipInput => ({
  provider: context.provider,
  service: context.ref,
  message: context.contention?.message ?? null,
  letsGo: letsGo(context),
});

export const freeInput = (context: VipContext): FreeVipsInput => ({
  provider: context.provider,
  service: context.ref,
  ips: surplus(context),
  clears: false,
});

export const yieldInput = (context: VipContext): FreeVipsInput => ({
  provider: context.provider,
  service: context.ref,
  ips: leftovers(context),
  clears: true,
});

export const releaseInput = ({ provider, ref, service, owned }: VipContext): ReleaseVipInput => ({
  provider,
  service: ref,
  ips: owned,
  clears: true,
  isThere: service !== null,
});

export const lookInput = ({ provider, ref, owned }: VipContext): LookVipInput => ({
  provider,
  service: ref,
  ...(ref.kind === 'VirtualIP' && { ips: owned }),
});

const wanted = (target: VipTarget | null): VipTarget => {
  if (target === null) throw new Error('asked for without a target: a guard of the chart is wrong');
  return target;
};
