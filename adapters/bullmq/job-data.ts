import type { Job } from 'bullmq';
import type { Json } from '../../actors/ports/records.ts';
import { isFields } from '../../machines/model/types.ts';

/** What BullMQ keeps of a job of ours; people read it in the job dashboard. */
export interface JobData {
  readonly input: Json;
  /** What the last run left. */
  readonly progress: Json;
  /** How often the job was started when it last asked to run again; a start beyond the next one means that a run died on the way. */
  readonly starts: number;
  /** How often it had stalled by then; absent for never. */
  readonly stalls?: number;
  /** How many calls the last run could make before it had to wait for the request budget; absent for none. */
  readonly calls?: number;
}

export type BullJob = Job<JobData, null>;

/** Whoever may write to Redis may put another one there. @throws Error for one that this operator has not added */
export const assertOwn = ({ data, timestamp }: BullJob): void => {
  if (!isFields(data) || data.input === undefined || typeof data.starts !== 'number' || !Number.isFinite(timestamp))
    throw new Error('it is none of this operator');
};

/** BullMQ takes an integer for an id of its own making, and a colon for its separator of keys. @throws Error */
export const assertJobId = (id: string): void => {
  if (id === '' || id.includes(':') || /^\d+$/.test(id))
    throw new Error(`job id ${JSON.stringify(id)} should be no integer and bear no colon`);
};
