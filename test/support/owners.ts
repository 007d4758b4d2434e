import type { PoolObject } from '../../actors/ports/cluster.ts';
import type { Address } from '../../machines/model/types.ts';

/** Whether an account has what somebody asks for: it does, nobody can list what it has, or it has not. */
export type Account = 'Lists' | 'Unlistable' | 'Lacks';

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
  readonly account?: Account;
}

/** The rule as a person would say it: whoever has it keeps it, of several the oldest; of those who have nothing the oldest that may gain it, and first those whose account has
 *  it, then those of whom nobody can tell; null for nobody. */
export function ownerOf<Id>(asking: readonly Asking<Id>[]): Id | null {
  const oldestFirst = [...asking].sort((a, b) => a.createdAt - b.createdAt || ((a.tie ?? '') < (b.tie ?? '') ? -1 : 1));
  const gaining = oldestFirst.filter(({ mayGain = true }) => mayGain);
  const first = (wanted: Account) => gaining.find(({ account = 'Lists' }) => account === wanted);
  const owner = oldestFirst.find(({ has }) => has) ?? first('Lists') ?? first('Unlistable') ?? first('Lacks');
  return owner?.id ?? null;
}

/** An object that asks for addresses, and those of them that it has. */
export interface Claiming<Id> {
  readonly id: Id;
  readonly createdAt: number;
  readonly addresses: readonly Address[];
  readonly has: readonly Address[];
  /** Whether its account has one of them. */
  readonly accountOf: (address: Address) => Account;
}

/** Whose each address is that somebody asks for. */
export const ownersOf = <Id>(claiming: readonly Claiming<Id>[]): ReadonlyMap<Address, Id> =>
  new Map(
    claiming
      .flatMap(({ addresses }) => addresses)
      .flatMap((address) => {
        const all = claiming.filter(({ addresses }) => addresses.includes(address));
        const owner = ownerOf(
          all.map(({ id, createdAt, has, accountOf }) => ({ id, createdAt, has: has.includes(address), account: accountOf(address) })),
        );
        return owner === null ? [] : [[address, owner] as const];
      }),
  );

/** The addresses that the status of a pool shows on nodes, or the one that a RoutedIP has got. What it says of an older spec does not count: the pool may have let an address go since,
 *  and lists it again only now. */
export function shownBy(object: Pick<PoolObject, 'status' | 'generation'> | null): readonly Address[] {
  const {
    ips = {},
    routedIP,
    observedGeneration,
  } = (object?.status ?? {}) as {
    readonly ips?: Readonly<Record<string, { readonly nodeName?: string; readonly epoch?: number }>>;
    readonly routedIP?: string;
    readonly observedGeneration?: number;
  };
  const isOfThisSpec = observedGeneration === object?.generation;
  const onNodes = Object.entries(ips).flatMap(([address, { nodeName, epoch = 0 }]) =>
    isOfThisSpec && (nodeName || epoch > 0) ? [address] : [],
  );
  return [...onNodes, ...(routedIP ? [routedIP] : [])] as Address[];
}

/** Watches that nobody is shown an address of another one who has had it, and has asked for it, ever since. To be told before and after each edit. */
export class Keepers {
  readonly violations: { readonly rule: string; readonly at: number; readonly text: string }[] = [];
  readonly #holders = new Map<Address, string>();

  /** Who has had it, and has asked for it ever since. */
  holderOf(address: Address): string | undefined {
    return this.#holders.get(address);
  }

  look(claiming: readonly Claiming<string>[], at: number): void {
    for (const [address, holder] of this.#holders) {
      const asks = claiming.some(({ id, addresses }) => id === holder && addresses.includes(address));
      if (!asks) this.#holders.delete(address);
    }
    for (const { id, addresses, has } of claiming) {
      for (const address of has.filter((each) => addresses.includes(each))) {
        const holder = this.#holders.get(address) ?? id;
        this.#holders.set(address, holder);
        if (holder !== id)
          this.violations.push({ rule: 'whoever has an address keeps it', at, text: `${address} of ${holder} is shown of ${id}` });
      }
    }
  }
}
