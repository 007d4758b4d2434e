import type { ProviderDirectory, ProviderNeed } from '../../actors/ports/directory.ts';

type Known = ProviderDirectory['all'];

/** Providers that stand, and that a test may put in, change and take away. */
export interface MemoryDirectory extends ProviderDirectory {
  /** What was asked for last. Nothing comes of it. */
  readonly needs: readonly ProviderNeed[];
  /** Puts `known` under the key; null takes away what stands there. */
  set(key: string, known: Known[string] | null): void;
}

/** A directory of exactly these providers. */
export const memoryDirectory = (providers: Known): MemoryDirectory => {
  const listeners: ((key: string) => void)[] = [];
  let all = providers;
  let needs: readonly ProviderNeed[] = [];
  return {
    get all() {
      return all;
    },
    get needs() {
      return needs;
    },
    need: (asked) => {
      needs = asked;
    },
    onChange: (listener) => void listeners.push(listener),
    set: (key, known) => {
      const { [key]: _, ...others } = all;
      all = known ? { ...others, [key]: known } : others;
      for (const tell of listeners) tell(key);
    },
  };
};
