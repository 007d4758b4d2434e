import { familyOf } from '../model/address.ts';
import { cloudOf } from '../model/provider-key.ts';
import type { Address, ObservedAddress, ProviderID } from '../model/types.ts';
import { stamp } from '../pool/view.ts';
import { compareLocated, located } from '../vip/ip-group.ts';
import { PRICES, type PriceList } from './prices.ts';

/** The ConfigMap in the namespace of the operator that holds it, and under which key: as gzipped JSON. */
export const INVENTORY_NAME = 'routedip-operator-inventory';
export const INVENTORY_KEY = 'inventory.json.gz';

/** What the accounts hold, whose that is, and what it costs; as JSON, for people and their scripts. */
export interface Inventory {
  /** When it was put together. */
  readonly at: string;
  readonly accounts: readonly Account[];
}

export interface Account {
  /** The key of the provider: names the Secret of its token, and nothing of that. */
  readonly account: string;
  readonly provider: string;
  /** When its addresses were asked for last; null for never. */
  readonly readAt: string | null;
  /** Why it cannot be read now; null when it can. What it holds is then as it was when it was read last. */
  readonly problem: string | null;
  /** Why nothing is known of it although nothing is wrong; null for no such reason. */
  readonly note: string | null;
  /** Null where no price is known. */
  readonly currency: string | null;
  /** Null as long as it was never read. */
  readonly totals: Totals | null;
  /** Orphans first. */
  readonly addresses: readonly Holding[];
}

export interface Totals {
  readonly addresses: number;
  readonly orphans: number;
  /** Null where it is not known. */
  readonly costPerMonth: number | null;
}

/** How this cluster stands to an address. `orphan`: nobody claims it, and it is on no machine, or was made for this cluster. `unmanaged`: nobody claims it, it is on a node of this
 *  cluster, and was not made for it: somebody put it there by hand. `elsewhere`: nobody claims it, and another machine has it. */
export type Standing = 'orphan' | 'unmanaged' | 'elsewhere' | 'claimed';

export interface Holding {
  readonly address: Address;
  readonly family: 'IPv4' | 'IPv6';
  readonly region: string;
  /** On which it is; null for none. */
  readonly machine: ProviderID | null;
  /** Of this cluster. */
  readonly node: string | null;
  readonly standing: Standing;
  /** Who claims it, such as `RoutedIP web/shop`; null for nobody. */
  readonly owner: string | null;
  /** For whom the operator made it, who may be gone; null where it did not, or is not known to. */
  readonly madeFor: string | null;
  readonly madeAt: string | null;
  readonly costPerMonth: number | null;
}

/** For whom an address was made. */
export interface Made {
  readonly for: string;
  /** ms since the epoch; 0 where nobody knows. */
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
  /** Who of this cluster claims it; null for nobody. */
  readonly ownerOf: (address: Address) => string | null;
  readonly made: ReadonlyMap<Address, Made>;
  /** Whether that owner would be seen if it were there. */
  readonly isSeen: (owner: string) => boolean;
  /** Names of the nodes of this cluster, by their machines. */
  readonly nodes: ReadonlyMap<string, string>;
}

/** Accounts by their keys, each by itself: two tokens of one account are two here, and each shows all that it sees. */
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
    // Who is not seen may have it still.
    owner: facts.ownerOf(address) ?? (made && !facts.isSeen(made.for) ? made.for : null),
    madeFor: made?.for ?? null,
    madeAt: made && made.since > 0 ? stamp(made.since) : null,
    costPerMonth: prices?.[family][providerID === null ? 'unassigned' : 'assigned'] ?? null,
  } as const;
  return { ...holding, standing: standingOf(holding) };
}

/** What was made for this cluster and serves on another machine was handed over: to call it an orphan would be to have it deleted there. */
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
