import type { JobName, JobOutput, VipJobName } from '../../machines/jobs.ts';
import type { MigratedInput, MigrationJobName } from '../../machines/migration/jobs.ts';
import { isOvertaken, stateOfJob } from '../../machines/migration/phase.ts';
import { MIGRATING_MESSAGE } from '../../machines/status/virtual-ip.ts';
import { Overtaken, Unreachable } from '../ports/errors.ts';
import type { Fence } from '../ports/fence.ts';
import type { LegacyKinds, MigrationWriter } from '../ports/migration.ts';
import type { VipWriter } from '../ports/vip.ts';
import { migrationJobBodies, virtualIPOf } from './migration.ts';
import type { MigrationJobBodies } from './migration-job.ts';
import { vipJobBodies } from './vip.ts';

/** The means of the jobs of the queue `vip`: the cluster alone. */
export interface VipMeans {
  readonly vips: VipWriter;
  /** Absent where VirtualIPs are not handled. */
  readonly virtualIPs?: LegacyKinds;
}

interface Asked {
  readonly input: never;
  readonly fence: Fence;
}

type Done = { readonly kind: 'done'; readonly output: JobOutput<JobName> };

/** One try of a job about a Service or a VirtualIP. Throws as their bodies do. */
export async function runVipJob(job: JobName, { input, fence }: Asked, { vips, virtualIPs }: VipMeans): Promise<Done> {
  if (!isMigrationJob(job)) {
    const answer = await vipJobBodies[job as VipJobName]({ input, fence, vips, ...(virtualIPs && { virtualIPs }) });
    if (answer.kind !== 'done') throw new Error(`${job} ends in one try: its body is wrong`);
    return answer;
  }
  if (virtualIPs === undefined) throw new Unreachable(`${job}: VirtualIPs are not handled by this process`);
  return runMigrationJob(job, { input, fence, writer: virtualIPs.writer });
}

/** Whether a job about a Service or a VirtualIP has this name. */
export const isVipJob = (job: string): boolean => Object.hasOwn(vipJobBodies, job) || Object.hasOwn(migrationJobBodies, job);

const isMigrationJob = (job: JobName): job is MigrationJobName => Object.hasOwn(migrationJobBodies, job);

/** How often in a row a job may conflict with another writer: status changes and user changes are written at the same time. */
const CONFLICTS = 5;

interface Asking {
  readonly input: never;
  readonly writer: MigrationWriter;
  readonly fence: Fence;
}

/** After a conflict everything is checked again from the beginning: a later step may be wrong by now that was right when the first one was done, such as removing a copy
 *  whose Service has lost its address since. A step that is already done detects that, and writes nothing. */
async function runMigrationJob(job: MigrationJobName, asked: Asking): Promise<Done> {
  for (let conflicts = 0; ; conflicts += 1) {
    try {
      await showStage(job, asked);
      return await (migrationJobBodies as Bodies)[job](asked);
    } catch (error) {
      if (!(error instanceof Overtaken) || conflicts >= CONFLICTS) throw error;
    }
  }
}

type Bodies = { readonly [N in keyof MigrationJobBodies]: (asked: Asking) => Promise<Done> };

/** Writes the stage to the status before anything of it is done: users see each stage, in order, and a process that remembers nothing finds it. It also writes what is
 *  migrated, which the projection of the VirtualIP may not show yet: otherwise such a process would go on with what was served before. */
async function showStage(job: MigrationJobName, { input, writer, fence }: Asking): Promise<void> {
  const state = stateOfJob(job);
  if (state === null) return;
  const { vip, service, address: ip } = input as MigratedInput;
  const live = await virtualIPOf(writer, vip);
  if (isOvertaken(state, live)) return;
  const { status, asked } = live;
  const isNew = status.state !== state;
  if (!isNew && status.service === service && status.ip === ip) return;
  // A VirtualIP whose migration was cancelled before anything was done is not shown as migrating.
  if (job === 'claimService' && !asked) return;
  await writer.report(live, { service, ip, ...(isNew && { state, message: MIGRATING_MESSAGE }) }, fence);
}
