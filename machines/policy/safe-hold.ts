import type { Absence } from './recovery-grace.ts';

/** Many nodes that stop matching at once: `spec.safeHold`. */

export interface SafeHoldRules {
  /** So many nodes may be absent; one more, and nothing is moved. */
  readonly maxUnavailable: number;
  /** Only nodes that stopped matching within this time are counted, ms. */
  readonly windowMs: number;
}

/** The node is absent, and counts for a hold that may begin. */
export const counts = ({ since }: Absence, rules: SafeHoldRules | null, at: number): boolean =>
  rules !== null && at - since < rules.windowMs;

/** Whether nothing is to be moved because of these absences. A hold begins when more nodes than allowed went within the window; it is over when no more
 *  than that are still absent, however long ago they went. A machine that the provider knows to be gone is no absence. */
export function holds(absent: readonly Absence[], wasHeld: boolean, rules: SafeHoldRules | null, at: number): boolean {
  if (!rules) return false;
  const counted = wasHeld ? absent : absent.filter((absence) => counts(absence, rules, at));
  return counted.length > rules.maxUnavailable;
}

/** While a pool holds the provider is asked again, in case a machine is gone by now: seldom, since many may be asked for. */
const ASKED_AGAIN_MS: readonly number[] = [60_000, 300_000, 600_000];
export const LONGEST_ASKED_AGAIN_MS = 600_000;

/** After how long the provider is asked again that was asked so often, ms. */
export const askedAgainMs = (asks: number): number => ASKED_AGAIN_MS[Math.max(0, asks - 1)] ?? LONGEST_ASKED_AGAIN_MS;
