import { type CredentialsRefusal, type CredentialsUse, EVERYWHERE, refusedCredentials } from '../../machines/spec/operator-credentials.ts';
import type { Namespaces } from '../ports/namespaces.ts';

/** Which namespaces may use the operator's own credentials: those named on its command line, and those whose Namespace labels allow it. */
export class OperatorCredentials {
  readonly #namespaces: Namespaces;
  readonly #named: ReadonlySet<string>;

  /** Whether FloatingIPPools and NodeDNSRecordSets, which have no other credentials, are restricted to these namespaces too. Not by default, so that FLIPOP's manifests work
   *  everywhere. */
  readonly areConfined: boolean;

  constructor(namespaces: Namespaces, named: readonly string[] | null) {
    this.#namespaces = namespaces;
    this.#named = new Set(named);
    this.areConfined = named !== null;
  }

  /** Null when the use is allowed. */
  refusalOf(use: CredentialsUse): CredentialsRefusal | null {
    return this.goesByLabels(use.namespace) ? refusedCredentials(use, this.#namespaces.labelsOf(use.namespace)) : null;
  }

  /** Whether the labels of the Namespace decide. */
  goesByLabels(namespace: string): boolean {
    return !this.#named.has(namespace) && !this.#named.has(EVERYWHERE);
  }
}
