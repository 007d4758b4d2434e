import type { Absence } from './recovery-grace.ts';

/** Many nodes that stop matching at once: `spec.safeHold`. */

export interface SafeHoldRules {
  /** How many nodes may be absent; with one more, nothing is moved. */
  readonly maxUnavailable: number;
  /** Only nodes that stopped matching within this time are counted, ms. */
  readonly windowMs: number;
}

/** The node is absent, and counts for the start of a hold. */
export const counts = ({ since }: Absence, rules: SafeHoldRules | null, at: number): boolean =>
  rules !== null && at - since < rules.windowMs;

/** Whether these absences stop all moves. A hold starts when more nodes than allowed went away within the window; it ends when no more than that are still absent, however long
 *  ago they went. A machine known to be gone at the provider does not count as absent. */
export function holds(absent: readonly Absence[], wasHeld: boolean, rules: SafeHoldRules | null, at: number): boolean {
  if (!rules) return false;
  const counted = wasHeld ? absent : absent.filter((absence) => counts(absence, rules, at));
  return counted.length > rules.maxUnavailable;
}

/** While a pool holds, machines are looked up again in case they are gone by now: rarely, because there may be many. */
const ASKED_AGAIN_MS: readonly number[] = [60_000, 300_000, 600_000];
export const LONGEST_ASKED_AGAIN_MS = 600_000;

/** The wait before the next look-up, after `asks` look-ups, ms. */
export const askedAgainMs = (asks: number): number => ASKED_AGAIN_MS[Math.max(0, asks - 1)] ?? LONGEST_ASKED_AGAIN_MS;
