import { backoffMs, restMs } from '../model/backoff.ts';
import type { ErrorKind, JobFailure } from '../model/types.ts';
import { type Contended, contendedAfter, forgotten, isFought, settled, withRepair } from './contention.ts';
import {
  type AnyVipEvent,
  isAlive,
  isContended,
  isListed,
  NOTHING_LATE,
  type ServiceObserved,
  textOf,
  type VipContext,
  type VipSettings,
  vipContext,
} from './decisions.ts';
import { isOwnedBy, type ReservedIP, type VipService } from './objects.ts';

/** A working watch lags by less than this; with a broken one, the API server's answer to the next write shows the same. */
const LATE_MS = 10_000;

/** Whether a watch may still lag. An end much further away was set before the clock was set back: it would not be reached for that long. */
const mayLag = (until: number, at: number): boolean => at < until && until - at <= 2 * LATE_MS;

/** The name may belong to another Service by now: the state of the former one is dropped, and what was reserved for it stays in `owned`. */
const asOf = (context: VipContext, service: VipService | null): VipContext => {
  const { ref, id, doomed, freeing } = context;
  if (service === null || service.ref.uid === ref.uid) return context;
  const { failure, attempts, resumeAt, late } = context;
  const fresh = vipContext({ id, ref: service.ref });
  // The Service known only by name is the one that has appeared.
  return ref.uid === ''
    ? { ...context, ref: service.ref }
    : {
        ...fresh,
        ...forgotten(context),
        ...(context.marked !== undefined && { marked: null }),
        freeing,
        doomed,
        failure,
        attempts,
        resumeAt,
        late: { ...NOTHING_LATE, freed: late.freed, freedUntil: late.freedUntil },
      };
};

/** Takes over the observed facts, except where our own writes are newer. */
export function observe(before: VipContext, event: ServiceObserved): VipContext {
  const { service, owned, target, refusal, usurps, at } = event;
  const context = asOf(before, service);
  const { late, doomed } = context;
  const stays = owned.filter(({ uid }) => !late.freed.includes(uid));
  const freed = mayLag(late.freedUntil, at) ? late.freed : late.freed.filter((uid) => owned.some((ip) => ip.uid === uid));
  const isLate = mayLag(late.until, at);
  const missed = isLate ? late.reserved.filter(({ uid }) => !stays.some((ip) => ip.uid === uid)) : [];
  const seen = service && isLate ? asWritten(service, context) : service;
  const hasCaughtUp = missed.length === 0 && seen === service;
  const all = [...stays, ...missed];
  return {
    ...context,
    ...contended(context, { ...event, service: seen, owned: all }),
    ...(service && isMarkedOver(context, service) && { marked: null }),
    ...((event.asks ?? context.asks) !== undefined && { asks: event.asks ?? '' }),
    service: seen,
    heard: true,
    owned: all,
    target,
    refusal,
    usurps,
    looks: service ? 0 : context.looks,
    doomed: doomed.filter((uid) => all.some((ip) => ip.uid === uid)),
    late: { ...(isLate && !hasCaughtUp ? late : NOTHING_LATE), freed, freedUntil: late.freedUntil },
  };
}

/** Another writer has changed our condition: it differs from before, and from what we wrote. */
const isMarkedOver = ({ marked, service }: VipContext, { contended: said }: VipService): boolean =>
  said !== undefined && said !== (marked ?? said) && said !== service?.contended;

/** Contention state of its ingress. A writer that lists another owner's address may not keep it, however often it is written. */
function contended(context: VipContext, { service, owned, target, usurps, foreign, asks = '', at }: ServiceObserved): Contended {
  const { heard, service: before, ref } = context;
  if (!service?.wanting || service.deleting || usurps) return settled(context);
  const text = textOf(service);
  const isServed = owned.some(({ address }) => address === text) || isListed({ service, target });
  if (isServed && !(context.contention && service.by !== undefined && isFought(context, at))) return settled(context);
  const isReserved = owned.some((ip) => isOwnedBy(ip, ref));
  const isChanged = heard ? isListed(context) && before !== null && textOf(before) !== text : isReserved && service.by !== undefined;
  const isMarked = !heard && service.contended !== undefined;
  return contendedAfter(context, { text, isChanged, isMarked, isReserved, isForeign: foreign === true, asks, by: service.by ?? null }, at);
}

/** The same after an overwrite, when another controller has overwritten that before the outcome arrived. */
function contendedStill(context: VipContext, service: VipService, at: number): Contended {
  const seen = { text: textOf(service), isChanged: false, isMarked: false, isReserved: true, isForeign: false };
  return context.ousted ? contendedAfter(context, { ...seen, asks: context.asks ?? '', by: service.by ?? null }, at) : {};
}

/** The Service as we left it, where a cache still shows the state before our write. */
function asWritten(service: VipService, { late, service: ours }: VipContext): VipService {
  const guarded = service.guarded || late.guarded;
  const isPublished = ours !== null && late.ingress !== null && textOf(service) === late.ingress;
  if (isPublished) return { ...unwritten(service), guarded, ingress: ours.ingress };
  return guarded === service.guarded ? service : { ...service, guarded };
}

/** The Service without the writer of its ingress. */
const unwritten = ({ by: _, ...service }: VipService): VipService => service;

/** A relevant change: worth an immediate retry. */
export const isNews = (context: VipContext, event: AnyVipEvent): boolean => {
  if (event.type !== 'SERVICE_OBSERVED') return false;
  const after = observe(context, event);
  return (
    after.target?.address !== context.target?.address ||
    isAlive(after) !== isAlive(context) ||
    after.ref.uid !== context.ref.uid ||
    isContended(after) !== isContended(context)
  );
};

// ---------------------------------------------------------------- outcomes of jobs

export const noteReserved = (context: VipContext, event: AnyVipEvent): VipContext => {
  if (event.type !== 'xstate.done.actor.reserve') return context;
  const { output: ip, at } = event;
  const { service, late } = context;
  const owned = [...context.owned.filter(({ name }) => name !== ip.name), ip];
  // It was reserved for a former Service of the name, and does not belong to this one.
  if (!isOwnedBy(ip, context.ref)) return succeeded({ ...context, owned });
  return succeeded({
    ...context,
    service: service && { ...service, guarded: true },
    owned,
    late: { ...late, until: at + LATE_MS, guarded: true, reserved: [...late.reserved, ip] },
  });
};

export const notePublished = (context: VipContext, event: AnyVipEvent): VipContext => {
  const { service, late, ref } = context;
  if (event.type !== 'xstate.done.actor.publish' || !service || event.output.uid !== ref.uid) return succeeded(context);
  const { address, seen, changed, repairs } = event.output;
  const repaired = changed && repairs ? { ...context, repairs: withRepair(context, event.at) } : context;
  // Another state was observed meanwhile: the one before the write, or an overwrite by another controller. The next try finds out.
  if (textOf(service) !== seen) return succeeded({ ...repaired, ...contendedStill(repaired, service, event.at) });
  return succeeded({
    ...repaired,
    ...settled(context),
    service: { ...unwritten(service), ingress: address === null ? [] : [{ ip: address }] },
    usurps: false,
    late: { ...late, until: event.at + LATE_MS, ingress: textOf(service) },
  });
};

export const noteMarked = (context: VipContext, event: AnyVipEvent): VipContext => {
  const { service, ref } = context;
  if (event.type !== 'xstate.done.actor.mark' || event.output.uid !== ref.uid) return succeeded(context);
  const { message, letsGo } = event.output;
  return succeeded({ ...context, marked: message ?? '', service: service && letsGo ? { ...service, guarded: false } : service });
};

/** Only IPs that the Service had. */
export const noteFreed = (context: VipContext, event: AnyVipEvent): VipContext => {
  if (event.type !== 'xstate.done.actor.free' && event.type !== 'xstate.done.actor.yield') return context;
  return succeeded(without(context, event.output.freed, event.at));
};

/** The Service wants an address again: it starts over. */
export const noteReleased = (context: VipContext, event: AnyVipEvent): VipContext => {
  if (event.type !== 'xstate.done.actor.release') return context;
  const { service } = context;
  return succeeded({
    ...without(context, event.output.freed, event.at),
    service: service && { ...service, guarded: false, ingress: [] },
  });
};

function without(context: VipContext, freed: readonly string[], at: number): VipContext {
  const { owned, late, doomed } = context;
  const isLeft = ({ uid }: { readonly uid: string }): boolean => !freed.includes(uid);
  return {
    ...context,
    owned: owned.filter(isLeft),
    doomed: doomed.filter((uid) => !freed.includes(uid)),
    late: { ...late, guarded: false, reserved: late.reserved.filter(isLeft), freed: [...late.freed, ...freed], freedUntil: at + LATE_MS },
  };
}

export const noteLooked = (context: VipContext, event: AnyVipEvent, { orphanDoubtMs }: VipSettings): VipContext => {
  const isMissed = event.type === 'xstate.done.actor.look' && !event.output.wanting;
  return { ...succeeded(context), looks: isMissed ? context.looks + 1 : 0, resumeAt: event.at + orphanDoubtMs };
};

export const noteFailure = (context: VipContext, event: AnyVipEvent, { backoff }: VipSettings): VipContext => {
  if (!('error' in event)) return context;
  const attempts = context.attempts + 1;
  return { ...context, failure: event.error, attempts, resumeAt: event.at + backoffMs(backoff, asRetried(event.error), attempts) };
};

/** Records the IPs that the job about to start deletes. */
export const noteFreeing =
  (asked: (context: VipContext) => readonly ReservedIP[]) =>
  (context: VipContext): VipContext => ({ ...context, freeing: asked(context).map(({ uid }) => uid) });

/** Deletion requests of the last job may still be under way, with no limit on when they arrive. */
export const noteDoubt = (context: VipContext, event: AnyVipEvent): VipContext =>
  'error' in event && !event.error.unknownOutcome ? context : { ...context, doomed: [...new Set([...context.doomed, ...context.freeing])] };

const succeeded = (context: VipContext): VipContext => ({ ...context, failure: null, attempts: 0, resumeAt: null });

/** Failures that a user has to fix are retried rarely; that another writer was faster, or that the Service is gone, shows in the next fact. */
const asRetried = (failure: JobFailure): JobFailure => (MENDS_ITSELF.has(failure.kind) ? { ...failure, kind: 'Unavailable' } : failure);
const MENDS_ITSELF: ReadonlySet<ErrorKind> = new Set(['Conflict', 'NotFound']);

// ---------------------------------------------------------------- how long it waits

interface Asked {
  readonly context: VipContext;
  readonly event: AnyVipEvent;
}

export const coolOffLeft =
  ({ backoff }: VipSettings) =>
  ({ context: { failure, attempts, resumeAt }, event }: Asked): number =>
    failure ? restMs(resumeAt, event.at, backoffMs(backoff, asRetried(failure), attempts)) : 0;

export const doubtLeft =
  ({ orphanDoubtMs }: VipSettings) =>
  ({ context, event }: Asked): number =>
    restMs(context.resumeAt, event.at, orphanDoubtMs);
