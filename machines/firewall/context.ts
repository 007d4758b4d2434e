import type { Claim, FirewallObserved, SecretObserved } from '../events.ts';
import type { FirewallChange, FirewallFound, FirewallOwned } from '../jobs.ts';
import type { ActorId, Address, JobFailure, NodeRef, ProviderID } from '../model/types.ts';
import type { Held } from './claims.ts';

/** What a provider's firewall remembers: who claims what of it, and what of it is ours. */
export interface FirewallContext extends Pick<FirewallMachineInput, 'id' | 'provider' | 'firewall' | 'doubt'> {
  /** By claimant: its whole claim. A claimant that is not here claims nothing. */
  readonly claims: Readonly<Record<ActorId, Held>>;
  /** Claimants that wait for an answer, by claimant; a newer claim takes the place of an older one. */
  readonly waiting: Readonly<Record<ActorId, Ask>>;
  /** What we added, and may therefore remove again. */
  readonly owned: FirewallOwned;
  /** As it was last looked at, for the job that follows; null else. */
  readonly found: FirewallFound | null;
  /** What the job under way covers: claimants whose claims changed since have to wait for the next one. */
  readonly working: readonly Ask[];
  /** Jobs drive it: they take their time, and open a port on some nodes and not on others. */
  readonly byJobs: boolean;
  /** A claim has become less, and no pruning has ended since. */
  readonly hasShrunk: boolean;
  /** Why a port of ours stays that nobody claims; null or absent when none does, and once the claims are others. */
  readonly deferred?: string | null;
  /** Claimants for whom the provider did not take all: until they claim again nothing is tried for them, and nothing of theirs is removed. */
  readonly refused?: readonly ActorId[];
  /** Nodes on which changes were not applied in time, and are not still; absent for none. */
  readonly hanging?: readonly ProviderID[];
  /** What was told to be open and was seen missing since; null or absent for nothing. */
  readonly lost?: FirewallOwned | null;
  readonly failure: JobFailure | null;
  readonly attempts: number;
}

export interface Ask {
  readonly claimant: ActorId;
  readonly claimId: string;
  readonly mode: 'open' | 'prune';
  /** The claimant's address and the node on which it was confirmed; null when it stands nowhere. */
  readonly holder: { readonly address: Address; readonly node: NodeRef } | null;
  /** Everything it claims is open; only the pruning is left. */
  readonly isOpen: boolean;
  /** Since when it waits for the provider to apply it on its node, ms since the epoch; absent while it does not. */
  readonly since?: number;
}

export interface FirewallMachineInput {
  readonly id: ActorId;
  readonly provider: string;
  readonly firewall: string;
  readonly owned?: FirewallOwned;
  /** After the records were lost: what claimants may need until they say what they do. */
  readonly claims?: Readonly<Record<ActorId, Held>>;
  /** Calls of before that may still change it; null or absent when none can. It ends in time once the firewall has been told to go on. */
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

/** A call that was sent and of which no answer was heard may still change a firewall, until a call's deadline has passed. Then only a look tells. */
export interface FirewallDoubt {
  /** Of the job that sent it, or of either. What may still be removed does not count as open; what may still be added is not removed, since it is not there yet. */
  readonly of: 'open' | 'prune' | 'both';
  /** Ms since the epoch. */
  readonly until: number;
  /** How long it may last at most, ms, where that is longer than a call: as long as others may still send it. */
  readonly wholeMs?: number;
}
