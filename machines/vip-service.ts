import { type BackoffTables, backoffMs, restMs } from './backoff.ts';
import type { FreeVipsInput, LookVipInput, ObjectRef, PublishVipInput, ReleaseVipInput, ReserveVipInput } from './jobs.ts';
import type { ActorId, Address, ErrorKind, JobFailure } from './types.ts';
import type { ReservedIP, VipService } from './vip.ts';

/** The queue of all jobs that reserve addresses and publish them. */
export const VIP_QUEUE = 'vip';

/** The address that a Service is to have. */
export interface VipTarget {
  readonly address: Address;
  /** The IPGroup that it is from. */
  readonly group: string;
}

/** Why it has none, or not the one that it asks for. */
export interface VipRefusal {
  /** A constant for programs and Events. */
  readonly reason: string;
  readonly message: string;
}

/** How the Service is, what is reserved for it, and what was chosen for it among all. */
export interface ServiceObserved {
  readonly type: 'SERVICE_OBSERVED';
  readonly at: number;
  /** Null when it is gone, or neither wants an address nor bears our finalizer. */
  readonly service: VipService | null;
  /** Lowest address first. */
  readonly owned: readonly ReservedIP[];
  readonly target: VipTarget | null;
  readonly refusal: VipRefusal | null;
}

/** What a Service's address remembers. */
export interface VipContext {
  readonly id: ActorId;
  /** Names the queue. */
  readonly provider: typeof VIP_QUEUE;
  /** The uid is empty when only the names of the owner of an address are known. */
  readonly ref: ObjectRef;
  readonly service: VipService | null;
  /** Null until the first fact: before it nothing is decided. */
  readonly heardAt: number | null;
  readonly owned: readonly ReservedIP[];
  readonly target: VipTarget | null;
  readonly refusal: VipRefusal | null;
  readonly late: Late;
  /** How often in a row the owner was looked for and not found. */
  readonly looks: number;
  /** When the next try or look is due, ms since the epoch; null for at once. */
  readonly resumeAt: number | null;
  readonly failure: JobFailure | null;
  readonly attempts: number;
}

/** What we wrote ourselves and a cache may not show yet. */
interface Late {
  /** Facts after this are believed whatever they say, ms since the epoch. */
  readonly until: number;
  readonly guarded: boolean;
  /** What the ingress was before we wrote it; null when we did not. */
  readonly ingress: string | null;
  readonly reserved: readonly ReservedIP[];
  /** By uid: such an object does not come back. */
  readonly freed: readonly string[];
}

export interface VipInput {
  readonly id: ActorId;
  readonly ref: ObjectRef;
}

export interface VipSettings {
  readonly backoff: BackoffTables;
  /** Between two looks for the owner of an address that seems to have none, ms. */
  readonly orphanDoubtMs: number;
}

type Done<I extends string, O> = { readonly type: `xstate.done.actor.${I}`; readonly output: O; readonly at: number };

export type AnyVipEvent =
  | ServiceObserved
  | { readonly type: 'RESUME'; readonly at: number }
  | Done<'reserve', ReservedIP>
  | Done<'publish', { readonly changed: boolean }>
  | Done<'free', { readonly freed: readonly string[] }>
  | Done<'release', { readonly kept: boolean }>
  | Done<'look', { readonly wanting: boolean }>
  | {
      readonly type: `xstate.error.actor.${'reserve' | 'publish' | 'free' | 'release' | 'look'}`;
      readonly error: JobFailure;
      readonly at: number;
    };

/** A watch is behind by less than this, unless it is broken; then the API server's answer to the next write tells the same. */
const LATE_MS = 10_000;

const NOTHING_LATE: Late = { until: 0, guarded: false, ingress: null, reserved: [], freed: [] };

export const vipContext = ({ id, ref }: VipInput): VipContext => ({
  id,
  provider: VIP_QUEUE,
  ref,
  service: null,
  heardAt: null,
  owned: [],
  target: null,
  refusal: null,
  late: NOTHING_LATE,
  looks: 0,
  resumeAt: null,
  failure: null,
  attempts: 0,
});

// ---------------------------------------------------------------- what is so

/** The Service is there, is to stay, and wants an address of ours. */
export const isAlive = ({ service }: VipContext): boolean => (service?.wanting && !service.deleting) ?? false;

const isHeard = ({ heardAt }: VipContext): boolean => heardAt !== null;

/** Nothing of ours is left anywhere. */
export const isBare = (context: VipContext): boolean =>
  isHeard(context) && !isAlive(context) && context.owned.length === 0 && !(context.service?.guarded ?? false);

/** An address is reserved for a Service that is not there, as far as is known. */
export const isOrphaned = (context: VipContext): boolean => isHeard(context) && context.service === null && context.owned.length > 0;

export const mustRelease = (context: VipContext): boolean =>
  isHeard(context) && !isAlive(context) && !isBare(context) && !isOrphaned(context);

/** Without our finalizer the Service could go and leave the address reserved for nobody. */
export const mustReserve = (context: VipContext): boolean =>
  isHeard(context) && isAlive(context) && context.target !== null && !(context.service?.guarded && isOwned(context));

export const mustPublish = (context: VipContext): boolean =>
  isHeard(context) && isAlive(context) && isOwned(context) && (context.service?.guarded ?? false) && !isListed(context);

/** The Service lists exactly its address, which is reserved for it. */
export const isBound = (context: VipContext): boolean =>
  isHeard(context) && isAlive(context) && isOwned(context) && (context.service?.guarded ?? false) && isListed(context);

/** Addresses that the Service had before. Only once it lists another one. */
export const surplus = ({ owned, target }: VipContext): readonly ReservedIP[] => owned.filter(({ address }) => address !== target?.address);

/** One of a former Service of that name is not its own. */
const isOwned = ({ owned, target, ref }: VipContext): boolean =>
  owned.some(({ address, owner }) => address === target?.address && (owner?.uid === null || owner?.uid === ref.uid));
const isListed = ({ service, target }: VipContext): boolean => service !== null && textOf(service) === target?.address;

/** The ingress as one text; an entry with a hostname only is a `-`. */
const textOf = ({ ingress }: VipService): string => ingress.map(({ ip }) => ip ?? '-').join(' ');

/** What has changed is worth another try at once. */
export const isNews = (context: VipContext, event: AnyVipEvent): boolean => {
  if (event.type !== 'SERVICE_OBSERVED') return false;
  const after = observe(context, event);
  return after.target?.address !== context.target?.address || isAlive(after) !== isAlive(context);
};

/** The owner was missed once before, some time ago. */
export const isDoubtedEnough = ({ looks }: VipContext): boolean => looks > 0;

export const isKept = (_: VipContext, event: AnyVipEvent): boolean => event.type === 'xstate.done.actor.release' && event.output.kept;

// ---------------------------------------------------------------- what is heard

export function observe(context: VipContext, { service, owned, target, refusal, at }: ServiceObserved): VipContext {
  const { late, ref } = context;
  const isOurs = service !== null && (ref.uid === '' || service.ref.uid === ref.uid);
  const stays = owned.filter(({ uid }) => !late.freed.includes(uid));
  const freed = late.freed.filter((uid) => owned.some((ip) => ip.uid === uid));
  const isLate = at < late.until;
  const missed = isLate ? late.reserved.filter(({ uid }) => !stays.some((ip) => ip.uid === uid)) : [];
  const seen = isOurs ? (isLate ? asWritten(service, context) : service) : null;
  const hasCaughtUp = missed.length === 0 && seen === service;
  return {
    ...context,
    // An owner of whom only the names were known has come.
    ref: isOurs && ref.uid === '' ? service.ref : ref,
    service: seen,
    heardAt: at,
    owned: [...stays, ...missed],
    target,
    refusal,
    looks: isOurs ? 0 : context.looks,
    late: isLate && !hasCaughtUp ? { ...late, freed } : { ...NOTHING_LATE, freed },
  };
}

/** The Service as we left it, where what a cache says of it is what stood there before. */
function asWritten(service: VipService, { late, service: ours }: VipContext): VipService {
  const guarded = service.guarded || late.guarded;
  const ingress = ours && late.ingress !== null && textOf(service) === late.ingress ? ours.ingress : service.ingress;
  return guarded === service.guarded && ingress === service.ingress ? service : { ...service, guarded, ingress };
}

export const noteReserved = (context: VipContext, event: AnyVipEvent): VipContext => {
  if (event.type !== 'xstate.done.actor.reserve') return context;
  const { output: ip, at } = event;
  const others = context.owned.filter(({ uid }) => uid !== ip.uid);
  return succeeded({
    ...context,
    service: context.service && { ...context.service, guarded: true },
    owned: [...others, ip],
    late: { ...context.late, until: at + LATE_MS, guarded: true, reserved: [...context.late.reserved, ip] },
  });
};

export const notePublished = (context: VipContext, event: AnyVipEvent): VipContext => {
  const { service, target, late } = context;
  if (event.type !== 'xstate.done.actor.publish' || !service || !target) return succeeded(context);
  return succeeded({
    ...context,
    service: { ...service, ingress: [{ ip: target.address }] },
    late: { ...late, until: event.at + LATE_MS, ingress: textOf(service) },
  });
};

export const noteFreed = (context: VipContext, event: AnyVipEvent): VipContext => {
  if (event.type !== 'xstate.done.actor.free') return context;
  const { freed } = event.output;
  const { late } = context;
  return succeeded({
    ...context,
    owned: context.owned.filter(({ uid }) => !freed.includes(uid)),
    late: { ...late, reserved: late.reserved.filter(({ uid }) => !freed.includes(uid)), freed: [...late.freed, ...freed] },
  });
};

/** The Service wants an address again: it begins anew. */
export const noteReleased = (context: VipContext, event: AnyVipEvent): VipContext => {
  if (event.type !== 'xstate.done.actor.release') return context;
  const { service, late, owned } = context;
  return succeeded({
    ...context,
    service: service && { ...service, guarded: false, ingress: [] },
    owned: [],
    late: { ...NOTHING_LATE, freed: [...late.freed, ...owned.map(({ uid }) => uid)] },
  });
};

export const noteLooked = (context: VipContext, event: AnyVipEvent, { orphanDoubtMs }: VipSettings): VipContext => {
  const isMissed = event.type === 'xstate.done.actor.look' && !event.output.wanting;
  return succeeded({ ...context, looks: isMissed ? context.looks + 1 : 0, resumeAt: event.at + orphanDoubtMs });
};

export const noteFailure = (context: VipContext, event: AnyVipEvent, { backoff }: VipSettings): VipContext => {
  if (!('error' in event)) return context;
  const attempts = context.attempts + 1;
  return { ...context, failure: event.error, attempts, resumeAt: event.at + backoffMs(backoff, asRetried(event.error), attempts) };
};

const succeeded = (context: VipContext): VipContext => ({ ...context, failure: null, attempts: 0, resumeAt: null });

/** What a person has to mend is tried seldom; that somebody else was faster, or that the Service is gone, is told by the next fact. */
const asRetried = (failure: JobFailure): JobFailure => (MENDS_ITSELF.has(failure.kind) ? { ...failure, kind: 'Unavailable' } : failure);
const MENDS_ITSELF: ReadonlySet<ErrorKind> = new Set(['Conflict', 'NotFound']);

// ---------------------------------------------------------------- what is asked for

export const coolOffLeft =
  ({ backoff }: VipSettings) =>
  ({ context, event }: { readonly context: VipContext; readonly event: AnyVipEvent }): number => {
    const { failure, attempts, resumeAt } = context;
    return failure ? restMs(resumeAt, event.at, backoffMs(backoff, asRetried(failure), attempts)) : 0;
  };

export const doubtLeft =
  ({ orphanDoubtMs }: VipSettings) =>
  ({ context, event }: { readonly context: VipContext; readonly event: AnyVipEvent }): number =>
    restMs(context.resumeAt, event.at, orphanDoubtMs);

export const reserveInput = ({ provider, ref, target }: VipContext): ReserveVipInput => ({ provider, service: ref, ...wanted(target) });

export const publishInput = ({ provider, ref, target }: VipContext): PublishVipInput => ({
  provider,
  service: ref,
  address: wanted(target).address,
});

export const freeInput = (context: VipContext): FreeVipsInput => ({
  provider: context.provider,
  service: context.ref,
  ips: surplus(context),
});

export const releaseInput = ({ provider, ref, service, owned }: VipContext): ReleaseVipInput => ({
  provider,
  service: ref,
  ips: owned,
  isThere: service !== null,
  clears: service?.ingress.some(({ ip }) => owned.some(({ address }) => address === ip)) ?? false,
});

export const lookInput = ({ provider, ref: { namespace, name } }: VipContext): LookVipInput => ({ provider, service: { namespace, name } });

const wanted = (target: VipTarget | null): VipTarget => {
  if (target === null) throw new Error('asked for without a target: a guard of the chart is wrong');
  return target;
};
