import type { Kept } from '../../machines/types.ts';

/** What namespaces keep at providers, written down where no tenant can change it and where it outlives every store. */
export interface Ledger {
  /** By namespace; of one that keeps nothing nothing is said. */
  readonly namespaces: Readonly<Record<string, readonly Kept[]>>;
  /** Names what was read; null for a ledger that is not there. */
  readonly version: string | null;
}

export interface LedgerStore {
  /** @throws Error when it cannot be read: Unreachable, or a right is missing */
  read(): Promise<Ledger>;
  /** In the place of what was read under that version. False when somebody else has written since, and nothing was written. @throws Error as above */
  write(ledger: Ledger): Promise<boolean>;
}
