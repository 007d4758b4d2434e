import { labelOf } from '../../machines/model/provider-key.ts';
import type { ActorId } from '../../machines/model/types.ts';
import type { FailoverFigures } from '../ports/figures.ts';
import type { Observer, SavedTurn, Transition } from '../ports/observers.ts';
import { contextOf, isDrift, isPlannedMove, isServing, nodeLost } from './losses.ts';

interface Loss {
  /** Name of the node that was lost. */
  readonly node: string;
  /** ms since the epoch. */
  readonly at: number;
}

/** Reports failovers once they have ended. None is reported when the node came back first, or when another process led meanwhile. A planned move is no failover: off a node
 *  that drains, which serves until the address has gone, or off one that an edit of the pool's selectors leaves out. */
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
    if (lost !== null && !isPlannedMove(pool, lost)) losses.set(actor, { node: lost, at });
    const loss = losses.get(actor);
    // A user had it taken off all nodes meanwhile: what follows is no failover.
    if (now.parked) losses.delete(actor);
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

/** Reports each address that was moved externally at its provider. */
export const driftFigures = (drifted: (provider: string) => void): Observer => ({
  turnSaved: ({ transitions }) => {
    for (const { chart, before, after } of transitions) {
      if (chart !== 'ip' || !before || !after) continue;
      const now = contextOf(after);
      if (isDrift(contextOf(before), now)) drifted(labelOf(now.provider));
    }
  },
});
