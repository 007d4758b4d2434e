import { restMs } from '../model/backoff.ts';
import { asRecord, milliseconds, number, refuse, text } from '../model/parse.ts';

/** An address that somebody else moves again and again: `spec.contention`. */

export interface ContentionRules {
  /** After so many moves by somebody else within the window the address is not fought for any more. */
  readonly moves: number;
  readonly windowMs: number;
  /** Yield: it stays where the other put it, and is tried again after a window in which nobody moved it. Reclaim: it is taken back once in each window. */
  readonly takeover: 'Yield' | 'Reclaim';
}

/** When an address is not fought for any more; null for never. @throws InvalidSpec */
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

/** What somebody else did with an address of ours. */
export interface Contest {
  /** When it was found to have been moved, within the window, oldest first and no more than the rule asks for; ms since the epoch. */
  readonly moves: readonly number[];
  /** Since when it is not fought for, or when it was last taken back all the same, ms since the epoch; null while it is fought for. */
  readonly restsSince: number | null;
}

export const NO_CONTEST: Contest = { moves: [], restsSince: null };

/** Of an address that was left to somebody else until then, as far as that is remembered: how often it was moved is not. */
export const restedUntil = (until: number | undefined, rules: ContentionRules | null): Contest =>
  until === undefined || !rules ? NO_CONTEST : { moves: [], restsSince: until - rules.windowMs };

/** After the clock was set back what lies ahead counts as of now. */
export const rebasedContest = ({ moves, restsSince }: Contest, at: number): Contest => ({
  moves: moves.map((move) => Math.min(move, at)),
  restsSince: restsSince === null ? null : Math.min(restsSince, at),
});

/** Somebody else moved the address. The move that is one too many begins a rest; a further one begins it anew when we yield. A rest that was over for a whole
 *  quiet window leaves nothing behind. */
export function moved(contest: Contest, rules: ContentionRules | null, at: number): Contest {
  if (!rules) return NO_CONTEST;
  const former = rebasedContest(contest, at);
  const recent = former.moves.filter((move) => move > at - rules.windowMs);
  const isOver = former.restsSince !== null && recent.length === 0 && former.restsSince + rules.windowMs <= at;
  const moves = [...recent, at].slice(-rules.moves);
  if (former.restsSince !== null && !isOver) return { moves, restsSince: rules.takeover === 'Yield' ? at : former.restsSince };
  return { moves, restsSince: moves.length >= rules.moves ? at : null };
}

/** The address is assigned once more, after its rest: afresh when we yielded; else the next time comes a window later at the soonest. */
export function triedAgain(contest: Contest, rules: ContentionRules | null, at: number): Contest {
  if (contest.restsSince === null) return contest;
  return rules?.takeover === 'Reclaim' ? { ...contest, restsSince: at } : NO_CONTEST;
}

/** The other put the address on a node that may have it: there is nothing to fight for, but what happened counts. */
export const adopted = (contest: Contest): Contest => (contest.restsSince === null ? contest : { ...contest, restsSince: null });

/** Until when the address is not assigned, ms since the epoch; null when it may be now. */
export function restsUntil({ restsSince }: Contest, rules: ContentionRules | null, at: number): number | null {
  if (!rules || restsSince === null) return null;
  const rest = restMs(restsSince + rules.windowMs, at, rules.windowMs);
  return rest > 0 ? at + rest : null;
}
