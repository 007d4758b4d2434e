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
    if (lost !== null && !isPlannedMove(pool, lost)) losses.set(actor, { node: lost, at });
    const loss = losses.get(actor);
    // Somebody wanted it on no node meanwhile: what comes then is no failover.
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

/** Tells of each address that somebody has moved at its provider. */
export const driftFigures = (drifted: (provider: string) => void): Observer => ({
  turnSaved: ({ transitions }) => {
    for (const { chart, before, after } of transitions) {
      if (chart !== 'ip' || !before || !after) continue;
      const now = contextOf(after);
      if (isDrift(contextOf(before), now)) drifted(labelOf(now.provider));
    }
  },
});
