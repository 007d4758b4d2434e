import type { Decision } from '../events.ts';
import { type BackoffTables, backoffMs } from '../model/backoff.ts';
import type { ActorId, JobFailure, ObjectRef } from '../model/types.ts';
import { cloneName, type Surroundings, type VirtualIP } from '../vip/virtualip.ts';
import type * as jobs from './jobs.ts';
import { isMigrating, type Stage, stageOf } from './phase.ts';

/** Why a migration does not start. */
export type Blocked = { readonly kind: 'loadBalancer' } | { readonly kind: 'rival'; readonly name: string };

export interface VirtualIPContext {
  readonly id: ActorId;
  /** Null before the object was observed. */
  readonly ref: ObjectRef | null;
  /** `spec.service` and `spec.ip`. */
  readonly wanted: { readonly service: string; readonly ip: string };
  readonly asked: boolean;
  /** Being deleted, or gone. */
  readonly deleting: boolean;
  readonly stage: Stage;
  /** Empty before one is reserved. */
  readonly address: string;
  /** The exposed Service: the one that is migrated, whatever the spec names by then. Empty before the first. */
  readonly service: string;
  readonly clone: string;
  readonly gsm: string;
  readonly keepalivedGroup: string;
  readonly around: Surroundings;
  readonly blocked: Blocked | null;
  readonly failure: JobFailure | null;
  /** Consecutive failures of the stage. */
  readonly attempts: number;
  /** What it leaves behind is being removed. */
  readonly releasing: boolean;
}

export interface VirtualIPInput {
  readonly id: ActorId;
}

/** The current VirtualIP and the cluster state relevant to it; null when it is gone. */
export interface VirtualIPObserved {
  readonly type: 'VIRTUAL_IP_OBSERVED';
  readonly vip: VirtualIP | null;
  readonly around: Surroundings;
  readonly at: number;
}

type Done<I extends string, N extends jobs.MigrationJobName> = {
  readonly type: `xstate.done.actor.${I}`;
  readonly output: jobs.MigrationJobOutput<N>;
  readonly at: number;
};

export type AnyVirtualIPEvent =
  | VirtualIPObserved
  | { readonly type: 'RESUME'; readonly at: number }
  | Done<'reserve', 'reserveVirtualIP'>
  | Done<'expose', 'exposeService'>
  | Done<'claim', 'claimService'>
  | Done<'reassociate' | 'handOver' | 'convert' | 'assign' | 'remove' | 'release', Exclude<jobs.MigrationJobName, 'claimService'>>
  | {
      readonly type: `xstate.error.actor.${'reserve' | 'expose' | 'claim' | 'reassociate' | 'handOver' | 'convert' | 'assign' | 'remove' | 'release'}`;
      readonly error: JobFailure;
      readonly at: number;
    };

/** Settings of the operator. */
export interface VirtualIPSettings {
  readonly backoff: BackoffTables;
}

/** Interval between checks whether a blocked migration may continue, ms: the resync period of the allocator that created VirtualIPs. */
export const RECHECK_MS = 60_000;

export const NOTHING_AROUND: Surroundings = { service: null, clone: 'missing', owner: null, group: null, rival: null };

export const virtualIPContext = ({ id }: VirtualIPInput): VirtualIPContext => ({
  id,
  ref: null,
  wanted: { service: '', ip: '' },
  asked: false,
  deleting: false,
  stage: 'reserving',
  address: '',
  service: '',
  clone: '',
  gsm: '',
  keepalivedGroup: '',
  around: NOTHING_AROUND,
  blocked: null,
  failure: null,
  attempts: 0,
  releasing: false,
});

type Next = Decision<VirtualIPContext>;
const next = (context: VirtualIPContext): Next => ({ context, effects: [] });

// ---------------------------------------------------------------- claims about the VirtualIP

/** It was gone before it was ever observed. */
export const isUnknown = ({ ref }: VirtualIPContext, event: AnyVirtualIPEvent): boolean =>
  ref === null && event.type === 'VIRTUAL_IP_OBSERVED' && event.vip === null;

export const isDeleting = ({ deleting }: VirtualIPContext): boolean => deleting;

/** It is being deleted, and the removal of what it leaves has not started. */
export const mustRelease = ({ deleting, releasing }: VirtualIPContext): boolean => deleting && !releasing;

export const isIn =
  (...stages: readonly Stage[]) =>
  ({ stage }: VirtualIPContext): boolean =>
    stages.includes(stage);

/** A user requested its migration. */
export const isAsked = ({ asked }: VirtualIPContext): boolean => asked;

/** The spec names a Service other than the exposed one. */
export const exposesOther = ({ wanted, service }: VirtualIPContext): boolean => wanted.service !== service;

/** The copy differs from the Service, or is missing. */
export const isDrifted = ({ around }: VirtualIPContext): boolean => around.clone !== 'current';

/** For a migrated VirtualIP: a request that created the copy took effect after the copy had been removed. */
export const hasCopy = ({ around }: VirtualIPContext): boolean => around.clone !== 'missing';

/** The observation contains a change that may matter for what failed or is blocked. */
export const seesChange = (context: VirtualIPContext, event: AnyVirtualIPEvent): boolean =>
  event.type === 'VIRTUAL_IP_OBSERVED' && relevant(noted(context, event)) !== relevant(context);

/** The observation contains nothing new. */
export const isKnown = (context: VirtualIPContext, event: VirtualIPObserved): boolean =>
  context.ref !== null && JSON.stringify(noted(context, event)) === JSON.stringify(context);

const relevant = ({ wanted, asked, deleting, around, failure }: VirtualIPContext): string =>
  JSON.stringify([wanted.service, wanted.ip, asked, deleting, around, failure]);

const claimOf = (event: AnyVirtualIPEvent): jobs.ClaimedService | null =>
  event.type === 'xstate.done.actor.claim' ? (event.output as jobs.ClaimedService) : null;

export const isClaimed = (_: VirtualIPContext, event: AnyVirtualIPEvent): boolean => claimOf(event)?.kind === 'claimed';
export const isWithdrawn = (_: VirtualIPContext, event: AnyVirtualIPEvent): boolean => claimOf(event)?.kind === 'withdrawn';

// ---------------------------------------------------------------- decisions

/** The first observation: the stage follows from its status and from the cluster. */
export function begin(context: VirtualIPContext, event: AnyVirtualIPEvent): Next {
  if (event.type !== 'VIRTUAL_IP_OBSERVED') return next(context);
  const { vip, around } = event;
  if (vip === null) return next(context);
  const { status } = vip;
  const begun: VirtualIPContext = {
    ...context,
    ref: vip.ref,
    stage: stageOf(vip, around),
    address: status.ip,
    service: status.service,
    clone: status.clonedService || cloneName(vip.ref),
    gsm: status.gsm,
    keepalivedGroup: status.keepalivedGroup,
  };
  return next(noted(begun, event));
}

/** Takes over the observation. Only jobs move the stage: they read from the API server. */
export const note = (context: VirtualIPContext, event: AnyVirtualIPEvent): Next =>
  next(event.type === 'VIRTUAL_IP_OBSERVED' ? noted(context, event) : context);

function noted(context: VirtualIPContext, { vip, around }: VirtualIPObserved): VirtualIPContext {
  // Another VirtualIP of that name is handled once everything of this one is removed.
  if (vip === null || vip.ref.uid !== context.ref?.uid) return { ...context, deleting: true };
  return {
    ...context,
    wanted: { service: vip.service, ip: vip.ip },
    asked: vip.asked,
    deleting: vip.deleting,
    releasing: context.releasing && vip.deleting,
    around,
    // It exists after all.
    failure: context.failure?.objectNotFound ? null : context.failure,
  };
}

/** Moves to a stage: earlier failures and blocks no longer count. */
const at = (context: VirtualIPContext, stage: Stage): VirtualIPContext => ({
  ...context,
  stage,
  blocked: null,
  failure: null,
  attempts: 0,
});

export function noteReserved(context: VirtualIPContext, event: AnyVirtualIPEvent): Next {
  if (event.type !== 'xstate.done.actor.reserve') return next(context);
  const { address, gsm, keepalivedGroup } = event.output;
  return next({ ...at(context, 'exposing'), address, gsm, keepalivedGroup });
}

export const expose = (context: VirtualIPContext): Next => next(at(context, 'exposing'));

/** The copy exists and matches the Service: a later observation may show an older state. */
export function noteExposed(context: VirtualIPContext, event: AnyVirtualIPEvent): Next {
  if (event.type !== 'xstate.done.actor.expose') return next(context);
  const { service, clone, begun } = event.output;
  // If the migration has begun, the claim decides how it continues, whatever the spec names now.
  const stage = begun ? 'preparing' : context.stage === 'exposing' ? 'valid' : context.stage;
  return next({ ...context, stage, service, clone, around: { ...context.around, clone: 'current' }, failure: null, attempts: 0 });
}

/** It is at rest: nothing is retried. */
export const rest = (context: VirtualIPContext): Next => next({ ...context, failure: null, attempts: 0 });

export const prepare = (context: VirtualIPContext): Next => next(at(context, 'preparing'));
/** Nothing has started, and the annotation is removed: an observation of that may come later than the claim's. */
export const withdraw = (context: VirtualIPContext): Next => next({ ...at(context, 'valid'), asked: false });

/** The number of failures is kept: being blocked is not progress. */
export function block(context: VirtualIPContext, event: AnyVirtualIPEvent): Next {
  const claim = claimOf(event);
  const isBlocked = claim?.kind === 'loadBalancer' || claim?.kind === 'rival';
  return next({ ...context, blocked: isBlocked ? claim : null, failure: null });
}

export const reassociate = (context: VirtualIPContext): Next => next(at(context, 'reassociating'));
export const cleanUp = (context: VirtualIPContext): Next => next(at(context, 'cleaningUp'));
export const convert = (context: VirtualIPContext): Next => next(at(context, 'converting'));
export const assign = (context: VirtualIPContext): Next => next(at(context, 'assigning'));

/** Only here does a VirtualIP become migrated. The copy is gone: a later observation may show an older state. */
export const finish = (context: VirtualIPContext): Next => {
  const around: Surroundings = { ...context.around, clone: 'missing' };
  return next({ ...at(context, 'migrated'), gsm: '', keepalivedGroup: '', clone: '', around });
};

/** Starts, or retries, to remove what it leaves behind. */
export const beginRelease = (context: VirtualIPContext): Next =>
  next({ ...context, releasing: true, failure: null, attempts: context.releasing ? context.attempts : 0 });

/** A job failed. The stage stays and is retried; but a Service whose copy cannot be kept in sync does not count as exposed. */
export function fail(context: VirtualIPContext, event: AnyVirtualIPEvent): Next {
  if (!('error' in event)) return next(context);
  const stage = context.stage === 'valid' && event.type === 'xstate.error.actor.expose' ? 'exposing' : context.stage;
  return next({ ...context, stage, blocked: null, failure: event.error, attempts: context.attempts + 1 });
}

/** Time until the next try, ms. */
export const coolOffMs =
  ({ backoff }: VirtualIPSettings) =>
  ({ failure, attempts }: VirtualIPContext): number =>
    failure ? backoffMs(backoff, failure, attempts) : 0;

// ---------------------------------------------------------------- inputs of jobs

/** Jobs are requested only once the object was observed. */
const refOf = ({ id, ref }: VirtualIPContext): ObjectRef => {
  const [, namespace = '', name = ''] = id.split('/');
  return ref ?? { kind: 'VirtualIP', namespace, name, uid: '' };
};

export const reserveInput = (context: VirtualIPContext): jobs.ReserveVirtualIPInput => ({
  vip: refOf(context),
  requested: context.wanted.ip,
});

/** During its migration the exposed Service counts, whatever the spec names. */
export const exposeInput = (context: VirtualIPContext): jobs.ExposeServiceInput => ({
  vip: refOf(context),
  service: isMigrating(context.stage) ? context.service : context.wanted.service,
  address: context.address,
  clone: context.clone || cloneName(refOf(context)),
});

export const migratedInput = (context: VirtualIPContext): jobs.MigratedInput => ({
  vip: refOf(context),
  service: context.service,
  address: context.address,
});

export const assignInput = (context: VirtualIPContext): jobs.AssignIngressInput => ({
  ...migratedInput(context),
  pinned: context.wanted.ip !== '',
});

export const removeInput = (context: VirtualIPContext): jobs.RemoveCloneInput => ({
  ...migratedInput(context),
  clone: context.clone || cloneName(refOf(context)),
});

/** Stages in which the VirtualIP no longer holds the IP. */
const HANDED_OVER: ReadonlySet<Stage> = new Set(['converting', 'assigning', 'migrated']);

export const releaseInput = (context: VirtualIPContext): jobs.ReleaseVirtualIPInput => ({
  vip: refOf(context),
  service: context.service,
  clone: context.clone || cloneName(refOf(context)),
  address: context.stage === 'migrated' || context.address === '' ? null : context.address,
  held: !HANDED_OVER.has(context.stage),
});
