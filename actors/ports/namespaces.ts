import type { NamespaceLabels } from '../../machines/model/namespaces.ts';

/** The labels of Namespaces. They are looked at from when somebody first asks: a cluster in which nothing selects namespaces is not watched for them. */
export interface Namespaces {
  labelsOf(namespace: string): NamespaceLabels;
  /** Told which namespace has other labels than before; null when that may be any. */
  onChange(changed: (namespace: string | null) => void): void;
}

/** Where nobody can tell: whatever selects namespaces lets none in. */
export const NO_NAMESPACES: Namespaces = {
  labelsOf: () => ({ kind: 'unknown', why: 'Namespaces are not seen' }),
  onChange: () => undefined,
};
