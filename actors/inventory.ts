import { isPrivate } from '../machines/model/provider-key.ts';
import type { Address, Kept } from '../machines/model/types.ts';
import { type AccountFacts, type Inventory, inventoryOf, type Made } from '../machines/status/inventory.ts';
import type { ObservedPools } from './controllers/pool-cache.ts';
import type { ProviderLists } from './controllers/provider-sync.ts';
import type { ProviderDirectory } from './ports/directory.ts';
import type { InventoryWriter } from './ports/inventory.ts';
import type { LedgerStore } from './ports/ledger.ts';
import type { Log } from './ports/observers.ts';
import type { Clock } from './ports/records.ts';
import { coalesced } from './runtime/debounce.ts';
import { isSameJson } from './runtime/same-json.ts';
import type { Vips } from './vip/controller.ts';

export interface InventoryPorts {
  readonly pools: ObservedPools;
  readonly providers: Pick<ProviderDirectory, 'all'>;
  readonly vips: Pick<Vips, 'claimants'>;
  /** Absent where nothing is persisted: then it is unknown what was created for this cluster. */
  readonly ledger?: LedgerStore | undefined;
  /** Absent when only pages and metrics show it. */
  readonly inventoryWriter?: InventoryWriter | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether objects of the kind are watched. */
  readonly knows: (kind: string) => boolean;
  /** Null while this process does not lead. */
  readonly lists: () => ProviderLists | null;
}

/** Changes within this time are handled together, ms, and no more often than `LOOK_EVERY_MS`. */
const GATHER_MS = 1_000;
const LOOK_EVERY_MS = 15_000;
/** An unchanged inventory is rewritten after this time, ms: it shows that the operator still looks. */
const REWRITE_MS = 300_000;

/** Compiles what the accounts hold and who has it, from lists that are read anyway. */
export class InventoryCollector {
  /** A part of the inventory may have changed. */
  readonly request: () => void;
  readonly #ports: InventoryPorts;
  /** Taken from the lists of one term. */
  #taken: { readonly lists: ProviderLists; readonly inventory: Inventory } | null = null;
  #made: ReadonlyMap<Address, Made> = new Map();
  #written: { readonly inventory: Inventory; readonly at: number } | null = null;
  #isFailing = false;

  constructor(ports: InventoryPorts) {
    this.#ports = ports;
    this.request = coalesced(ports.clock, GATHER_MS, () => this.#look(), LOOK_EVERY_MS);
  }

  /** Null before the first look, and while this process does not lead. */
  get inventory(): Inventory | null {
    return this.#taken?.lists === this.#ports.lists() ? (this.#taken?.inventory ?? null) : null;
  }

  async #look(): Promise<void> {
    const { lists: current, log } = this.#ports;
    const lists = current();
    if (!lists || !this.#ports.pools.machines) return;
    try {
      this.#made = await this.#readMade();
      if (lists !== current()) return;
      const inventory = this.#take(lists);
      this.#taken = { lists, inventory };
      await this.#write(inventory);
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) log.warn('the inventory is not up to date', { error: error instanceof Error ? error.message : String(error) });
      this.#isFailing = true;
      if (lists === current()) this.#taken = { lists, inventory: this.#take(lists) };
    }
  }

  #take(lists: ProviderLists): Inventory {
    const { pools, vips, clock, knows } = this.#ports;
    const ofGroups = vips.claimants();
    return inventoryOf({
      at: clock.now(),
      accounts: this.#accounts(lists),
      ownerOf: (address) => pools.claimantOf(address) ?? ofGroups(address),
      made: this.#made,
      isSeen: (owner) => owner.startsWith(UNNAMED) || knows(owner.split(' ')[0] ?? ''),
      nodes: pools.machines ?? new Map(),
    });
  }

  #accounts(lists: ProviderLists): readonly AccountFacts[] {
    return Object.entries(this.#ports.providers.all).flatMap(([key, { facts, provider }]): readonly AccountFacts[] => {
      const isAsked = isPrivate(key) || this.#ports.pools.usersOf(key).length > 0;
      if (!facts.addresses || !(provider || isAsked)) return [];
      const { askedAt, addresses, problem, isReading } = lists.stateOf(key);
      const isByJobs = provider?.jobs?.addresses ?? false;
      const account = { key, problem: facts.missing ?? problem, addresses };
      if (askedAt !== null && !isByJobs) return [{ ...account, readAt: askedAt, note: null }];
      const unread = isReading ? 'it is being read' : 'no pool and no RoutedIP works with it, so it is not read';
      return [{ ...account, readAt: null, note: isByJobs ? 'Jobs drive its addresses, and nobody can list them' : unread }];
    });
  }

  async #readMade(): Promise<ReadonlyMap<Address, Made>> {
    const all = (await this.#ports.ledger?.all()) ?? new Map<string, readonly Kept[]>();
    return new Map(
      [...all].flatMap(([namespace, kept]) =>
        kept.flatMap(({ address, owner, since }) =>
          address === null ? [] : [[address, { for: nameOf(namespace, owner), since }] as const],
        ),
      ),
    );
  }

  async #write(inventory: Inventory): Promise<void> {
    const { inventoryWriter, clock } = this.#ports;
    const { at: _, ...now } = inventory;
    const { at: __, ...before } = this.#written?.inventory ?? {};
    const isNew = !this.#written || clock.monotonic() - this.#written.at >= REWRITE_MS || !isSameJson(now, before);
    if (!inventoryWriter || !isNew) return;
    await inventoryWriter.write(JSON.stringify(inventory));
    this.#written = { inventory, at: clock.monotonic() };
  }
}

const UNNAMED = 'namespace ';

/** Display name of `RoutedIP/shop` in namespace web. Without an owner only the namespace is known. */
const nameOf = (namespace: string, owner: string): string =>
  owner === '' ? `${UNNAMED}${namespace}` : owner.replace('/', ` ${namespace}/`);
