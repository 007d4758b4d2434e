import { CLONE_FINALIZER, IP_FINALIZER, type Surroundings, type VirtualIP } from '../vip/virtualip.ts';
import type { MigrationJobName } from './jobs.ts';

/** How far a VirtualIP has come. What is wrong with it is not said here, so that no error can be mistaken for a step. */
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

/** `status.state` as the allocator said it that VirtualIPs come from: scripts wait for these. */
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

/** What `status.state` is to say before the job does anything; null for a job that is of no migration. */
export const stateOfJob = (job: MigrationJobName): string | null => {
  const stage = STAGE_OF_JOB[job];
  return stage === undefined ? null : STATES[stage];
};

/** `state` is of a stage that comes before what the VirtualIP shows: whoever has it goes by an old look, and is not to say so. Only from the first stage of a migration it
 *  goes back to serving. */
export const isOvertaken = (state: string, shown: VirtualIP): boolean => {
  if (state === STATES.migrated || isOver(shown)) return state !== STATES.migrated;
  const order = MIGRATING.map((stage) => STATES[stage]);
  const isShown = order.indexOf(shown.status.state);
  return isShown > 0 && order.indexOf(state) < isShown;
};

/** A migration is under way. */
export const isMigrating = (stage: Stage): boolean => MIGRATING.includes(stage);

/** The stage of a VirtualIP that nothing is remembered of: what its status says, but where that may be wrong what the cluster shows. An error of the
 *  allocator before this one hid the stage, and had the next look take the migration for done: what is still held has not been migrated. */
export function stageOf(vip: VirtualIP, around: Surroundings): Stage {
  const { status, asked } = vip;
  if (status.ip === '') return 'reserving';
  const migrating = MIGRATING.find((stage) => STATES[stage] === status.state);
  // Also of one that is not asked for any more: the Service may bear its claim, which goes where it is looked for.
  if (migrating !== undefined) return migrating;
  return status.state === STATES.migrated || asked ? stageOfAsked(vip, around) : stageOfServing(vip);
}

/** Of one whose status does not say how far the migration has come, or may say it wrongly. Every stage may be done again. */
function stageOfAsked(vip: VirtualIP, { owner }: Surroundings): Stage {
  const isMigrated = vip.status.state === STATES.migrated;
  if (isOver(vip)) return 'migrated';
  if (owner === 'Service') return 'reassociating';
  // One in error is not migrated before it serves.
  return isMigrated && vip.asked ? 'preparing' : stageOfServing(vip);
}

function stageOfServing({ status, finalizers }: VirtualIP): Stage {
  if (!finalizers.includes(IP_FINALIZER)) return 'reserving';
  return status.state === STATES.valid && finalizers.includes(CLONE_FINALIZER) ? 'valid' : 'exposing';
}

/** Nothing of it is left to be done: its address is the Service's, and none of its concern. */
export const isOver = (vip: VirtualIP): boolean => vip.status.state === STATES.migrated && !holdsAnything(vip);

const holdsAnything = ({ finalizers }: VirtualIP): boolean => finalizers.includes(IP_FINALIZER) || finalizers.includes(CLONE_FINALIZER);
