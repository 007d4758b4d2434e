import type { AddressContext } from '../machines/ip-context.ts';
import type { PoolContext } from '../machines/pool.ts';
import { labelOf } from '../machines/provider-key.ts';
import type { ActorId } from '../machines/types.ts';
import type { FailoverFigures } from './ports/figures.ts';
import type { Observer, SavedTurn, Transition } from './ports/observers.ts';
import type { ActorRecord } from './ports.ts';
import { stateOf } from './view.ts';

interface Loss {
  /** Name of the node that was lost. */
  readonly node: string;
  /** ms since the epoch. */
  readonly at: number;
}

/** Tells of failovers once they are over. None is told when the node came back before, or when another process led meanwhile. A planned move is none:
 *  off a node that drains, which serves until the address has gone, or off one that an edit of the pool's selectors leaves out. */
export function failoverFigures(ended: (failover: FailoverFigures) => void): Observer {
  const losses = new Map<ActorId, Loss>();

  const note = (transition: Transition, { at, transitions }: SavedTurn): void => {
    const { actor, after } = transition;
    const now = after && contextOf(after);
    if (!now || now.retiring !== null) {
      losses.delete(actor);
      return;
    }
    const lost = nodeLost(transition);
    const pool = transitions.find((other) => other.actor === now.pool);
    if (lost !== null && !isPlanned(pool, lost)) losses.set(actor, { node: lost, at });
    const loss = losses.get(actor);
    if (!loss || !isServing(after)) return;
    losses.delete(actor);
    const isElsewhere = now.assigned !== null && now.assigned.name !== loss.node;
    if (isElsewhere) ended({ provider: labelOf(now.provider), tookMs: Math.max(0, at - loss.at) });
  };

  return {
    turnSaved: (turn) => {
      for (const transition of turn.transitions) if (transition.chart === 'ip') note(transition, turn);
    },
    reset: () => losses.clear(),
  };
}

/** The node on which the address served before this turn, when the turn heard that it may no longer; else null. */
function nodeLost({ events, before, after }: Transition): string | null {
  if (!before || !isServing(before) || !events.includes('NODE_OBSERVED')) return null;
  const { assigned } = contextOf(before);
  const staysThere = after && isServing(after) && contextOf(after).assigned?.name === assigned?.name;
  return staysThere ? null : (assigned?.name ?? null);
}

/** The pool took the node away although nothing was wrong with it. It says so in the turn in which it does so. */
function isPlanned(pool: Transition | undefined, node: string): boolean {
  if (!pool?.before || !pool.after) return false;
  const [before, after] = [pool.before, pool.after].map(({ snapshot }) => snapshot.context as unknown as PoolContext);
  const isEdit = before?.matchedBy !== null && before?.matchedBy !== after?.matchedBy;
  return isEdit || (after?.leaving.some(({ name }) => name === node) ?? false);
}

/** Active on a node that may hold it. */
function isServing(record: ActorRecord): boolean {
  const { assigned, elected, eligible } = contextOf(record);
  return stateOf(record.snapshot.value) === 'Stable' && assigned !== null && eligible && elected?.name === assigned.name;
}

const contextOf = ({ snapshot }: ActorRecord): AddressContext => snapshot.context as unknown as AddressContext;
