import { fromPromise, type PromiseActorLogic } from 'xstate';
import type { JobInput, JobName, JobOutput } from './jobs.ts';

/** The name of a durable job as XState knows actors. Its body is in actors/jobs/ and never runs inside XState: the runtime turns the
 *  `invoke` that names it into a job, and the job's outcome into the event that XState would have raised. */
export const durable = <N extends JobName>(name: N): PromiseActorLogic<JobOutput<N>, JobInput<N>> =>
  fromPromise<JobOutput<N>, JobInput<N>>(() => Promise.reject(new Error(`${name} is a durable job: the runtime runs it, XState must not`)));
