import type { Kept } from '../../machines/model/types.ts';

/** What a namespace keeps at providers, written down where no tenant can change it and where it outlives every store. */
export interface Ledger {
  readonly kept: readonly Kept[];
  /** Names what was read; null where nothing was written yet. */
  readonly version: string | null;
}

/** Of each namespace by itself: one whose ledger is full or in disorder keeps nobody else from anything. */
export interface LedgerStore {
  /** What all namespaces keep, those too that are gone, by namespace. @throws Error as below */
  all(): Promise<ReadonlyMap<string, Ledger['kept']>>;
  /** @throws Error when it cannot be read: Unreachable, or a right is missing */
  read(namespace: string): Promise<Ledger>;
  /** In the place of what was read under that version. False when somebody else has written since, and nothing was written. @throws Error as above, or when it is too long */
  write(namespace: string, ledger: Ledger): Promise<boolean>;
}
