import type { NamespaceLabels } from '../../machines/model/namespaces.ts';

/** The labels of Namespaces. The watch starts with the first query: it is not needed in a cluster in which nothing selects namespaces. */
export interface Namespaces {
  labelsOf(namespace: string): NamespaceLabels;
  /** Called with the namespace whose labels have changed; null when it may be any. */
  onChange(changed: (namespace: string | null) => void): void;
}

/** For when labels cannot be read: whatever selects namespaces matches none. */
export const NO_NAMESPACES: Namespaces = {
  labelsOf: () => ({ kind: 'unknown', why: 'Namespaces are not seen' }),
  onChange: () => undefined,
};
