import type { Subject } from '../model/firewall-policy.ts';
import type { ServiceRef } from '../model/service-ref.ts';
import type { ActorId, Address, ClassRef } from '../model/types.ts';
import type { Policy } from './class.ts';

/** A RoutedIP leads an address to a Service: what its pool of one has to know besides. */
export interface Exposure
  extends Pick<
    Policy,
    'postAllow' | 'exclusive' | 'sources' | 'nodePortRange' | 'allowedPorts' | 'maxPorts' | 'perNode' | 'reclaim' | 'taint'
  > {
  readonly service: ServiceRef;
  /** Actor of the firewall; null for none. */
  readonly firewall: ActorId | null;
  /** What the class asks for, when the provider allows less; else null. */
  readonly clampedFrom: number | null;
  /** An issuer asks for a taint that is for classes; absent where none does. */
  readonly isTaintSoftened?: true;
  /** Names those whose assignments are spaced together. */
  readonly turn: string;
  /** Jobs drive the firewall. */
  readonly byJobs: boolean;
  /** Changes with every edit of the class and of the RoutedIP; null when no Job drives anything. */
  readonly revision: string | null;
  /** Whom Jobs work for; null when no Job drives the addresses. */
  readonly subject: Subject | null;
  /** The IPGroup that its address is taken from, and the one that it is to be, null for any; absent where the provider has the addresses. */
  readonly group?: { readonly name: string; readonly address: Address | null };
  /** The class or issuer in use. */
  readonly source: ClassRef;
}
