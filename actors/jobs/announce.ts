import { done, type JobBody } from './job.ts';

/** Reports something about an object in the log and in an Event, even when the object itself is gone. */
export const announce: JobBody<'announce'> = async ({ input, writer }) => {
  const { owner, reason, message } = input;
  await writer.announce(owner, { type: 'Warning', reason, action: 'Create', message });
  return done({});
};
