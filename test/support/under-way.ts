import type { SavedTurn } from '../../actors/ports/observers.ts';
import type { ActorRecord } from '../../actors/ports/records.ts';
import { ANSWERED_MS } from '../../adapters/memory/faults.ts';
import type { LoggedCall } from '../../adapters/memory/requests.ts';
import type { AddressContext } from '../../machines/address/context.ts';
import type { ActorId, Address } from '../../machines/model/types.ts';
import { listed, type PoolContext } from '../../machines/pool/context.ts';

/** An assign for that pool may be under way. A grant that reaches an address while it is read is given back: no assign comes of it, unless one was under way before. */
export const isUnconfirmed = (record: ActorRecord, id: ActorId): boolean => {
  const { pool, elected, assigned, inDoubtUntil } = record.snapshot.context as unknown as AddressContext;
  if (record.chart !== 'ip' || pool !== id || (isUnassigned(record) && inDoubtUntil === null)) return false;
  return elected !== null && assigned?.name !== elected.name;
};

const isUnassigned = ({ snapshot: { value } }: ActorRecord): boolean =>
  typeof value === 'object' && value !== null && 'Unassigned' in value;

/** How a call ends that may take effect, or has. What the provider has refused is under way for nobody: it was sent for a grant that was given back. */
const NOT_REFUSED: ReadonlySet<string> = new Set(['sent', 'ok', 'lost', 'hung']);

/** How long after it was sent a call may still take effect, ms. One that the API answered by a 500 does so soon or never. */
export const doubtMs = ({ result }: LoggedCall, callDeadlineMs: number): number => {
  if (result === 'Unavailable') return ANSWERED_MS;
  return ['hung', 'lost', 'sent'].includes(result) ? callDeadlineMs : 0;
};

/** A call of the assign that the record waits for has been sent since, virtual ms. */
export const isSentSince = (since: number, { snapshot }: ActorRecord, writes: readonly LoggedCall[]): boolean => {
  const { address, elected } = snapshot.context as unknown as AddressContext;
  return writes.some(
    ({ verb, args, at, result }) =>
      verb === 'assignRoutedIP' && at >= since && args[0] === address && args[1] === elected?.providerID && NOT_REFUSED.has(result),
  );
};

/** Where the address is, or is to come. */
export const nodesOf = ({ elected, assigned }: Pick<AddressContext, 'elected' | 'assigned'>): readonly string[] =>
  [elected, assigned].flatMap((node) => node?.name ?? []);

/** The nodes that bear a mark for the address. One that is being marked gets its mark before anything is sent, whoever has taken one off before: somebody who led until the Lease
 *  was deleted, and has not heard of that. */
export const markedFor = ({ snapshot, waiting }: ActorRecord): readonly string[] => {
  const { elected, assigned } = snapshot.context as unknown as AddressContext;
  return nodesOf({ elected: waiting.elect ? null : elected, assigned });
};

/** Addresses that pools gave up, and may take off the nodes that they are about to assign others to: as long as nobody lists them. */
export class MakingRoom {
  readonly #vacating = new Map<ActorId, readonly Address[]>();
  readonly #times: { readonly address: Address; readonly from: number; until: number }[] = [];

  /** To be told every turn. */
  note({ transitions }: SavedTurn, records: ReadonlyMap<ActorId, ActorRecord>, at: number): void {
    for (const { actor, chart, after } of transitions) {
      const { vacates = null } = (chart === 'ip' && after ? after.snapshot.context : {}) as Partial<AddressContext>;
      if (vacates === null) this.#vacating.delete(actor);
      else this.#vacating.set(actor, vacates);
    }
    const open = this.#times.filter(({ until }) => until === Number.POSITIVE_INFINITY);
    if (this.#vacating.size === 0 && open.length === 0) return;
    const pools = [...records.values()].filter(({ chart }) => chart === 'pool');
    const all = new Set(pools.flatMap(({ snapshot }) => [...listed(snapshot.context as unknown as PoolContext)]));
    const may = new Set([...this.#vacating.values()].flat().filter((address) => !all.has(address)));
    for (const time of open) if (!may.delete(time.address)) time.until = at;
    for (const address of may) this.#times.push({ address, from: at, until: Number.POSITIVE_INFINITY });
  }

  mayTakeOff(address: Address, at: number): boolean {
    return this.#times.some((time) => time.address === address && time.from <= at && at <= time.until);
  }
}
