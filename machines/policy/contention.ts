import { restMs } from '../model/backoff.ts';
import { asRecord, milliseconds, number, refuse, text } from '../model/parse.ts';

/** An address that another controller moves repeatedly: `spec.contention`. */

export interface ContentionRules {
  /** After this many foreign moves within the window the address is no longer fought for. */
  readonly moves: number;
  readonly windowMs: number;
  /** Yield: it stays where the other controller put it, and is retried after a window without moves. Reclaim: it is taken back once in each window. */
  readonly takeover: 'Yield' | 'Reclaim';
}

/** The rules for giving up a contended address; null for never. @throws InvalidSpec */
export function contentionRules(raw: unknown): ContentionRules | null {
  if (raw === undefined || raw === null) return null;
  const rules = asRecord(raw, 'spec.contention');
  const moves = number(rules.moves, 'spec.contention.moves', Number.isSafeInteger);
  const windowMs = milliseconds(rules.windowSeconds, 'spec.contention.windowSeconds');
  if (moves < 1 || windowMs === 0) refuse('contention needs moves of at least 1 and windowSeconds above 0');
  const takeover = text(rules.takeover, 'spec.contention.takeover') || 'Yield';
  return takeover === 'Yield' || takeover === 'Reclaim'
    ? { moves, windowMs, takeover }
    : refuse('spec.contention.takeover must be Yield or Reclaim');
}

/** History of foreign moves of one of our addresses. */
export interface Contest {
  /** When moves were detected, within the window, oldest first and no more than the rule needs; ms since the epoch. */
  readonly moves: readonly number[];
  /** Since when it is not fought for, or when it was last taken back nevertheless, ms since the epoch; null while it is fought for. */
  readonly restsSince: number | null;
}

export const NO_CONTEST: Contest = { moves: [], restsSince: null };

/** The contest of an address that was left to another controller until `until`: the number of moves is not remembered. */
export const restedUntil = (until: number | undefined, rules: ContentionRules | null): Contest =>
  until === undefined || !rules ? NO_CONTEST : { moves: [], restsSince: until - rules.windowMs };

/** After the clock was set back, times in the future count as now. */
export const rebasedContest = ({ moves, restsSince }: Contest, at: number): Contest => ({
  moves: moves.map((move) => Math.min(move, at)),
  restsSince: restsSince === null ? null : Math.min(restsSince, at),
});

/** Another controller moved the address. The move that reaches the limit starts a rest; with Yield, a further one restarts it. A rest that has been over for a full quiet
 *  window leaves no trace. */
export function moved(contest: Contest, rules: ContentionRules | null, at: number): Contest {
  if (!rules) return NO_CONTEST;
  const former = rebasedContest(contest, at);
  const recent = former.moves.filter((move) => move > at - rules.windowMs);
  const isOver = former.restsSince !== null && recent.length === 0 && former.restsSince + rules.windowMs <= at;
  const moves = [...recent, at].slice(-rules.moves);
  if (former.restsSince !== null && !isOver) return { moves, restsSince: rules.takeover === 'Yield' ? at : former.restsSince };
  return { moves, restsSince: moves.length >= rules.moves ? at : null };
}

/** The address is assigned again after its rest: with Yield the history starts over; otherwise the next time is a window later at the earliest. */
export function triedAgain(contest: Contest, rules: ContentionRules | null, at: number): Contest {
  if (contest.restsSince === null) return contest;
  return rules?.takeover === 'Reclaim' ? { ...contest, restsSince: at } : NO_CONTEST;
}

/** The other controller put the address on a node that may have it: there is nothing to fight for, but the moves still count. */
export const adopted = (contest: Contest): Contest => (contest.restsSince === null ? contest : { ...contest, restsSince: null });

/** Until when the address is not assigned, ms since the epoch; null when it may be assigned now. */
export function restsUntil({ restsSince }: Contest, rules: ContentionRules | null, at: number): number | null {
  if (!rules || restsSince === null) return null;
  const rest = restMs(restsSince + rules.windowMs, at, rules.windowMs);
  return rest > 0 ? at + rest : null;
}
