import { restMs } from '../../machines/model/backoff.ts';
import type { ObservedAddress } from '../../machines/model/types.ts';
import { Fenced, ProviderError } from '../ports/errors.ts';
import type { Json } from '../ports/records.ts';
import { isLimited, isNotFound } from './address-reader.ts';
import { ASSIGN_STEPS, again, done, type JobBody, type JobContext, type JobResult, pollStep, read, write } from './job.ts';
import { inTheWay, type Vacating, vacate } from './vacate.ts';

/** The progress of an assign. `sentAt` null while this job has sent nothing. */
interface Progress {
  readonly sentAt: number | null;
  readonly action: string | null;
  readonly polls: number;
  readonly startedAt: number;
  /** How much longer an earlier call may take effect, ms; null before the first look. Counted down, since the clock may be set. */
  readonly waitMs: number | null;
  /** A former run was cut off: its call may have got through. */
  readonly cutOff: boolean;
  /** When the provider was first seen to report its action as completed, ms since the epoch; null before that. */
  readonly completedAt: number | null;
  /** When the last look found it under way, and when the next one is due, ms since the epoch; absent before that. */
  readonly lookedAt?: number;
  readonly dueAt?: number;
  /** The address that is being taken off the node; absent for none. */
  readonly vacating?: Vacating | null;
  /** An address was taken off: no other one will be. Absent for no. */
  readonly vacated?: true;
}

/** While an earlier call may take effect, or others may still send one, the address is checked at least this often. */
const LONGEST_PAUSE_MS = 2000;
/** A look that is this much later than due has waited for something, ms. */
const LATE_MS = 500;

/** AssignRoutedIP, then FindRoutedIP until the provider shows the node as holder and the address unlocked. The address is the truth; an action is
 *  evidence only when it failed. Reads first when an earlier call may have got through. */
export const assign: JobBody<'assign'> = async (context) => {
  const { input, clock, settings } = context;
  const begun: Progress = { sentAt: null, action: null, polls: 0, startedAt: clock.now(), waitMs: null, cutOff: false, completedAt: null };
  const kept = readProgress(context.progress) ?? begun;
  const progress = { ...kept, cutOff: kept.cutOff || context.rerun };
  if (progress.vacating) return makeRoom(context, progress, progress.vacating);
  if (clock.now() - progress.startedAt > settings.assignTimeoutMs) {
    context.reader.forget(input.address);
    throw timedOut(context, progress);
  }
  if (progress.sentAt !== null) return confirm(context, progress);
  const looksFirst = context.careful || input.looksFirst || input.inDoubtUntil !== null || context.rerun || context.progress !== null;
  if (!looksFirst) return send(context, progress);
  return resume(context, progress).catch((error) => {
    if (isLimited(error)) return waitOut(error, progress);
    throw progress.cutOff ? inDoubt(error) : error;
  });
};

/** No request was possible: the wait does not count towards the time limit of the assign. */
const waitOut = ({ retryAfterMs }: ProviderError, progress: Progress): JobResult<'assign'> => {
  const wait = retryAfterMs ?? LONGEST_PAUSE_MS;
  return again(wait, asJson({ ...progress, startedAt: progress.startedAt + wait }));
};

/** A failure after a run that was cut off leaves the call of that run in doubt, unless the error is conclusive. */
const inDoubt = (error: unknown): unknown =>
  error instanceof ProviderError && !['NotFound', 'NodeInUse', 'Conflict'].includes(error.kind)
    ? new ProviderError(error.kind, error.message, { cause: error, retryAfterMs: error.retryAfterMs ?? undefined, unknownOutcome: true })
    : error;

/** Comes back when the action is likely to have ended. */
function lookLater({ clock, reader, settings }: JobContext<'assign'>, progress: Progress): JobResult<'assign'> {
  const { sentAt, polls } = progress;
  const learnt = sentAt === null || settings.assignSteps ? null : reader.times.nextLook(clock.now() - sentAt);
  const waitMs = learnt ?? pollStep(settings.assignSteps ?? ASSIGN_STEPS, polls);
  return again(waitMs, asJson({ ...progress, dueAt: clock.now() + waitMs }));
}

async function send(context: JobContext<'assign'>, progress: Progress): Promise<JobResult<'assign'>> {
  const { input, provider, clock } = context;
  let action: string | null;
  try {
    action = await provider.assignRoutedIP(input.address, input.node.providerID, write(context, 'failover'));
  } catch (error) {
    if (isNotFound(error)) throw await missing(context, error);
    const vacating = isInUse(error) && !progress.vacated ? await inTheWay(context).catch(() => null) : null;
    if (vacating === null) throw error;
    return again(0, asJson({ ...progress, vacating }));
  }
  const sent = { ...progress, sentAt: clock.now(), action };
  context.reader.watch(input.address);
  // Kept at once: after a crash the next run confirms instead of sending again. If this fails, `again` keeps it too, or the run counts as cut off.
  await context.keep(asJson(sent)).catch(() => undefined);
  return lookLater(context, sent);
}

const isInUse = (error: unknown): boolean => error instanceof ProviderError && error.kind === 'NodeInUse';

/** Nothing was sent for the address itself, which is checked once more when there is room. */
async function makeRoom(context: JobContext<'assign'>, progress: Progress, vacating: Vacating): Promise<JobResult<'assign'>> {
  try {
    const result = await vacate(context, vacating, (kept) => context.keep(asJson({ ...progress, vacating: kept })));
    return result.kind === 'done'
      ? again(0, asJson({ ...progress, vacating: null, vacated: true, startedAt: context.clock.now() }))
      : again(result.afterMs, asJson({ ...progress, vacating: { ...vacating, progress: result.progress } }));
  } catch (error) {
    if (isLimited(error)) return waitOut(error, { ...progress, vacating });
    throw error;
  }
}

/** The provider answers "not found" for the address or for the machine behind the node: one read shows which. */
async function missing(context: JobContext<'assign'>, cause: unknown): Promise<unknown> {
  const { input, provider } = context;
  try {
    await provider.findRoutedIP(input.address, read(context, 'failover'));
  } catch (error) {
    return error;
  }
  const message = `assign ${input.address} to ${input.node.name}: the provider does not know ${input.node.providerID}`;
  return new ProviderError('NodeInUse', message, { cause });
}

/** An earlier call may have taken effect, or may still: what the address says decides. */
async function resume(context: JobContext<'assign'>, progress: Progress): Promise<JobResult<'assign'>> {
  const { input, provider, clock, settings } = context;
  const observed = await provider.findRoutedIP(input.address, read(context, 'failover'));
  if (isThere(context, observed)) return confirmed(context);
  if (observed.locked) return again(pollStep(settings.pollSteps, progress.polls), asJson({ ...progress, polls: progress.polls + 1 }));
  if (observed.providerID !== null && observed.providerID !== input.holder) {
    const text = `assign ${input.address} to ${input.node.name}: it is on ${observed.providerID} by now`;
    // The call of a run that was cut off may still take it from there.
    throw new ProviderError('Conflict', text, { unknownOutcome: progress.cutOff });
  }
  const wait = progress.waitMs ?? restMs(input.inDoubtUntil, clock.now(), settings.callDeadlineMs);
  const pause = Math.min(Math.max(wait, context.unsettledMs), LONGEST_PAUSE_MS);
  if (pause > 0) return again(pause, asJson({ ...progress, startedAt: clock.now() + pause, waitMs: Math.max(0, wait - pause) }));
  return send(context, progress);
}

/** Checks whether the call has taken effect. A failed look says nothing about that: the next one may, and nothing else is sent meanwhile. */
async function confirm(context: JobContext<'assign'>, progress: Progress): Promise<JobResult<'assign'>> {
  try {
    return await look(context, progress);
  } catch (error) {
    const isTelling =
      error instanceof Fenced ||
      error instanceof ActionErrored ||
      error instanceof MovedOn ||
      (error instanceof ProviderError && error.kind === 'NotFound');
    if (isTelling) {
      context.reader.forget(context.input.address);
      throw error;
    }
    if (isLimited(error)) return waitOut(error, progress);
    const asked = error instanceof ProviderError ? (error.retryAfterMs ?? 0) : 0;
    const polls = progress.polls + 1;
    return again(Math.max(asked, pollStep(context.settings.pollSteps, polls)), asJson({ ...progress, polls }));
  }
}

class ActionErrored extends ProviderError {}
/** The action is completed, and what the provider shows has had time to catch up: the address was taken away before it was seen there. */
class MovedOn extends ProviderError {}

async function look(context: JobContext<'assign'>, progress: Progress): Promise<JobResult<'assign'>> {
  const { input, reader, clock, settings } = context;
  const { sentAt } = progress;
  const lookedAt = clock.now();
  const reading = await reader.read(input.address, sentAt ?? 0, read(context, 'confirm'));
  if (reading.kind === 'later') return again(reading.afterMs, asJson(progress));
  const { observed } = reading;
  if (isThere(context, observed)) {
    reader.forget(input.address);
    // A delayed look says nothing about how long the action took.
    const isLate = Math.abs(lookedAt - (progress.dueAt ?? 0)) > LATE_MS;
    if (sentAt !== null && !isLate) reader.times.note((progress.lookedAt ?? sentAt) - sentAt, lookedAt - sentAt);
    return confirmed(context);
  }
  const polls = progress.polls + 1;
  const completedAt = observed.locked ? null : await completionOf(context, progress, polls);
  if (completedAt !== null && context.clock.now() - completedAt > settings.callDeadlineMs) {
    const where = observed.providerID === null ? 'attached to nothing' : `on ${observed.providerID}`;
    throw new MovedOn('Conflict', `assign ${input.address} to ${input.node.name}: it was there, and is ${where} by now`);
  }
  return lookLater(context, { ...progress, polls, completedAt, lookedAt });
}

/** When the action was found to be completed; null while it is not known to be. @throws ActionErrored */
async function completionOf(context: JobContext<'assign'>, progress: Progress, polls: number): Promise<number | null> {
  const { input, provider, clock } = context;
  if (progress.completedAt !== null) return Math.min(progress.completedAt, clock.now());
  if (progress.action === null || !asksForAction(polls)) return null;
  const state = await provider.actionState(input.address, progress.action, read(context, 'confirm'));
  if (state === 'errored') {
    throw new ActionErrored(
      'Unavailable',
      `assign ${input.address} to ${input.node.name}: the provider's action ${progress.action} ended in an error`,
    );
  }
  return state === 'completed' ? clock.now() : null;
}

/** After 3, 6, 12, 24 … looks: at a provider that shows no locks, an address looks unlocked all the time while its action goes on. */
const asksForAction = (polls: number): boolean => Number.isInteger(Math.log2(polls / 3));

const confirmed = ({ input }: JobContext<'assign'>): JobResult<'assign'> => done({ providerID: input.node.providerID });

const isThere = ({ input }: JobContext<'assign'>, observed: ObservedAddress): boolean =>
  observed.providerID === input.node.providerID && !observed.locked;

/** An unsent call waited for another action on the address, which may be an earlier one of ours. */
const timedOut = ({ input, settings }: JobContext<'assign'>, progress: Progress): ProviderError =>
  new ProviderError(
    progress.sentAt === null ? 'InProgress' : 'Unavailable',
    `assign ${input.address} to ${input.node.name}: not confirmed within ${settings.assignTimeoutMs / 1000} s`,
    {
      unknownOutcome: progress.sentAt !== null,
    },
  );

const asJson = (progress: Progress): Json => ({ ...progress }) as unknown as Json;

function readProgress(progress: Json): Progress | null {
  return progress === null ? null : (progress as unknown as Progress);
}
