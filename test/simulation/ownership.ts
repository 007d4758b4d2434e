/** Somebody who wants addresses, or a name, as he stands in the cluster. */
export interface Claim<Key extends string> {
  readonly uid: string;
  /** When its object was made; of several that were made at once that with the first uid counts as the oldest. */
  readonly createdAt: number;
  /** What it claims. */
  readonly keys: readonly Key[];
}

const byAge = <C extends Pick<Claim<string>, 'uid' | 'createdAt'>>(a: C, b: C): number =>
  a.createdAt - b.createdAt || (a.uid < b.uid ? -1 : 1);

/** Who has what once all has come to rest: of those that claim it the oldest. Answers the uid of the owner of each key. */
export function ownersOf<Key extends string>(claims: readonly Claim<Key>[]): ReadonlyMap<Key, string> {
  const owners = new Map<Key, string>();
  for (const { uid, keys } of [...claims].sort(byAge)) for (const key of keys) if (!owners.has(key)) owners.set(key, uid);
  return owners;
}
