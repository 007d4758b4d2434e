import { shortList } from '../model/several.ts';
import type { Address, Finding, Kept } from '../model/types.ts';
import type { PoolContext } from './context.ts';
import { asBegun, asksForAddress, hasRoom, isUnderWay, spare } from './creation.ts';
import { isFromGroup } from './ip-group-offer.ts';

/** What a namespace keeps at providers: every existing address that was created for an object of it, even if that object is gone; and one place for each address that is about
 *  to be created. */

/** How many addresses a namespace may keep, of one class or issuer or in total. */
export interface Limit {
  readonly most: number;
  /** Null for the total. */
  readonly source: string | null;
  /** Its name as shown to users. */
  readonly name: string;
}

/** `holds`: an address is being created, or its creation may begin at any moment. `asks`: it would be created if there were room. */
export type Standing = 'holds' | 'asks' | 'none';

/** An object of the namespace, according to its records. */
export interface Keeper extends Omit<Kept, 'address' | 'since'> {
  /** Creation of the object, ms since the epoch: the oldest is served first. */
  readonly since: number;
  readonly standing: Standing;
  readonly made: readonly Kept[];
  /** Empty for none: it needs no permission. */
  readonly limits: readonly Limit[];
  /** Whether it can reuse an existing address, called while it is unknown whether one is retained for it; null when that is known, or nothing is requested. */
  readonly canReuse: ((address: Address) => boolean) | null;
}

/** Facts about the entries of the ledger. */
export interface Evidence {
  /** The address no longer exists at its provider. */
  readonly isGone: (kept: Kept) => boolean;
  /** Addresses created since the ledger was written. */
  readonly made: readonly Kept[];
  /** Objects that are gone and have left no unknown address. */
  readonly ended: ReadonlySet<string>;
  /** Existing objects have or request it. */
  readonly isNamed: (address: Address) => boolean;
  /** ms since the epoch. */
  readonly now: number;
}

export interface Settled {
  readonly kept: readonly Kept[];
  /** Uids of the objects for which a place was taken. */
  readonly granted: ReadonlySet<string>;
  /** By uid, why there is none. */
  readonly refused: ReadonlyMap<string, Finding>;
  /** By uid, for those that can reuse, the retained address; null for none. */
  readonly retained: ReadonlyMap<string, Address | null>;
}

/** An address that is not known yet may have been created, or is about to be. */
const isMaking = ({ acquiring }: PoolContext): boolean =>
  acquiring.givenBack === undefined && acquiring.unpublished === null && isUnderWay(acquiring);

/** An address of an IPGroup does not belong to a provider: nothing is created for it. */
export function standingOf(context: PoolContext): Standing {
  if (isFromGroup(asBegun(context))) return 'none';
  if (isMaking(context) || context.room?.isGranted) return 'holds';
  return asksForAddress(context) && spare(context) === null && !isUnderWay(context.acquiring) ? 'asks' : 'none';
}

/** The granted place is the one in which an address is being created. */
export const hasBegun = (context: PoolContext): boolean => isMaking(context);

/** It was granted a place that it no longer needs. */
export const isIdle = (context: PoolContext): boolean => hasRoom(context) && !isMaking(context) && !asksForAddress(context);

/** Updates the ledger of a namespace and grants places to objects that ask, the oldest first, as long as all their limits have room. A creation under way already has its
 *  place, whatever the current limit. */
export function settle(namespace: string, before: readonly Kept[], keepers: readonly Keeper[], evidence: Evidence): Settled {
  const addresses = addressesIn(before, keepers, evidence);
  const known = new Map(keepers.map((keeper) => [keeper.uid, keeper]));
  const isOver = ({ uid }: Kept): boolean => evidence.ended.has(uid) || (known.has(uid) && known.get(uid)?.standing !== 'holds');
  const places = before.filter((kept) => kept.address === null && !isOver(kept));
  const placed = new Set(places.map(({ uid }) => uid));
  for (const keeper of keepers)
    if (keeper.standing === 'holds' && keeper.limits.length > 0 && !placed.has(keeper.uid)) places.push(placeOf(keeper, evidence));
  const kept = [...addresses, ...places];
  const retained = new Map(keepers.flatMap((keeper) => (keeper.canReuse ? [[keeper.uid, retainedFor(keeper, addresses, evidence)]] : [])));
  const granted = new Set<string>();
  const refused = new Map<string, Finding>();
  // Each exhausted limit is computed and phrased only once, for any number of objects that ask.
  const full = new Map<string, Finding>();
  const asking = keepers.filter(({ uid, standing, limits }) => standing === 'asks' && limits.length > 0 && !retained.get(uid));
  for (const keeper of asking.sort(byAge)) {
    for (const limit of keeper.limits)
      if (!full.has(limit.name) && countOf(kept, limit) >= limit.most)
        full.set(limit.name, refusal(namespace, kept, limit, keepers, evidence));
    const why = keeper.limits.flatMap(({ name }) => full.get(name) ?? [])[0];
    if (why) refused.set(keeper.uid, why);
    else {
      granted.add(keeper.uid);
      kept.push(placeOf(keeper, evidence));
    }
  }
  return { kept: kept.sort(inOrder), granted, refused, retained };
}

/** The latest unused address created for a former object of that name, by the same class or issuer and in the same account. */
function retainedFor(
  { owner, uid, source, provider, canReuse }: Keeper,
  addresses: readonly Kept[],
  { isNamed }: Evidence,
): Address | null {
  const all = addresses.filter((kept) => kept.owner === owner && kept.uid !== uid && kept.source === source && kept.provider === provider);
  const free = all.filter((kept) => kept.address !== null && !isNamed(kept.address) && canReuse?.(kept.address));
  return free.sort((a, b) => b.since - a.since)[0]?.address ?? null;
}

/** All created addresses that still exist. */
function addressesIn(before: readonly Kept[], keepers: readonly Keeper[], evidence: Evidence): readonly Kept[] {
  // An address counts for the class for which its place was taken, whatever class its object has once it exists.
  const taken = new Map(before.flatMap((kept) => (kept.address === null ? [[kept.uid, kept.source]] : [])));
  const news = [...keepers.flatMap(({ made }) => made), ...evidence.made];
  const made = new Map(news.map((each) => [each.address, { ...each, source: taken.get(each.uid) ?? each.source }]));
  for (const kept of before) if (kept.address !== null) made.set(kept.address, kept);
  return [...made.values()].filter((kept) => !evidence.isGone(kept));
}

const byAge = (a: Keeper, b: Keeper): number => a.since - b.since || (a.uid < b.uid ? -1 : 1);

const placeOf = ({ owner, uid, source, provider }: Keeper, { now }: Evidence): Kept => ({
  address: null,
  owner,
  uid,
  source,
  provider,
  since: now,
});

const orderOf = ({ address, owner, uid }: Kept): string => `${address ?? '~'} ${owner} ${uid}`;
const inOrder = (a: Kept, b: Kept): number => (orderOf(a) < orderOf(b) ? -1 : 1);

const ofLimit = (kept: readonly Kept[], { source }: Limit): readonly Kept[] =>
  source === null ? kept : kept.filter((each) => each.source === source);

const countOf = (kept: readonly Kept[], limit: Limit): number => ofLimit(kept, limit).length;

function refusal(namespace: string, all: readonly Kept[], limit: Limit, keepers: readonly Keeper[], { isNamed }: Evidence): Finding {
  const kept = ofLimit(all, limit);
  const living = new Set(keepers.map(({ uid }) => uid));
  const addresses = kept.flatMap(({ address, uid }) => (address !== null ? [{ address, uid }] : []));
  const retained = addresses.filter(({ address, uid }) => !living.has(uid) && !isNamed(address)).map(({ address }) => address);
  const places = kept.length - addresses.length;
  const made = `${addresses.length} ${addresses.length === 1 ? 'address' : 'addresses'}`;
  const making = places > 0 ? `, and ${places} more ${places === 1 ? 'is' : 'are'} being made or may have been` : '';
  const free = retained.length > 0 ? `Retained and used by nobody: ${shortList(retained)}: name one of them, or have it deleted. ` : '';
  return {
    reason: 'AddressLimitReached',
    message: `namespace ${namespace} keeps ${made}${making}; ${limit.name} allows ${limit.most}. ${free}One is created as soon as there is room`,
  };
}
