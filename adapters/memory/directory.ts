import type { ProviderDirectory, ProviderNeed } from '../../actors/ports/directory.ts';

type Known = ProviderDirectory['all'];

/** A fixed set of providers that a test can add to, change and remove from. */
export interface MemoryDirectory extends ProviderDirectory {
  /** Recorded needs; they have no effect. */
  readonly needs: readonly ProviderNeed[];
  /** Sets the provider of a key; null removes it. */
  set(key: string, known: Known[string] | null): void;
}

/** A directory of exactly these providers. */
export const memoryDirectory = (providers: Known): MemoryDirectory => {
  const listeners: ((key: string) => void)[] = [];
  let all = providers;
  const needs = new Map<string, ProviderNeed>();
  return {
    get all() {
      return all;
    },
    get needs() {
      return [...needs.values()];
    },
    need: (who, need) => {
      if (need) needs.set(who, need);
      else needs.delete(who);
    },
    onChange: (listener) => void listeners.push(listener),
    set: (key, known) => {
      const { [key]: _, ...others } = all;
      all = known ? { ...others, [key]: known } : others;
      for (const tell of listeners) tell(key);
    },
  };
};
