import { hostname } from 'node:os';
import type { PoolProjection } from '../actors/ports/cluster.ts';
import type { Observer } from '../actors/ports/observers.ts';
import type { Queues } from '../actors/ports/queues.ts';
import type { Clock } from '../actors/ports/records.ts';
import { moveSteps } from '../actors/status/move-log.ts';

export interface Traces {
  readonly observers: readonly Observer[];
  queues(queues: Queues): Queues;
  readonly shown?: (projection: PoolProjection) => void;
  close(): Promise<void>;
}

const NONE: Traces = { observers: [], queues: (queues) => queues, close: async () => undefined };

/** Traces of failovers, if there is a collector for them. The libraries are loaded only then. */
export async function traces(isWanted: boolean, context: { readonly version: string; readonly clock: Clock }): Promise<Traces> {
  if (!isWanted) return NONE;
  const { tracing } = await import('../adapters/telemetry/traces.ts');
  const { step, reset, ...told } = tracing({ ...context, instance: hostname() });
  const steps = moveSteps(step);
  const observer: Observer = {
    turnSaved: (turn) => steps.turnSaved(turn),
    reset: () => {
      steps.reset?.();
      reset();
    },
  };
  return { observers: [observer], ...told };
}
