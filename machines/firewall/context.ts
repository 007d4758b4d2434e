import type { Claim, FirewallObserved, SecretObserved } from '../events.ts';
import type { FirewallChange, FirewallFound, FirewallOwned } from '../jobs.ts';
import type { ActorId, Address, JobFailure, NodeRef, ProviderID } from '../model/types.ts';
import type { Held } from './claims.ts';

/** State of a provider's firewall: the claims on it, and what in it is ours. */
export interface FirewallContext extends Pick<FirewallMachineInput, 'id' | 'provider' | 'firewall' | 'doubt'> {
  /** The complete claim of each claimant. A claimant that is not here claims nothing. */
  readonly claims: Readonly<Record<ActorId, Held>>;
  /** Claimants that wait for an answer; a newer claim replaces an older one. */
  readonly waiting: Readonly<Record<ActorId, Ask>>;
  /** What we added, and may therefore remove again. */
  readonly owned: FirewallOwned;
  /** The last reading, for the job that follows; otherwise null. */
  readonly found: FirewallFound | null;
  /** What the job under way covers: claimants whose claims changed since have to wait for the next one. */
  readonly working: readonly Ask[];
  /** Jobs drive it: they are slow, and open a port on some nodes and not on others. */
  readonly byJobs: boolean;
  /** A claim has shrunk, and no pruning has ended since. */
  readonly hasShrunk: boolean;
  /** Why an unclaimed port of ours stays; null or absent when none does, and once the claims change. */
  readonly deferred?: string | null;
  /** Claimants for which the provider did not accept everything: until they claim again nothing is tried for them, and nothing of theirs is removed. */
  readonly refused?: readonly ActorId[];
  /** Nodes on which changes were not applied in time, and are still not applied; absent for none. */
  readonly hanging?: readonly ProviderID[];
  /** What was confirmed as open and has been missing since; null or absent for nothing. */
  readonly lost?: FirewallOwned | null;
  readonly failure: JobFailure | null;
  readonly attempts: number;
}

export interface Ask {
  readonly claimant: ActorId;
  readonly claimId: string;
  readonly mode: 'open' | 'prune';
  /** The claimant's address and the node on which it was confirmed; null when it is on none. */
  readonly holder: { readonly address: Address; readonly node: NodeRef } | null;
  /** Everything it claims is open; only the pruning remains. */
  readonly isOpen: boolean;
  /** Since when it waits for the provider to apply the change on its node, ms since the epoch; absent while it does not. */
  readonly since?: number;
}

export interface FirewallMachineInput {
  readonly id: ActorId;
  readonly provider: string;
  readonly firewall: string;
  readonly owned?: FirewallOwned;
  /** After the records were lost: what claimants may need until they send their claims. */
  readonly claims?: Readonly<Record<ActorId, Held>>;
  /** Earlier calls that may still change it; null or absent when none can. It expires on time once the firewall has received RESUME. */
  readonly doubt?: FirewallDoubt | null;
}

export type AnyFirewallEvent =
  | Claim
  | FirewallObserved
  | SecretObserved
  | { readonly type: 'RESUME'; readonly at: number }
  | { readonly type: 'DELETED'; readonly at: number }
  | { readonly type: 'xstate.done.actor.look'; readonly output: FirewallFound; readonly at: number }
  | { readonly type: `xstate.done.actor.${'open' | 'prune'}`; readonly output: FirewallChange; readonly at: number }
  | { readonly type: `xstate.error.actor.${'look' | 'open' | 'prune'}`; readonly error: JobFailure; readonly at: number };

/** A call whose answer was lost may still change a firewall until the call deadline has passed. Only a read after that is reliable. */
export interface FirewallDoubt {
  /** The kind of job that sent it. What may still be removed does not count as open; what may still be added is not removed, because it is not there yet. */
  readonly of: 'open' | 'prune' | 'both';
  /** Ms since the epoch. */
  readonly until: number;
  /** Upper limit of the doubt, ms, where it is longer than a call deadline: as long as others may still send the call. */
  readonly wholeMs?: number;
}
