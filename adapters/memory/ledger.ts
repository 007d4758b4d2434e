import { Unreachable } from '../../actors/errors.ts';
import type { Ledger, LedgerStore } from '../../actors/ports/ledger.ts';

/** The ledger of a cluster in memory, which all processes share; it outlives each of them. */
export interface MemoryLedger extends LedgerStore {
  /** What stands there. */
  current(): Ledger['namespaces'];
  /** As somebody who may edits it by hand. */
  edit(change: (namespaces: Ledger['namespaces']) => Ledger['namespaces']): void;
  /** A process's way to it: one that is dead is answered no more, and writes nothing. */
  connect(isDead: () => boolean): LedgerStore;
  goDown(): void;
  comeBack(): void;
}

export const memoryLedger = (): MemoryLedger => {
  let namespaces: Ledger['namespaces'] = {};
  let version = 0;
  let down = false;
  const replace = (next: Ledger['namespaces']): void => {
    namespaces = structuredClone(next);
    version += 1;
  };
  const assertUp = (): void => {
    if (down) throw new Unreachable('memory ledger: switched off');
  };
  const read = async (): Promise<Ledger> => {
    assertUp();
    return { namespaces, version: String(version) };
  };
  const write = async (ledger: Ledger): Promise<boolean> => {
    assertUp();
    if (ledger.version !== String(version)) return false;
    replace(ledger.namespaces);
    return true;
  };
  const never = new Promise<never>(() => undefined);
  return {
    read,
    write,
    connect: (isDead) => ({
      read: () => (isDead() ? never : read()),
      write: (ledger) => (isDead() ? never : write(ledger)),
    }),
    current: () => namespaces,
    edit: (change) => replace(change(namespaces)),
    goDown: () => {
      down = true;
    },
    comeBack: () => {
      down = false;
    },
  };
};
