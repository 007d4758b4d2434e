import type { AddressEvent, RetirePolicy } from '../events.ts';
import { NO_FIREWALL } from '../firewall/policy.ts';
import type { Confirmation, JobOutput } from '../jobs.ts';
import type { BackoffTables } from '../model/backoff.ts';
import type { FirewallPolicy } from '../model/firewall-policy.ts';
import type { ActorId, Address, JobFailure, NodeRef, ObservedAddress, Place, ProviderID } from '../model/types.ts';

/** State of an address: the minimum needed for its decisions. */
export interface AddressContext extends Pick<AddressInput, 'id' | 'pool' | 'provider' | 'address' | 'origin'> {
  /** False until the provider was read, and again when that reading may be void. */
  readonly known: boolean;
  /** Its holder at the provider, as last read or confirmed. */
  readonly holder: ProviderID | null;
  /** When a Job last read the holder, ms since the epoch: no list covers addresses driven by Jobs. Absent when none did. */
  readonly foundAt?: number;
  readonly region: string;
  /** The node granted by the pool. */
  readonly elected: NodeRef | null;
  /** Whether `elected` may (still) hold an address, as last reported by the pool. */
  readonly eligible: boolean;
  readonly spaced: boolean;
  /** The node on which the provider confirmed the address; kept when that node no longer matches, as long as the address stays there. */
  readonly assigned: NodeRef | null;
  /** Former holders whose firewall rules are not pruned yet. */
  readonly previous: readonly NodeRef[];
  /** Counts elections. Informational for users and the provider port, not a fence. */
  readonly epoch: number;
  /** It was granted a node but never confirmed on one; absent for false. */
  readonly unconfirmed?: boolean;
  /** Where it was found, as long as it is not owned (see isOwn); null or absent once it is, and before it was found. */
  readonly place?: Place | null;
  /** It is read once more before the assign is sent, as long as it was never confirmed; absent for false. */
  readonly looks?: boolean;
  /** Not null while an assign of unknown outcome may still take effect: nothing is sent before this time (ms since the epoch) and a read. */
  readonly inDoubtUntil: number | null;
  readonly policy: FirewallPolicy;
  /** Firewalls on which it may have claims. */
  readonly claimed: readonly ActorId[];
  /** What a firewall last reported as open for it; null or absent for nothing. */
  readonly open?: OpenPorts | null;
  /** Why something no longer needed was left in a firewall; null or absent when nothing was. */
  readonly deferred?: string | null;
  /** How many addresses one node may hold, where the provider alone does not decide that; otherwise null. */
  readonly perNode: number | null;
  readonly failure: JobFailure | null;
  /** Consecutive failures. */
  readonly attempts: number;
  readonly coolOffUntil: number | null;
  /** The policy of its Jobs has changed since they were started; false or absent for no. */
  readonly renewed?: boolean;
  /** Where CoolOff continues. */
  readonly resume: ResumeState;
  readonly retiring: RetirePolicy | null;
  /** Fixed when the address was started; absent where its claims count cluster-wide. */
  readonly claimsWithin?: string;
  /** It was requested to be on no node: `asked` until it is detached, or found on none, then `done`. Null or absent for no. */
  readonly parked?: 'asked' | 'done' | null;
  /** Nodes on which its firewall did not come into effect in time; null or absent for none. */
  readonly unopened?: readonly string[] | null;
  /** Addresses that its owner gave up and that may be detached from the granted node; null or absent for none. */
  readonly vacates?: readonly Address[] | null;
  /** When the node was granted, the address served on another, working node; false or absent for no. */
  readonly serves?: boolean;
}

export interface OpenPorts {
  readonly firewall: ActorId;
  readonly node: string;
  readonly ports: readonly string[];
  /** Ports needed by others that are open on the node as well: the rules of a firewall apply to all its nodes. */
  readonly also: readonly string[];
}

export type ResumeState = 'Unassigned' | 'FirewallOpening' | 'Assigning' | 'Pruning' | 'Releasing';

export interface AddressInput {
  readonly id: ActorId;
  readonly pool: ActorId;
  readonly provider: string;
  readonly address: Address;
  readonly origin: 'Found' | 'Created';
  /** What the provider reported, null when nothing usable is known. */
  readonly observed: ObservedAddress | null;
  readonly remembered?: Remembered;
  /** For a RoutedIP; absent for no firewall. */
  readonly policy?: FirewallPolicy;
  readonly perNode?: number;
  /** The namespace within which its claims on nodes count; absent where they count cluster-wide. */
  readonly claimsWithin?: string;
}

/** State that a rebuild restores from the owner's status. */
export interface Remembered {
  readonly epoch: number;
  readonly unconfirmed?: true;
  readonly inDoubtUntil: number | null;
  /** The node to which an assign may be under way: no other address may have it before the address was read. */
  readonly toward?: string;
  /** The last node elected for it: it may carry the mark of the address, and an assign may have been sent since. */
  readonly elected?: string;
  /** The node on which it was confirmed and stayed. */
  readonly on?: NodeRef;
  /** Others have that node now: the address has no claim on it and must leave it. */
  readonly isTaken?: true;
  /** Firewalls that were changed for it. */
  readonly claimed?: readonly ActorId[];
  /** It was on a node, or was created for its owner. */
  readonly shown?: true;
  /** The machine on which it served. */
  readonly servedOn?: ProviderID;
  /** Until when it is left to another controller that moves it, ms since the epoch. */
  readonly contendedUntil?: number;
}

/** Outcomes of the jobs that the chart invokes, as events. */
export type AddressOutcome =
  | { readonly type: 'xstate.done.actor.find'; readonly output: ObservedAddress; readonly at: number }
  | { readonly type: 'xstate.done.actor.assign'; readonly output: Confirmation; readonly at: number }
  | { readonly type: 'xstate.done.actor.unassign'; readonly output: JobOutput<'unassign'>; readonly at: number }
  | { readonly type: `xstate.done.actor.${'release' | 'elect'}`; readonly output: unknown; readonly at: number }
  | {
      readonly type: `xstate.error.actor.${'find' | 'assign' | 'unassign' | 'release' | 'elect'}`;
      readonly error: JobFailure;
      readonly at: number;
    };

export type AnyAddressEvent = AddressEvent | AddressOutcome;

/** Settings of the operator; the same for all addresses of a process. */
export interface AddressSettings {
  readonly backoff: BackoffTables;
  /** How long a call may still take effect after it was sent, ms. */
  readonly callDeadlineMs: number;
  /** Interval between reads of an address that is not taken and that no list covers, ms. */
  readonly verifyEveryMs: number;
}

/** The node by name only: enough to claim it, too little to assign to it. */
const towardIn = ({ toward, inDoubtUntil }: Partial<Remembered> = {}): NodeRef | null =>
  toward !== undefined && inDoubtUntil !== null ? { name: toward, providerID: '' as ProviderID } : null;

/** A node that no longer serves keeps the address and its mark until the address has moved; the same applies when only the status remains. A node that others have now keeps
 *  only the mark. */
function whereItIs({ observed, remembered }: AddressInput): Pick<AddressContext, 'assigned' | 'previous'> {
  const on = remembered?.on && remembered.on.providerID === observed?.providerID ? remembered.on : null;
  return remembered?.isTaken ? { assigned: null, previous: on ? [on] : [] } : { assigned: on, previous: [] };
}

/** An owned address needs no place. */
function whatIsNotOwn({ origin, observed, remembered }: AddressInput): Pick<AddressContext, 'unconfirmed' | 'place'> {
  const { epoch = 0, unconfirmed } = remembered ?? {};
  const known = { ...(unconfirmed && { unconfirmed }) };
  return observed && !isOwn({ origin, epoch, ...known }) ? { ...known, place: observed.place ?? 'Free' } : known;
}

export const addressContext = (input: AddressInput): AddressContext => ({
  id: input.id,
  pool: input.pool,
  provider: input.provider,
  address: input.address,
  origin: input.origin,
  known: input.observed !== null && !input.observed.locked,
  holder: input.observed?.providerID ?? null,
  region: input.observed?.region ?? '',
  elected: towardIn(input.remembered),
  eligible: false,
  spaced: false,
  ...whereItIs(input),
  epoch: input.remembered?.epoch ?? 0,
  ...whatIsNotOwn(input),
  inDoubtUntil: input.remembered?.inDoubtUntil ?? null,
  policy: input.policy ?? NO_FIREWALL,
  claimed: input.remembered?.claimed ?? [],
  perNode: input.perNode ?? null,
  failure: null,
  attempts: 0,
  coolOffUntil: null,
  resume: 'Unassigned',
  retiring: null,
  ...(input.claimsWithin !== undefined && { claimsWithin: input.claimsWithin }),
});

/** An address is owned once it was created for its owner or confirmed on a node for it: from then on nothing here delays it. Records and statuses of earlier versions hold
 *  only elections: there an election counts as confirmation. */
export const isOwn = ({ origin, epoch, unconfirmed }: Pick<AddressContext, 'origin' | 'epoch' | 'unconfirmed'>): boolean =>
  origin === 'Created' || (epoch > 0 && !unconfirmed);
