import type { JobName } from '../../machines/jobs.ts';
import type { ErrorKind, Finding, JobFailure } from '../../machines/model/types.ts';
import { ProviderError, Unreachable } from '../ports/errors.ts';
import type { JobDriver, JobRequest, JobState } from '../ports/job-driver.ts';
import type { Json } from '../ports/records.ts';
import { type Again, again, type JobContext } from './job.ts';

/** How a Job ended, as far as that can be known. */
export type Ended = Exclude<JobState, { readonly kind: 'running' | 'busy' }>;

export type Followed = { readonly kind: 'ended'; readonly ended: Ended } | Again;

/** The state of one Job that a job runs. */
interface Slot {
  readonly job: string | null;
  readonly ended: Ended | null;
  /** Since when another Job has been in the way, ms since the epoch. */
  readonly busySince: number | null;
  /** It may have been created, but no answer was received. */
  readonly unheard?: true;
}

/** The progress of a job that runs Jobs. The progress of a former command shows which Job to go on with. */
export interface JobProgress {
  readonly command: string;
  readonly slots: Readonly<Record<string, Slot>>;
  /** Waits that are over. */
  readonly waited: readonly string[];
  /** What it was last reported to wait for; null or absent for nothing. */
  readonly waits?: Finding | null;
}

/** How often a Job is checked, ms: the checks share one list. */
const LOOK_MS = 500;
/** How long another Job may be in the way before users are notified, ms: longer than Jobs may run unless their template allows it. */
const LONGEST_BUSY_MS = 420_000;

const NO_SLOT: Slot = { job: null, ended: null, busySince: null };

export const driverOf = ({ provider }: Pick<JobContext<JobName>, 'provider'>): JobDriver => {
  if (!provider.jobs) throw new ProviderError('Unsupported', `${provider.name} runs no Jobs`);
  return provider.jobs;
};

/** Actions that a new command requests again unchanged: the end of their Jobs may not have been received. What other Jobs did for a former command may be void by now, or
 *  may differ from what is requested now. */
const ASKED_AGAIN: ReadonlySet<string> = new Set<JobRequest['action']>(['assign', 'delete']);

/** What was kept by this command, or by the one that it replaces. */
export const progressOf = ({ progress, former, command }: Pick<JobContext<JobName>, 'progress' | 'former' | 'command'>): JobProgress => {
  const kept = ((progress ?? former) as unknown as JobProgress | null) ?? { command, slots: {}, waited: [] };
  if (kept.command === command) return kept;
  const askedAgain = Object.entries(kept.slots).filter(([slot]) => ASKED_AGAIN.has(slot));
  return { command, slots: Object.fromEntries(askedAgain), waited: [] };
};

export const asJson = (progress: JobProgress): Json => progress as unknown as Json;

/** Follows the Job of `request` to its end: creates it, or goes on with the one that `slot` names. Its end is kept before the Job is cleared, so that it is known whatever
 *  happens then. @throws ProviderError | Fenced | Unreachable */
export async function follow(context: JobContext<JobName>, request: JobRequest, slot: string): Promise<Followed> {
  const followed = await look(context, request, slot);
  if (followed.kind === 'ended') await tidy(context, followed.ended);
  return followed;
}

/** The same, but the Job stays: it is cleared once its result is known elsewhere. */
export async function look(context: JobContext<JobName>, request: JobRequest, slot: string): Promise<Followed> {
  const progress = progressOf(context);
  const before = progress.slots[slot] ?? NO_SLOT;
  const changed = (change: Partial<Slot>): JobProgress => ({
    ...progress,
    slots: { ...progress.slots, [slot]: { job: before.job, ended: null, busySince: null, ...change } },
  });
  const kept = (change: Partial<Slot>): Json => asJson(changed(change));
  if (before.ended) return { kind: 'ended', ended: before.ended };
  const state = await run(context, request, slot);
  switch (state.kind) {
    case 'running':
      if (state.job !== before.job) await context.keep(kept({ job: state.job }));
      return awaits(request, state, changed({ job: state.job }));
    case 'busy': {
      const busySince = before.busySince ?? context.clock.now();
      if (context.clock.now() - busySince > LONGEST_BUSY_MS) throw inTheWay(request, state.job);
      return awaits(request, state, changed({ ...before, busySince }));
    }
    case 'succeeded':
    case 'failed':
    case 'vanished':
      // Refused credentials may be attributed to former ones: then the job runs once more, with a Job of its own.
      await context.keep(isRefusal(state) ? kept({ job: null }) : kept({ job: state.job, ended: state }));
      return { kind: 'ended', ended: state };
  }
}

/** Keeps a note of an assign Job whose creation was not answered. @throws ProviderError | Fenced | Unreachable */
async function run(context: JobContext<JobName>, request: JobRequest, slot: string): Promise<JobState> {
  const { fence } = context;
  let isSent = false;
  const assertFresh = (): void => {
    fence.assertFresh();
    isSent = true;
  };
  try {
    return await driverOf(context).run(request, progressOf(context).slots[slot]?.job ?? null, { ...fence, assertFresh });
  } catch (error) {
    // If it cannot be kept, the next run of the job receives it, or counts as one after a run that was cut off.
    if (isSent && request.action === 'assign' && error instanceof Unreachable)
      await context.keep(only(context, slot, { unheard: true })).catch(() => undefined);
    throw error;
  }
}

/** What is kept once the Job of the slot exists, or may exist: earlier findings say nothing about what that Job does. */
export const only = (context: JobContext<JobName>, slot: string, change: Partial<Slot>): Json =>
  asJson({ ...progressOf(context), slots: { [slot]: { ...NO_SLOT, ...change } } });

/** The Job is checked again. Why it does not begin is reported when that has changed. */
export function awaits(
  { purpose, action }: JobRequest,
  state: Extract<JobState, { kind: 'running' | 'busy' }>,
  progress: JobProgress,
): Again {
  const job = state.kind === 'running' ? `Job ${state.job}` : state.job;
  const waits = state.waits
    ? { reason: state.waits.reason, message: `${purpose} (${action}): ${job} waits: ${state.waits.message}` }
    : null;
  const isNews = JSON.stringify(waits) !== JSON.stringify(progress.waits ?? null);
  return { ...again(LOOK_MS, asJson({ ...progress, waits })), ...(isNews && { waits }) };
}

const isRefusal = (state: Ended): boolean => state.kind === 'failed' && state.exitCode === EXITS.credentials;

/** Deletes the Job, unless another command has replaced this one and may still need it. Whatever is left behind is deleted before the next Job is created. @throws Fenced */
async function tidy(context: JobContext<JobName>, { kind, job }: Ended): Promise<void> {
  if (kind === 'vanished') return;
  await context.fence.read();
  await unhindered(driverOf(context).clear(job));
}

/** Cleanup may fail: it is retried, or its target goes by itself. */
export const unhindered = async (tidying: Promise<void>): Promise<void> => {
  try {
    await tidying;
  } catch (error) {
    if (!(error instanceof ProviderError || error instanceof Unreachable)) throw error;
  }
};

const inTheWay = (request: JobRequest, what: string): ProviderError =>
  new ProviderError('InProgress', `${request.purpose} (${request.action}) waits: ${what} about the same has not ended`, {
    conditionReason: reasonOf(request),
  });

// ---------------------------------------------------------------- what an end means

const EXITS = { invalid: 65, temporary: 75, credentials: 77 } as const;

const kindOf = (exitCode: number | null): ErrorKind => {
  if (exitCode === EXITS.invalid) return 'Invalid';
  return exitCode === EXITS.credentials ? 'Unauthorized' : 'Unavailable';
};

/** The template reports that it cannot do what was requested. */
export const isUnable = (ended: Ended): boolean => ended.kind === 'failed' && ended.exitCode === EXITS.invalid;

const reasonOf = ({ purpose }: Pick<JobRequest, 'purpose'>): JobFailure['reason'] =>
  purpose === 'updateRoutedIP' ? 'RoutedIPJobFailed' : 'FirewallJobFailed';

/** The failure of a Job that did not do what was requested. What it may have done before it was killed or deleted is unknown. */
export function failureOfJob(request: JobRequest, ended: Exclude<Ended, { readonly kind: 'succeeded' }>): ProviderError {
  const about = `${request.purpose} (${request.action})`;
  const conditionReason = reasonOf(request);
  if (ended.kind === 'vanished') {
    const text = `${about}: Job ${ended.job} was deleted before it ended`;
    return new ProviderError('Unavailable', text, { unknownOutcome: true, conditionReason });
  }
  const unknownOutcome = ended.exitCode === null && ended.ran;
  return new ProviderError(kindOf(ended.exitCode), `${about}: ${ended.text}`, { unknownOutcome, conditionReason });
}

/** The failure of a Job that reports success together with an invalid result. */
export const contradiction = (request: JobRequest, text: string): ProviderError =>
  new ProviderError('Unavailable', `${request.purpose} (${request.action}): the Job ended with exit code 0, but ${text}`, {
    unknownOutcome: true,
    conditionReason: reasonOf(request),
  });
