import { familyOf } from '../model/address.ts';
import { cloudOf } from '../model/provider-key.ts';
import type { Address, ObservedAddress, ProviderID } from '../model/types.ts';
import { stamp } from '../pool/view.ts';
import { compareLocated, located } from '../vip/ip-group.ts';
import { PRICES, type PriceList } from './prices.ts';

/** The ConfigMap in the operator's namespace and its key; the content is gzipped JSON. */
export const INVENTORY_NAME = 'routedip-operator-inventory';
export const INVENTORY_KEY = 'inventory.json.gz';

/** The addresses in the accounts, their owners and their cost; as JSON, for users and their scripts. */
export interface Inventory {
  /** When it was compiled. */
  readonly at: string;
  readonly accounts: readonly Account[];
}

export interface Account {
  /** The key of the provider: names the Secret of its token, and reveals nothing of the token. */
  readonly account: string;
  readonly provider: string;
  /** When its addresses were last read; null for never. */
  readonly readAt: string | null;
  /** Why it cannot be read now; null when it can. Its addresses are then those of the last read. */
  readonly problem: string | null;
  /** Why nothing is known about it although nothing is wrong; null for no such reason. */
  readonly note: string | null;
  /** Null where the price is unknown. */
  readonly currency: string | null;
  /** Null until it was first read. */
  readonly totals: Totals | null;
  /** Orphans first. */
  readonly addresses: readonly Holding[];
}

export interface Totals {
  readonly addresses: number;
  readonly orphans: number;
  /** Null where unknown. */
  readonly costPerMonth: number | null;
}

/** The standing of an address in this cluster. `orphan`: unclaimed, and on no machine, or created for this cluster. `unmanaged`: unclaimed, on a node of this cluster, and not
 *  created for it: it was put there by hand. `elsewhere`: unclaimed, and on another machine. */
export type Standing = 'orphan' | 'unmanaged' | 'elsewhere' | 'claimed';

export interface Holding {
  readonly address: Address;
  readonly family: 'IPv4' | 'IPv6';
  readonly region: string;
  /** The machine that it is on; null for none. */
  readonly machine: ProviderID | null;
  /** The node of this cluster. */
  readonly node: string | null;
  readonly standing: Standing;
  /** Its claimant, such as `RoutedIP web/shop`; null for none. */
  readonly owner: string | null;
  /** The object, possibly gone, for which the operator created it; null where it did not, or where that is unknown. */
  readonly madeFor: string | null;
  readonly madeAt: string | null;
  readonly costPerMonth: number | null;
}

/** The object for which an address was created. */
export interface Made {
  readonly for: string;
  /** ms since the epoch; 0 where unknown. */
  readonly since: number;
}

export interface AccountFacts extends Pick<Account, 'problem' | 'note'> {
  readonly key: string;
  /** ms since the epoch; null when it was never read. */
  readonly readAt: number | null;
  readonly addresses: readonly ObservedAddress[];
}

export interface InventoryFacts {
  /** ms since the epoch. */
  readonly at: number;
  readonly accounts: readonly AccountFacts[];
  /** The claimant in this cluster; null for none. */
  readonly ownerOf: (address: Address) => string | null;
  readonly made: ReadonlyMap<Address, Made>;
  /** Whether that owner would be observed if it existed. */
  readonly isSeen: (owner: string) => boolean;
  /** Names of the nodes of this cluster, by machine. */
  readonly nodes: ReadonlyMap<string, string>;
}

/** Accounts by key, each separately: two tokens of one account appear as two accounts, each with all that it lists. */
export const inventoryOf = (facts: InventoryFacts): Inventory => ({
  at: stamp(facts.at),
  accounts: [...facts.accounts].sort((a, b) => (a.key < b.key ? -1 : 1)).map((account) => accountOf(account, facts)),
});

function accountOf({ key, readAt, problem, note, addresses }: AccountFacts, facts: InventoryFacts): Account {
  const provider = cloudOf(key);
  const prices = Object.hasOwn(PRICES, provider) ? PRICES[provider] : undefined;
  const held = inOrder(addresses.map((observed) => holdingOf(observed, prices, facts)));
  return {
    account: key,
    provider,
    readAt: readAt === null ? null : stamp(readAt),
    problem,
    note,
    currency: prices?.currency ?? null,
    totals: readAt === null ? null : totalsOf(held, prices !== undefined),
    addresses: held,
  };
}

const totalsOf = (held: readonly Holding[], isPriced: boolean): Totals => ({
  addresses: held.length,
  orphans: held.filter(({ standing }) => standing === 'orphan').length,
  costPerMonth: isPriced ? held.reduce((sum, { costPerMonth }) => sum + (costPerMonth ?? 0), 0) : null,
});

function holdingOf({ address, region, providerID }: ObservedAddress, prices: PriceList | undefined, facts: InventoryFacts): Holding {
  const made = facts.made.get(address);
  const family = familyOf(address) === 4 ? 'IPv4' : 'IPv6';
  const holding = {
    address,
    family,
    region,
    machine: providerID,
    node: facts.nodes.get(providerID ?? '') ?? null,
    // An owner that is not observed may still have it.
    owner: facts.ownerOf(address) ?? (made && !facts.isSeen(made.for) ? made.for : null),
    madeFor: made?.for ?? null,
    madeAt: made && made.since > 0 ? stamp(made.since) : null,
    costPerMonth: prices?.[family][providerID === null ? 'unassigned' : 'assigned'] ?? null,
  } as const;
  return { ...holding, standing: standingOf(holding) };
}

/** An address created for this cluster that serves on another machine was handed over: reported as an orphan it might be deleted there. */
function standingOf({ owner, machine, node, madeFor }: Omit<Holding, 'standing'>): Standing {
  if (owner !== null) return 'claimed';
  if (machine === null) return 'orphan';
  if (node === null) return 'elsewhere';
  return madeFor === null ? 'unmanaged' : 'orphan';
}

const ORDER: readonly Standing[] = ['orphan', 'unmanaged', 'elsewhere', 'claimed'];

const inOrder = (held: readonly Holding[]): readonly Holding[] =>
  held
    .map((holding) => ({ holding, rank: ORDER.indexOf(holding.standing), at: located(holding.address) }))
    .sort((a, b) => a.rank - b.rank || compareLocated(a.at, b.at))
    .map(({ holding }) => holding);
