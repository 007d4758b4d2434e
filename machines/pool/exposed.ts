import type { Shared } from '../events.ts';
import { NO_FIREWALL } from '../firewall/policy.ts';
import type { FirewallPolicy } from '../model/firewall-policy.ts';
import type { Address, ClassInUse, ClassRef } from '../model/types.ts';
import type { CredentialsRefusal } from '../spec/operator-credentials.ts';
import type { RoutedIPReason } from '../spec/routedip.ts';
import type { GroupOffer, GroupRefusal } from '../vip/objects.ts';
import type { PortWarning } from './service-ports.ts';

/** The permanent binding of a RoutedIP. */
export interface Binding {
  /** The address; null before. */
  readonly bound: Address | null;
  /** After the records were lost: the class or issuer that provided the address; absent where unknown. */
  readonly boundBy?: ClassInUse;
}

/** Additional state of a RoutedIP's single-address pool. */
export interface Exposed extends Binding {
  /** Reason of the error in the spec; null while there is none. */
  readonly reason: RoutedIPReason | null;
  /** The class or issuer requested by an invalid spec; absent before there was one. */
  readonly source?: ClassRef;
  /** Why the current class or issuer is ignored: its former policy still applies. Null when it is valid. */
  readonly policyError: string | null;
  /** The cause of `reason` is the class or issuer, not the RoutedIP; absent counts as false. */
  readonly byPolicy?: boolean;
  /** Why the class or issuer that provided its address no longer accepts new RoutedIPs of its namespace; absent or null when it does. */
  readonly kept?: CredentialsRefusal | null;
  /** Our finalizer is on the object: nothing is done for it before that. */
  readonly guarded: boolean;
  /** Whether the address is deleted even though we did not create it. */
  readonly deleteAdopted: boolean;
  /** The object is deleted, but its address has to be read before it can be given up. */
  readonly deleting: boolean;
  /** What is wrong with the Service; null for nothing, or while unknown. */
  readonly trouble: { readonly reason: 'ServiceNotFound' | 'ServiceNotSupported'; readonly message: string } | null;
  readonly warnings: readonly PortWarning[];
  /** The last firewall policy sent to the address. */
  readonly policy: FirewallPolicy;
  readonly shared: Shared;
  /** The address of an IPGroup offered to it; absent or null while there is none, or when it has one. */
  readonly offer?: GroupOffer | null;
  /** Why its IPGroup offers none; absent or null for no reason. */
  readonly refusal?: GroupRefusal | null;
}

const UNEXPOSED: Exposed = {
  reason: null,
  policyError: null,
  guarded: false,
  deleteAdopted: false,
  deleting: false,
  bound: null,
  trouble: null,
  warnings: [],
  policy: NO_FIREWALL,
  shared: { lastAssignmentAt: null, loads: {} },
};

/** The initial state before any observation, with the remembered binding. */
export const exposedBefore = ({ bound = null, boundBy }: Partial<Binding> = {}): Exposed => ({
  ...UNEXPOSED,
  bound,
  ...(boundBy && { boundBy }),
});
