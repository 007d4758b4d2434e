/** Who asks for something that only one may have, and what he has of it. */
export interface Asking<Id> {
  readonly id: Id;
  /** ms since the epoch; of two of the same age the lower tie comes first. */
  readonly createdAt: number;
  readonly tie?: string;
  /** He was given it, and has not let it go since. */
  readonly has: boolean;
  /** His spec is valid, and he is not being deleted. */
  readonly mayGain?: boolean;
}

/** The rule as a person would say it: whoever has it keeps it, of several the oldest; of those who have nothing the oldest that may gain it; null for nobody. */
export function ownerOf<Id>(asking: readonly Asking<Id>[]): Id | null {
  const oldestFirst = [...asking].sort((a, b) => a.createdAt - b.createdAt || ((a.tie ?? '') < (b.tie ?? '') ? -1 : 1));
  const owner = oldestFirst.find(({ has }) => has) ?? oldestFirst.find(({ mayGain = true }) => mayGain);
  return owner?.id ?? null;
}
