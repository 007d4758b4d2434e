import type { Namespaces } from '../../actors/ports/namespaces.ts';

/** Namespaces in memory, which all processes see immediately. */
export interface MemoryNamespaces extends Namespaces {
  /** For one process, which receives nothing once it has ended. */
  connect(hasEnded: () => boolean): Namespaces;
  /** Null deletes it. */
  set(namespace: string, labels: Readonly<Record<string, string>> | null): void;
  /** They cannot be read until `mend`. */
  cut(): void;
  mend(): void;
}

interface Listener {
  readonly changed: (namespace: string | null) => void;
  readonly hasEnded: () => boolean;
}

export const memoryNamespaces = (): MemoryNamespaces => {
  const all = new Map<string, Readonly<Record<string, string>>>();
  let listeners: readonly Listener[] = [];
  let isCut = false;
  const told = (namespace: string | null): void => {
    for (const { changed, hasEnded } of listeners) if (!hasEnded()) changed(namespace);
  };
  const labelsOf: Namespaces['labelsOf'] = (namespace) => {
    if (isCut) return { kind: 'unknown', why: 'memory namespaces: switched off' };
    const labels = all.get(namespace);
    return labels ? { kind: 'known', labels } : { kind: 'missing' };
  };
  const connect = (hasEnded: () => boolean): Namespaces => ({
    labelsOf,
    onChange: (changed) => {
      listeners = [...listeners.filter((each) => !each.hasEnded()), { changed, hasEnded }];
    },
  });
  return {
    ...connect(() => false),
    connect,
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
