import type { ProviderDirectory, ProviderNeed } from '../../actors/ports/directory.ts';

type Known = ProviderDirectory['all'];

/** Providers that stand, and that a test may put in, change and take away. */
export interface MemoryDirectory extends ProviderDirectory {
  /** What is asked for. Nothing comes of it. */
  readonly needs: readonly ProviderNeed[];
  /** Puts `known` under the key; null takes away what stands there. */
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
