import type { AddressEvent, RetirePolicy } from '../events.ts';
import { NO_FIREWALL } from '../firewall/policy.ts';
import type { Confirmation, JobOutput } from '../jobs.ts';
import type { BackoffTables } from '../model/backoff.ts';
import type { FirewallPolicy } from '../model/firewall-policy.ts';
import type { ActorId, Address, JobFailure, NodeRef, ObservedAddress, Place, ProviderID } from '../model/types.ts';

/** What an address remembers: the least that decides. */
export interface AddressContext extends Pick<AddressInput, 'id' | 'pool' | 'provider' | 'address' | 'origin'> {
  /** False until the provider was read, and again when what was read may be void. */
  readonly known: boolean;
  /** Who holds it at the provider, as last read or confirmed. */
  readonly holder: ProviderID | null;
  /** When a Job last found who holds it, ms since the epoch: nobody lists what Jobs drive. Absent when none did. */
  readonly foundAt?: number;
  readonly region: string;
  /** The node granted by the pool. */
  readonly elected: NodeRef | null;
  /** Whether `elected` may (still) hold an address, as last told by the pool. */
  readonly eligible: boolean;
  readonly spaced: boolean;
  /** The node on which the provider confirmed the address; kept when that node no longer matches, as long as the address stays there. */
  readonly assigned: NodeRef | null;
  /** Former holders whose firewall rules are not pruned yet. */
  readonly previous: readonly NodeRef[];
  /** Counts elections. For people and the provider port, not a fence. */
  readonly epoch: number;
  /** It was granted a node, and was never confirmed on one; absent for false. */
  readonly unconfirmed?: boolean;
  /** Where it was found, as long as it was never its owner's; null or absent for one that is, and before it was found. */
  readonly place?: Place | null;
  /** It is looked at once more before the assign is sent, as long as it was never confirmed; absent for false. */
  readonly looks?: boolean;
  /** Not null while an assign may still take effect although its outcome is unknown: nothing is sent before this time (ms since the epoch) and a read. */
  readonly inDoubtUntil: number | null;
  readonly policy: FirewallPolicy;
  /** Firewalls on which it may have claims. */
  readonly claimed: readonly ActorId[];
  /** What a firewall has said last to be open for it; null or absent for nothing. */
  readonly open?: OpenPorts | null;
  /** Why something that nobody needs any more was left in a firewall; null or absent when nothing was. */
  readonly deferred?: string | null;
  /** How many addresses one node may hold, where that is not up to the provider alone; null else. */
  readonly perNode: number | null;
  readonly failure: JobFailure | null;
  /** Failures in a row. */
  readonly attempts: number;
  readonly coolOffUntil: number | null;
  /** What its Jobs go by has changed since they were begun; false or absent for no. */
  readonly renewed?: boolean;
  /** Where CoolOff goes on. */
  readonly resume: ResumeState;
  readonly retiring: RetirePolicy | null;
  /** As it was when the address was started; absent where its claims count for all. */
  readonly claimsWithin?: string;
  /** Somebody wants it on no node: `asked` until it is, or is found on none, then `done`. Null or absent for no. */
  readonly parked?: 'asked' | 'done' | null;
  /** Nodes on which its firewall did not come into effect in time; null or absent for none. */
  readonly unopened?: readonly string[] | null;
  /** Addresses that its owner gave up, and that may be taken off the granted node; null or absent for none. */
  readonly vacates?: readonly Address[] | null;
  /** When the node was granted it served on another one that worked; false or absent for no. */
  readonly serves?: boolean;
}

export interface OpenPorts {
  readonly firewall: ActorId;
  readonly node: string;
  readonly ports: readonly string[];
  /** Ports that others need are open on the node as well: the rules of a firewall hold for all its nodes. */
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
  /** Of a RoutedIP; absent for no firewall. */
  readonly policy?: FirewallPolicy;
  readonly perNode?: number;
  /** The namespace within which its claims on nodes count; absent where they count for all. */
  readonly claimsWithin?: string;
}

/** What a rebuild takes over from the owner's status. */
export interface Remembered {
  readonly epoch: number;
  readonly unconfirmed?: true;
  readonly inDoubtUntil: number | null;
  /** The node to which an assign may be under way: nobody else is to have it before the address was read. */
  readonly toward?: string;
  /** The node that was chosen for it last: it may bear its mark, and an assign may have been sent since. */
  readonly elected?: string;
  /** The node on which it was confirmed, and where it stayed. */
  readonly on?: NodeRef;
  /** Others have that node by now: it has no claim on it, and is to leave it. */
  readonly isTaken?: true;
  /** Firewalls to which something was added for it. */
  readonly claimed?: readonly ActorId[];
  /** It was on a node, or was made for its owner. */
  readonly shown?: true;
  /** The machine on which it served. */
  readonly servedOn?: ProviderID;
  /** Until when it was left to somebody else who moves it, ms since the epoch. */
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

/** Figures that an operator may set; the same for all addresses of a process. */
export interface AddressSettings {
  readonly backoff: BackoffTables;
  /** How long a call may still take effect after it was sent, ms. */
  readonly callDeadlineMs: number;
  /** From one look for an address that is not taken, and that nobody lists, to the next, ms. */
  readonly verifyEveryMs: number;
}

/** By its name alone: enough to claim it, too little to assign to it. */
const towardIn = ({ toward, inDoubtUntil }: Partial<Remembered> = {}): NodeRef | null =>
  toward !== undefined && inDoubtUntil !== null ? { name: toward, providerID: '' as ProviderID } : null;

/** A node that serves no more keeps the address, and its mark, until that has moved: so it does when all that is remembered of it is what was shown. One that
 *  others have by now keeps the mark alone. */
function whereItIs({ observed, remembered }: AddressInput): Pick<AddressContext, 'assigned' | 'previous'> {
  const on = remembered?.on && remembered.on.providerID === observed?.providerID ? remembered.on : null;
  return remembered?.isTaken ? { assigned: null, previous: on ? [on] : [] } : { assigned: on, previous: [] };
}

/** Of one that is its owner's nobody asks. */
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

/** An address is its owner's once it was made for it, or was confirmed on a node for it: from then on nothing here holds it up. Records and statuses of before tell of
 *  elections alone: whoever was elected then had it. */
export const isOwn = ({ origin, epoch, unconfirmed }: Pick<AddressContext, 'origin' | 'epoch' | 'unconfirmed'>): boolean =>
  origin === 'Created' || (epoch > 0 && !unconfirmed);
