import type { PoolEvent } from '../events.ts';
import type { Announced, Created, CreateFinding, CreateIntent, FoundNodes, Published } from '../jobs.ts';
import type { JobFailure } from '../model/types.ts';

/** Outcomes of the jobs that the chart invokes, as events. */
type PoolOutcome =
  | { readonly type: 'xstate.done.actor.intend'; readonly output: CreateIntent; readonly at: number }
  | { readonly type: 'xstate.done.actor.create'; readonly output: Created; readonly at: number }
  | { readonly type: 'xstate.done.actor.reconcile'; readonly output: CreateFinding; readonly at: number }
  | { readonly type: 'xstate.done.actor.publish'; readonly output: Published; readonly at: number }
  | { readonly type: 'xstate.done.actor.announce'; readonly output: Announced; readonly at: number }
  | { readonly type: 'xstate.done.actor.findNodes'; readonly output: FoundNodes; readonly at: number }
  | {
      readonly type: `xstate.error.actor.${'intend' | 'create' | 'reconcile' | 'publish' | 'announce' | 'findNodes'}`;
      readonly error: JobFailure;
      readonly at: number;
    };

/** Every event that a pool may receive. */
export type AnyPoolEvent = PoolEvent | PoolOutcome;
