import type { JobInput } from '../../machines/jobs.ts';
import { restMs } from '../../machines/model/backoff.ts';
import { ProviderError } from '../ports/errors.ts';
import type { Purpose } from '../ports/provider.ts';
import { again, done, type JobBody, pollStep, read } from './job.ts';

interface Progress {
  /** When the first look was made, or will be made. */
  readonly startedAt: number;
  readonly polls: number;
}

/** FindRoutedIP once the answer can be trusted: not before `notBefore`, nor before what others may still send is settled, and not while the address is locked. */
export const find: JobBody<'find'> = async (context) => {
  const { input, progress, provider, reader, clock, settings } = context;
  const now = clock.now();
  const wait = progress === null ? Math.max(restMs(input.notBefore, now, settings.callDeadlineMs), context.unsettledMs) : 0;
  const { startedAt, polls } = (progress as unknown as Progress | null) ?? { startedAt: now + wait, polls: 0 };
  if (wait > 0) return again(wait, { startedAt, polls });
  const reading =
    polls === 0
      ? ({ kind: 'observed', observed: await provider.findRoutedIP(input.address, read(context, purposeOf(input))) } as const)
      : await reader.read(input.address, now, read(context, 'confirm'));
  if (reading.kind === 'later') return again(reading.afterMs, { startedAt, polls });
  const { observed } = reading;
  if (!observed.locked) {
    reader.forget(input.address);
    return done(observed);
  }
  if (now - startedAt > settings.findTimeoutMs) {
    reader.forget(input.address);
    throw new ProviderError('InProgress', `find ${input.address}: still locked by another action after ${settings.findTimeoutMs / 1000} s`);
  }
  return again(pollStep(settings.pollSteps, polls), { startedAt, polls: polls + 1 });
};

/** A pool that lists addresses by the thousand must not delay the moves of others: an address that was never seen on a node serves no traffic yet. */
const purposeOf = ({ holder, notBefore }: JobInput<'find'>): Purpose => (holder === null && notBefore === null ? 'verify' : 'failover');
