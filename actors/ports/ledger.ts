import type { Kept } from '../../machines/model/types.ts';

/** What a namespace keeps at providers, stored where no tenant can change it and where it outlives every store. */
export interface Ledger {
  readonly kept: readonly Kept[];
  /** The version that was read; null where nothing was written yet. */
  readonly version: string | null;
}

/** One ledger per namespace: one that is full or corrupt does not affect others. */
export interface LedgerStore {
  /** What all namespaces keep, including namespaces that are gone, by namespace. @throws Error as below */
  all(): Promise<ReadonlyMap<string, Ledger['kept']>>;
  /** @throws Error when it cannot be read: Unreachable, or a permission is missing */
  read(namespace: string): Promise<Ledger>;
  /** Replaces what was read under that version. False, with nothing written, when another writer was first. @throws Error as above, or when it is too long */
  write(namespace: string, ledger: Ledger): Promise<boolean>;
}
