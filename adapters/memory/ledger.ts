import { Unreachable } from '../../actors/ports/errors.ts';
import type { Ledger, LedgerStore } from '../../actors/ports/ledger.ts';

type Namespaces = Readonly<Record<string, Ledger['kept']>>;

/** The ledger of a cluster in memory, which all processes share; it outlives each of them. */
export interface MemoryLedger extends LedgerStore {
  /** The current content. */
  current(): Namespaces;
  /** Edited manually by an administrator. */
  edit(change: (namespaces: Namespaces) => Namespaces): void;
  /** The ledger for one process: once that is dead, calls never settle, and nothing is written. */
  connect(isDead: () => boolean): LedgerStore;
  /** For all namespaces, or for one. */
  goDown(namespace?: string): void;
  comeBack(): void;
  /** Number of reads. */
  reads(): number;
}

export const memoryLedger = (): MemoryLedger => {
  let namespaces: Namespaces = {};
  let version = 0;
  let reads = 0;
  let down: string | boolean = false;
  const replace = (next: Namespaces): void => {
    namespaces = structuredClone(next);
    version += 1;
  };
  const assertUp = (namespace: string): void => {
    if (down === true || down === namespace) throw new Unreachable('memory ledger: switched off');
  };
  const read = async (namespace: string): Promise<Ledger> => {
    reads += 1;
    assertUp(namespace);
    return { kept: namespaces[namespace] ?? [], version: String(version) };
  };
  const write = async (namespace: string, ledger: Ledger): Promise<boolean> => {
    assertUp(namespace);
    if (ledger.version !== String(version)) return false;
    replace({ ...namespaces, [namespace]: ledger.kept });
    return true;
  };
  const all = async (): Promise<ReadonlyMap<string, Ledger['kept']>> => {
    if (down !== false) throw new Unreachable('memory ledger: switched off');
    return new Map(Object.entries(namespaces));
  };
  const never = new Promise<never>(() => undefined);
  return {
    all,
    read,
    write,
    connect: (isDead) => ({
      all: () => (isDead() ? never : all()),
      read: (namespace) => (isDead() ? never : read(namespace)),
      write: (namespace, ledger) => (isDead() ? never : write(namespace, ledger)),
    }),
    current: () => namespaces,
    edit: (change) => replace(change(namespaces)),
    goDown: (namespace) => {
      down = namespace ?? true;
    },
    comeBack: () => {
      down = false;
    },
    reads: () => reads,
  };
};
