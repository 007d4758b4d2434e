import type { Observer, Transition } from '../../actors/ports/observers.ts';
import type { AssignmentEnd } from './pool-metrics.ts';
import { Counter, Histogram, type Registry } from './prom-client.ts';

interface TurnMetricsOptions {
  readonly registry: Registry;
  /** Wall clock, ms since the epoch. */
  readonly now: () => number;
  /** Called when the assignment of a pool's address ended. */
  readonly assignmentEnded: (end: AssignmentEnd) => void;
}

/** Counts saved turns and the assignments that ended in them, and how long a turn took from its event to the end of its write. */
export function turnMetrics({ registry, now, assignmentEnded }: TurnMetricsOptions): Observer {
  const registers = [registry];
  const turns = new Counter({ name: 'routedip_turns_total', help: 'Turns that were saved.', registers });
  const duration = new Histogram({
    name: 'routedip_turn_duration_seconds',
    help: 'From the time of the event to the end of the write.',
    buckets: [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers,
  });
  const setAside = new Counter({
    name: 'routedip_events_set_aside_total',
    help: 'Events that were not applied since their handling threw: defects.',
    registers,
  });

  return {
    eventSetAside: () => setAside.inc(),
    turnSaved: ({ at, transitions }) => {
      turns.inc();
      duration.observe(Math.max(0, now() - at) / 1000);
      for (const end of transitions.map(assignmentEnd)) if (end) assignmentEnded(end);
    },
  };
}

const ADDRESS_OF_POOL = /^pool\/([^/]+)\/([^/]+)\/ip\/(.+)$/;

/** How the assignment of a pool's address ended in this turn; null when none did. */
function assignmentEnd({ actor, events }: Transition): AssignmentEnd | null {
  const [, namespace, name, ip] = ADDRESS_OF_POOL.exec(actor) ?? [];
  if (!namespace || !name || !ip) return null;
  if (events.includes('xstate.done.actor.assign')) return { namespace, name, ip, outcome: 'success' };
  return events.includes('xstate.error.actor.assign') ? { namespace, name, ip, outcome: 'error' } : null;
}
