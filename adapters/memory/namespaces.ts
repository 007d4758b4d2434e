import type { Namespaces } from '../../actors/ports/namespaces.ts';

/** Namespaces in memory, which all processes see at once. */
export interface MemoryNamespaces extends Namespaces {
  /** Null deletes it. */
  set(namespace: string, labels: Readonly<Record<string, string>> | null): void;
  /** They cannot be read until `mend`. */
  cut(): void;
  mend(): void;
}

export const memoryNamespaces = (): MemoryNamespaces => {
  const all = new Map<string, Readonly<Record<string, string>>>();
  const listeners: ((namespace: string | null) => void)[] = [];
  let isCut = false;
  const told = (namespace: string | null): void => {
    for (const listener of listeners) listener(namespace);
  };
  return {
    labelsOf: (namespace) => {
      if (isCut) return { kind: 'unknown', why: 'memory namespaces: switched off' };
      const labels = all.get(namespace);
      return labels ? { kind: 'known', labels } : { kind: 'missing' };
    },
    onChange: (changed) => void listeners.push(changed),
    set: (namespace, labels) => {
      if (labels) all.set(namespace, labels);
      else all.delete(namespace);
      told(namespace);
    },
    cut: () => {
      isCut = true;
    },
    mend: () => {
      isCut = false;
      told(null);
    },
  };
};
