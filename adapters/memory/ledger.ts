import { Unreachable } from '../../actors/ports/errors.ts';
import type { Ledger, LedgerStore } from '../../actors/ports/ledger.ts';

type Namespaces = Readonly<Record<string, Ledger['kept']>>;

/** The ledger of a cluster in memory, which all processes share; it outlives each of them. */
export interface MemoryLedger extends LedgerStore {
  /** What stands there. */
  current(): Namespaces;
  /** As somebody who may edits it by hand. */
  edit(change: (namespaces: Namespaces) => Namespaces): void;
  /** A process's way to it: one that is dead is answered no more, and writes nothing. */
  connect(isDead: () => boolean): LedgerStore;
  /** For all namespaces, or for this one. */
  goDown(namespace?: string): void;
  comeBack(): void;
  /** How often it was read. */
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
