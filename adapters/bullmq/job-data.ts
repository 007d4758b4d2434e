import type { Job } from 'bullmq';
import type { Json } from '../../actors/ports/records.ts';
import { isFields } from '../../machines/model/types.ts';

/** The data of our jobs in BullMQ; visible in the job dashboard. */
export interface JobData {
  readonly input: Json;
  /** The progress left by the last run. */
  readonly progress: Json;
  /** Number of starts when the job last asked to run again; more than one further start means that a run died. */
  readonly starts: number;
  /** Number of stalls at that time; absent for none. */
  readonly stalls?: number;
  /** Number of calls the last run made before it had to wait for the request budget; absent for none. */
  readonly calls?: number;
}

export type BullJob = Job<JobData, null>;

/** Any client with write access to Redis may add jobs. @throws Error for a job that this operator did not add */
export const assertOwn = ({ data, timestamp }: BullJob): void => {
  if (!isFields(data) || data.input === undefined || typeof data.starts !== 'number' || !Number.isFinite(timestamp))
    throw new Error('it is none of this operator');
};

/** BullMQ treats an integer as a generated id, and a colon as its key separator. @throws Error */
export const assertJobId = (id: string): void => {
  if (id === '' || id.includes(':') || /^\d+$/.test(id))
    throw new Error(`job id ${JSON.stringify(id)} should be no integer and bear no colon`);
};
