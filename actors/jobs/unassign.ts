import type { ObservedAddress } from '../../machines/model/types.ts';
import { Fenced, ProviderError } from '../ports/errors.ts';
import type { Json } from '../ports/records.ts';
import { again, done, type JobBody, type JobContext, type JobResult, pollStep, read, write } from './job.ts';

interface Progress {
  readonly sent: boolean;
  readonly polls: number;
  readonly startedAt: number;
  /** A former run was cut off: its call may have got through. */
  readonly rerun: boolean;
}

/** UnassignRoutedIP, unless the address was moved elsewhere; then FindRoutedIP until the provider shows it on no node and unlocked. */
export const unassign: JobBody<'unassign'> = (context) => takeOff(context);

/** The same for callers that have more to do just before the call is sent. */
export async function takeOff(context: JobContext<'unassign'>, beforeSend?: () => Promise<void>): Promise<JobResult<'unassign'>> {
  const { input, provider, clock, settings } = context;
  const kept = (context.progress as unknown as Progress | null) ?? { sent: false, polls: 0, startedAt: clock.now(), rerun: false };
  const { sent, polls, startedAt } = kept;
  const rerun = kept.rerun || context.rerun;
  if (clock.now() - startedAt > settings.assignTimeoutMs) {
    const message = `unassign ${input.address}: not confirmed within ${settings.assignTimeoutMs / 1000} s`;
    throw new ProviderError('Unavailable', message, { unknownOutcome: true });
  }
  const later = (progress: Progress) => again(pollStep(settings.pollSteps, progress.polls), progress as unknown as Json);
  const observed = await look(context, sent);
  if (observed && !observed.locked && observed.providerID !== input.holder)
    return done({ providerID: observed.providerID, ...(rerun && { rerun }) });
  if (!observed || observed.locked || sent) return later({ sent, polls: polls + 1, startedAt, rerun });
  await beforeSend?.();
  await provider.unassignRoutedIP(input.address, write(context, 'failover'));
  const after = { sent: true, polls: 0, startedAt, rerun };
  await context.keep(after as unknown as Json).catch(() => undefined);
  return later(after);
}

/** Null when nothing could be read: after the call was sent, that says nothing about its outcome, which the next look may show. */
async function look(context: JobContext<'unassign'>, sent: boolean): Promise<ObservedAddress | null> {
  const { input, provider } = context;
  try {
    return await provider.findRoutedIP(input.address, read(context, sent ? 'confirm' : 'failover'));
  } catch (error) {
    if (!sent || error instanceof Fenced || (error instanceof ProviderError && error.kind === 'NotFound')) throw error;
    return null;
  }
}
