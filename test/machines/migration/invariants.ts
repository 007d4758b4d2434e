import type { VirtualIPContext } from '../../../machines/migration/decisions.ts';
import type { ClaimedService, ExposedService, ReleaseVirtualIPInput } from '../../../machines/migration/jobs.ts';
import { isMigrating, type Stage } from '../../../machines/migration/phase.ts';
import { virtualIPStatus } from '../../../machines/status/virtual-ip.ts';
import type { Edge } from '../explore.ts';

const contextOf = ({ snapshot }: Edge['before']): VirtualIPContext => snapshot.context as VirtualIPContext;
const jobsOf = ({ after }: Edge): readonly string[] => after.starts.map(({ job }) => job as string);
const stateOf = ({ snapshot }: Edge['before']): unknown => snapshot.value;

/** The job has found that the migration is under way: records that are older than the status do not know of it. */
const hasBegun = ({ output }: Edge['event']): boolean => (output as Partial<ExposedService> | undefined)?.begun === true;

/** What alone leads from one stage to the next. */
const STEPS: Readonly<Partial<Record<Stage, readonly [to: Stage, by: string]>>> = {
  preparing: ['reassociating', 'xstate.done.actor.claim'],
  reassociating: ['cleaningUp', 'xstate.done.actor.reassociate'],
  cleaningUp: ['converting', 'xstate.done.actor.handOver'],
  converting: ['assigning', 'xstate.done.actor.convert'],
  assigning: ['migrated', 'xstate.done.actor.remove'],
};

const MIGRATION_JOBS = ['claimService', 'reassociateIP', 'handOverIP', 'convertService', 'assignIngress', 'removeClone'];

/** What holds at every step of a VirtualIP's chart. */
export const VIRTUAL_IP_RULES: Readonly<Record<string, (edge: Edge) => boolean>> = {
  'one job at once: only after its outcome, or on a restart, is another one issued': ({ before, event, after }) =>
    after.starts.length <= 1 &&
    (after.starts.length === 0 || before.invoking.size === 0 || event.type === 'RESUME' || event.type.includes('.actor.')),

  'nothing but its outcome or a restart ends a job': ({ before, event, after }) =>
    [...before.invoking].every((id) => after.invoking.has(id) || event.type.endsWith(`.actor.${id}`)),

  'a restart does again what was being done, and nothing else': (edge) => {
    const { before, event, after } = edge;
    if (event.type !== 'RESUME') return true;
    return JSON.stringify(stateOf(before)) === JSON.stringify(stateOf(after)) && jobsOf(edge).length === before.invoking.size;
  },

  'the stages of a migration come in order, each by the job of the one before': ({ before, event, after }) => {
    const [from, to] = [contextOf(before).stage, contextOf(after).stage];
    if (contextOf(before).ref === null || from === to || (!isMigrating(to) && to !== 'migrated') || to === 'preparing') return true;
    const step = STEPS[from];
    return step !== undefined && step[0] === to && step[1] === event.type;
  },

  'a claimed migration is not turned back, whatever is told': ({ before, after }) => {
    const [from, to] = [contextOf(before).stage, contextOf(after).stage];
    const isClaimed = (isMigrating(from) && from !== 'preparing') || from === 'migrated';
    return !isClaimed || from === to || STEPS[from]?.[0] === to;
  },

  'an error is no step: the stage is tried again': ({ before, event, after }) => {
    if (!event.type.startsWith('xstate.error.')) return true;
    const [from, to] = [contextOf(before).stage, contextOf(after).stage];
    return from === to || (from === 'valid' && to === 'exposing');
  },

  'an error shows, and is followed by a wait or by the release': ({ before, event, after }) => {
    if (!event.type.startsWith('xstate.error.')) return true;
    const context = contextOf(after);
    if (context.deleting && !contextOf(before).releasing) return after.invoking.has('release');
    const { state, message } = virtualIPStatus(context);
    const isShown = message === context.failure?.message && state !== 'Valid';
    return stateOf(after) === 'CoolOff' && after.delays.length === 1 && isShown;
  },

  'only one that serves begins to be migrated, and only when that is asked for': ({ before, event, after }) => {
    const [{ stage: from, ref }, { stage: to, asked }] = [contextOf(before), contextOf(after)];
    return hasBegun(event) || from === to || to !== 'preparing' || ref === null || ((from === 'valid' || from === 'exposing') && asked);
  },

  'a migration begins for the Service that its user has named last': ({ before, event, after }) => {
    const [{ stage: from, ref }, { stage: to, service, wanted }] = [contextOf(before), contextOf(after)];
    return hasBegun(event) || from === to || to !== 'preparing' || ref === null || service === wanted.service;
  },

  'whoever takes the annotation off while nothing has begun is heard: the claim looks again, and lets go': ({ before, event, after }) => {
    const { stage, asked } = contextOf(before);
    const isTakenOff = event.type === 'VIRTUAL_IP_OBSERVED' && asked && (event.vip as { asked: boolean } | null)?.asked === false;
    if (stage !== 'preparing' || !isTakenOff || contextOf(after).deleting || before.done) return true;
    return after.invoking.size > 0;
  },

  'one that rests shows no error': ({ after }) => {
    const rests = stateOf(after) === 'Valid' || stateOf(after) === 'Migrated';
    return !rests || virtualIPStatus(contextOf(after)).state === stateOf(after);
  },

  'the copy is removed only after the ingress was assigned': (edge) =>
    !jobsOf(edge).includes('removeClone') ||
    edge.event.type === 'xstate.done.actor.assign' ||
    stateOf(edge.before) === 'Removing' ||
    contextOf(edge.after).stage === 'migrated',

  'one that is migrated rests without a copy': ({ after }) => stateOf(after) !== 'Migrated' || contextOf(after).around.clone === 'missing',

  'jobs of a migration are about the Service that was exposed, and its address': (edge) =>
    edge.after.starts
      .filter(({ job }) => MIGRATION_JOBS.includes(job))
      .every(({ input }) => {
        const { service, address } = input as { service: string; address: string };
        const context = contextOf(edge.after);
        return service === context.service && address === context.address && service !== '' && address !== '';
      }),

  'for one that is deleted nothing begins but its release': (edge) =>
    !contextOf(edge.after).deleting || edge.event.type === 'RESUME' || jobsOf(edge).every((job) => job === 'releaseVirtualIP'),

  'one that is deleted is released as soon as no other job runs': ({ after }) => {
    const { deleting, releasing } = contextOf(after);
    return !deleting || after.invoking.size > 0 || after.done || (releasing && stateOf(after) === 'CoolOff');
  },

  'one that is not deleted is never released': (edge) =>
    contextOf(edge.after).deleting || edge.before.invoking.has('release') || !jobsOf(edge).includes('releaseVirtualIP'),

  'a release knows whether the IP is held, and nothing of it once it was migrated': ({ after }) =>
    after.starts
      .filter(({ job }) => (job as string) === 'releaseVirtualIP')
      .every(({ input }) => {
        const { held, address } = input as unknown as ReleaseVirtualIPInput;
        const { stage } = contextOf(after);
        const isHandedOver = stage === 'converting' || stage === 'assigning' || stage === 'migrated';
        return held === !isHandedOver && (address === null) === (stage === 'migrated' || contextOf(after).address === '');
      }),

  'one that is blocked says why, and looks again': ({ event, after }) => {
    const { kind } = (event.output ?? {}) as Partial<ClaimedService>;
    const isBlocked = event.type === 'xstate.done.actor.claim' && (kind === 'loadBalancer' || kind === 'rival');
    if (!isBlocked || stateOf(after) !== 'Blocked') return true;
    const { state, message } = virtualIPStatus(contextOf(after));
    return state === 'Migrating: preparing for migration' && message !== 'VirtualIP is being migrated' && after.delays.length === 1;
  },

  'a copy that is not like its Service is mended while it serves': ({ after }) => {
    const { around } = contextOf(after);
    const rests = stateOf(after) === 'Valid' || stateOf(after) === 'Blocked';
    return !rests || around.clone === 'current';
  },
};

export const brokenByVirtualIP = (edge: Edge): readonly string[] =>
  Object.entries(VIRTUAL_IP_RULES).flatMap(([rule, holds]) => (holds(edge) ? [] : [rule]));
