import { CLONE_FINALIZER, IP_FINALIZER, type Surroundings, type VirtualIP } from '../vip/virtualip.ts';
import type { MigrationJobName } from './jobs.ts';

/** Progress of a VirtualIP. Errors are kept elsewhere, so that none can be mistaken for a step. */
export type Stage =
  | 'reserving'
  | 'exposing'
  | 'valid'
  | 'preparing'
  | 'reassociating'
  | 'cleaningUp'
  | 'converting'
  | 'assigning'
  | 'migrated';

/** `status.state` in the words of the allocator that created VirtualIPs: scripts wait for these. */
export const STATES: Readonly<Record<Stage, string>> = {
  reserving: 'Creating IP object',
  exposing: 'Exposing service',
  valid: 'Valid',
  preparing: 'Migrating: preparing for migration',
  reassociating: 'Migrating: reassociating IP object',
  cleaningUp: 'Migrating: cleaning up',
  converting: 'Migrating: converting service',
  assigning: 'Migrating: assigning original IP',
  migrated: 'Migrated',
};

const MIGRATING: readonly Stage[] = ['preparing', 'reassociating', 'cleaningUp', 'converting', 'assigning'];

/** The stage in which each job of a migration runs. */
const STAGE_OF_JOB: Readonly<Partial<Record<MigrationJobName, Stage>>> = {
  claimService: 'preparing',
  reassociateIP: 'reassociating',
  handOverIP: 'cleaningUp',
  convertService: 'converting',
  assignIngress: 'assigning',
  removeClone: 'assigning',
};

/** The `status.state` to show before the job does anything; null for a job outside a migration. */
export const stateOfJob = (job: MigrationJobName): string | null => {
  const stage = STAGE_OF_JOB[job];
  return stage === undefined ? null : STATES[stage];
};

/** `state` belongs to a stage before the one that the VirtualIP shows: it comes from an outdated observation and must not be written. Only the first stage of a migration may
 *  go back to serving. */
export const isOvertaken = (state: string, shown: VirtualIP): boolean => {
  if (state === STATES.migrated || isOver(shown)) return state !== STATES.migrated;
  const order = MIGRATING.map((stage) => STATES[stage]);
  const isShown = order.indexOf(shown.status.state);
  return isShown > 0 && order.indexOf(state) < isShown;
};

/** A migration is under way. */
export const isMigrating = (stage: Stage): boolean => MIGRATING.includes(stage);

/** The stage of a VirtualIP without a record: from its status, or from the cluster where the status may be wrong. In the previous allocator an error hid the stage, and the
 *  next observation took the migration as done: what is still held has not been migrated. */
export function stageOf(vip: VirtualIP, around: Surroundings): Stage {
  const { status, asked } = vip;
  if (status.ip === '') return 'reserving';
  const migrating = MIGRATING.find((stage) => STATES[stage] === status.state);
  // Also when the migration is no longer requested: the Service may have its claim, which is removed in that stage.
  if (migrating !== undefined) return migrating;
  return status.state === STATES.migrated || asked ? stageOfAsked(vip, around) : stageOfServing(vip);
}

/** For a status that does not show how far the migration has come, or may show it wrongly. Every stage may be repeated. */
function stageOfAsked(vip: VirtualIP, { owner }: Surroundings): Stage {
  const isMigrated = vip.status.state === STATES.migrated;
  if (isOver(vip)) return 'migrated';
  if (owner === 'Service') return 'reassociating';
  // A VirtualIP in error is not migrated before it serves.
  return isMigrated && vip.asked ? 'preparing' : stageOfServing(vip);
}

function stageOfServing({ status, finalizers }: VirtualIP): Stage {
  if (!finalizers.includes(IP_FINALIZER)) return 'reserving';
  return status.state === STATES.valid && finalizers.includes(CLONE_FINALIZER) ? 'valid' : 'exposing';
}

/** Nothing is left to do for it: its address belongs to the Service. */
export const isOver = (vip: VirtualIP): boolean => vip.status.state === STATES.migrated && !holdsAnything(vip);

const holdsAnything = ({ finalizers }: VirtualIP): boolean => finalizers.includes(IP_FINALIZER) || finalizers.includes(CLONE_FINALIZER);
