import type { Shared } from '../events.ts';
import { NO_FIREWALL } from '../firewall/policy.ts';
import type { FirewallPolicy } from '../model/firewall-policy.ts';
import type { Address, ClassInUse, ClassRef } from '../model/types.ts';
import type { CredentialsRefusal } from '../spec/operator-credentials.ts';
import type { RoutedIPReason } from '../spec/routedip.ts';
import type { GroupOffer, GroupRefusal } from '../vip/objects.ts';
import type { PortWarning } from './service-ports.ts';

/** What a RoutedIP has got for good. */
export interface Binding {
  /** The address; null before. */
  readonly bound: Address | null;
  /** After the records were lost the class or issuer by which it had that; absent where nothing tells. */
  readonly boundBy?: ClassInUse;
}

/** What a RoutedIP's pool of one remembers besides. */
export interface Exposed extends Binding {
  /** Of the error in the spec; null while there is none. */
  readonly reason: RoutedIPReason | null;
  /** The class or issuer that a spec with an error asks for; absent before there was one. */
  readonly source?: ClassRef;
  /** Why the class or issuer does not count as it is now: what it said before goes on. Null when it counts. */
  readonly policyError: string | null;
  /** What `reason` says lies with its class or issuer, not with itself; absent counts as false. */
  readonly byPolicy?: boolean;
  /** Why the class or issuer by which it keeps its address is for nobody new of its namespace; absent or null when it is. */
  readonly kept?: CredentialsRefusal | null;
  /** The object cannot go without our leave: before that nothing is done for it. */
  readonly guarded: boolean;
  /** What is to become of the address although it was not made by us. */
  readonly deleteAdopted: boolean;
  /** The object is deleted, but its address has to be read before it can be given up. */
  readonly deleting: boolean;
  /** What is wrong with the Service; null for nothing, or while it is not known. */
  readonly trouble: { readonly reason: 'ServiceNotFound' | 'ServiceNotSupported'; readonly message: string } | null;
  readonly warnings: readonly PortWarning[];
  /** What the address was told last of its firewall. */
  readonly policy: FirewallPolicy;
  readonly shared: Shared;
  /** The address of an IPGroup that it is to have; absent or null while there is none, or when it has one. */
  readonly offer?: GroupOffer | null;
  /** Why its IPGroup has none for it; absent or null for no reason. */
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

/** Before anything was told of it, with what is remembered. */
export const exposedBefore = ({ bound = null, boundBy }: Partial<Binding> = {}): Exposed => ({
  ...UNEXPOSED,
  bound,
  ...(boundBy && { boundBy }),
});
