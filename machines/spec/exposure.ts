import type { Subject } from '../model/firewall-policy.ts';
import type { ServiceRef } from '../model/service-ref.ts';
import type { ActorId, Address, ClassRef } from '../model/types.ts';
import type { Policy } from './class.ts';

/** A RoutedIP routes an address to a Service: additional settings of its single-address pool. */
export interface Exposure
  extends Pick<
    Policy,
    'postAllow' | 'exclusive' | 'sources' | 'nodePortRange' | 'allowedPorts' | 'maxPorts' | 'perNode' | 'reclaim' | 'taint'
  > {
  readonly service: ServiceRef;
  /** Actor of the firewall; null for none. */
  readonly firewall: ActorId | null;
  /** The limit requested by the class, when the provider allows less; otherwise null. */
  readonly clampedFrom: number | null;
  /** An issuer requests a taint reserved for classes; absent otherwise. */
  readonly isTaintSoftened?: true;
  /** Identifies the group whose assignments are spaced together. */
  readonly turn: string;
  /** Jobs drive the firewall. */
  readonly byJobs: boolean;
  /** Changes with every edit of the class and of the RoutedIP; null when no Job drives anything. */
  readonly revision: string | null;
  /** The subject of Jobs; null when no Job drives the addresses. */
  readonly subject: Subject | null;
  /** The IPGroup that supplies its address, and the requested address, null for any; absent where the provider supplies addresses. */
  readonly group?: { readonly name: string; readonly address: Address | null };
  /** The class or issuer in use. */
  readonly source: ClassRef;
}
