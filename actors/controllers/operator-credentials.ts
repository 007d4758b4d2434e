import { type CredentialsRefusal, type CredentialsUse, EVERYWHERE, refusedCredentials } from '../../machines/spec/operator-credentials.ts';
import type { Namespaces } from '../ports/namespaces.ts';

/** Says which namespaces may use the operator's own credentials: those that its command line names, and those whose Namespace says so. */
export class OperatorCredentials {
  readonly #namespaces: Namespaces;
  readonly #named: ReadonlySet<string>;

  /** Whether FloatingIPPools and NodeDNSRecordSets, which have no others, are for the same namespaces only: unless anything is said of that, FLIPOP's manifests work everywhere. */
  readonly areConfined: boolean;

  constructor(namespaces: Namespaces, named: readonly string[] | null) {
    this.#namespaces = namespaces;
    this.#named = new Set(named);
    this.areConfined = named !== null;
  }

  /** Null when they may be used so. */
  refusalOf(use: CredentialsUse): CredentialsRefusal | null {
    return this.goesByLabels(use.namespace) ? refusedCredentials(use, this.#namespaces.labelsOf(use.namespace)) : null;
  }

  /** Whether it is up to the labels of the Namespace. */
  goesByLabels(namespace: string): boolean {
    return !this.#named.has(namespace) && !this.#named.has(EVERYWHERE);
  }
}
