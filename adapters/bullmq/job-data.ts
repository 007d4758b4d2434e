import type { Job } from 'bullmq';
import type { Json } from '../../actors/ports.ts';

/** What BullMQ keeps of a job of ours; people read it in the job dashboard. */
export interface JobData {
  readonly input: Json;
  /** What the last run left. */
  readonly progress: Json;
  /** How often the job was started when it last asked to run again; a start beyond the next one means that a run died on the way. */
  readonly starts: number;
  /** How often it had stalled by then; absent for never. */
  readonly stalls?: number;
}

export type BullJob = Job<JobData, null>;

/** BullMQ takes an integer for an id of its own making, and a colon for its separator of keys. @throws Error */
export const assertJobId = (id: string): void => {
  if (id === '' || id.includes(':') || /^\d+$/.test(id))
    throw new Error(`job id ${JSON.stringify(id)} should be no integer and bear no colon`);
};
