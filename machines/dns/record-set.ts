import type {
  ClusterObserved,
  Decision,
  Deleted,
  Effect,
  RecordsApplied,
  RecordsAsked,
  RecordsClaimed,
  RecordsFailure,
  RecordsWanted,
  Resume,
  SpecObserved,
} from '../events.ts';
import { zoneActor } from '../model/actor-id.ts';
import { fullName, type RecordTarget } from '../model/dns.ts';
import { matching, queryOf } from '../model/matching.ts';
import type { ActorId, Address, ObjectRef, ObservedNode } from '../model/types.ts';
import { type ErrorReason, refusedNow } from '../spec/operator-credentials.ts';
import { type AddressType, checkRecordSetSpec, type RecordSetSpec } from '../spec/record-set.ts';
import { nameTaken } from './zone.ts';

/** State of a record set: what it publishes, where, and the outcome. */
export interface RecordSetContext extends RecordSetInput {
  readonly generation: number;
  /** The last valid spec; null before the first one, and for a pool's set. */
  readonly spec: RecordSetSpec | null;
  /** Why the current spec is not valid; null when it is. */
  readonly error: string | null;
  /** Reason for that error where the spec is not the cause; null or absent where it is. */
  readonly errorReason?: ErrorReason | null;
  /** The wanted state was determined since the last load and the last change of the spec. */
  readonly isKnown: boolean;
  /** Matching nodes, and the names of those among them without an address of the wanted type. */
  readonly nodes: number;
  readonly without: readonly string[];
  readonly target: RecordTarget | null;
  /** The other owner of the name: nothing is claimed then. Null or absent for none. */
  readonly owner?: string | null;
  /** The owner of the name in the spec, as observed with the spec: applied once its nodes are known. Null or absent for none. */
  readonly nameOwner?: string | null;
  /** Sorted. */
  readonly addresses: readonly Address[];
  /** Counts the changes of the wanted state. */
  readonly revision: number;
  /** This revision was sent to the zone since the last load. */
  readonly isClaimed: boolean;
  /** Outcome of this revision; null until its zone reports it. */
  readonly outcome: { readonly failure: RecordsFailure | null } | null;
}

export interface RecordSetInput {
  readonly id: ActorId;
  readonly ref: ObjectRef | null;
  readonly since: number;
}

export interface RecordSetSettings {
  /** How long a claim may stay unanswered before it is repeated, ms. */
  readonly verifyEveryMs: number;
}

export type AnyRecordSetEvent =
  | Omit<SpecObserved, 'conflicts'>
  | ClusterObserved
  | RecordsWanted
  | RecordsApplied
  | RecordsAsked
  | Deleted
  | Resume;

export const recordSetContext = ({ id, ref, since }: RecordSetInput): RecordSetContext => ({
  id,
  ref,
  since,
  generation: 0,
  spec: null,
  error: null,
  isKnown: false,
  nodes: 0,
  without: [],
  target: null,
  addresses: [],
  revision: 0,
  isClaimed: false,
  outcome: null,
});

type Next = Decision<RecordSetContext>;
const next = (context: RecordSetContext, effects: readonly Effect[] = []): Next => ({ context, effects });

/** Phase of a record set, derived from its context. */
export type Phase = 'Invalid' | 'Priming' | 'Empty' | 'Publishing' | 'Published' | 'Failed';

export function phaseOf({ error, isKnown, target, addresses, outcome }: RecordSetContext): Phase {
  if (error !== null) return 'Invalid';
  if (!isKnown) return 'Priming';
  if (!target || addresses.length === 0) return 'Empty';
  if (!outcome) return 'Publishing';
  return outcome.failure ? 'Failed' : 'Published';
}

/** Full name of the record, for users and metrics; empty when none is wanted. */
export const recordName = ({ target }: RecordSetContext): string => (target ? fullName(target) : '');

// ---------------------------------------------------------------- facts

/** Takes over a valid spec, otherwise records why it is invalid: published records stay. When the spec changes, its nodes count as unknown until they are observed again. */
export function observeSpec(context: RecordSetContext, event: Omit<SpecObserved, 'conflicts'>): Next {
  const { generation } = event;
  if (generation < context.generation) return next(context);
  const refusal = refusedNow(event.refusal, context.spec !== null && context.error === null);
  const checked = refusal ? { spec: null, error: refusal.message, reason: refusal.reason } : checkRecordSetSpec(event.spec, event.registry);
  const { spec, error } = checked;
  const errorReason = (checked.spec === null && checked.reason) || null;
  const reason = errorReason !== null || context.errorReason ? { errorReason } : {};
  if (!spec) return next({ ...context, ...reason, generation, error, isKnown: false });
  const isSame = JSON.stringify(spec) === JSON.stringify(context.spec);
  const { target, addresses, since } = context;
  const owner = event.nameOwner ?? null;
  const named = owner !== null || context.nameOwner ? { nameOwner: owner } : {};
  const observed = { ...context, ...named, ...reason, generation, spec, error: null, isKnown: context.isKnown && isSame };
  return observed.isKnown ? want(observed, { target, addresses, since, owner }) : next(observed);
}

/** Wants the addresses of all matching nodes. */
export function observeCluster(context: RecordSetContext, event: ClusterObserved): Next {
  const { spec, error } = context;
  if (!spec || error !== null || event.query !== queryOf(spec.match)) return next(context);
  const names = new Set(matching(event.nodes, event.serving, spec.match).map(({ name }) => name));
  const found = event.nodes
    .filter(({ name }) => names.has(name))
    .map((node) => ({ name: node.name, addresses: addressesOf(node, spec.addressType) }));
  const without = found.filter(({ addresses }) => addresses.length === 0).map(({ name }) => name);
  const seen: RecordSetContext = { ...context, isKnown: true, nodes: names.size, without: without.sort() };
  return want(seen, {
    target: spec.target,
    addresses: found.flatMap(({ addresses }) => addresses),
    since: context.since,
    owner: context.nameOwner ?? null,
  });
}

/** The addresses of a node of the given type, IPv4 and IPv6. */
function addressesOf(node: ObservedNode, type: AddressType): readonly Address[] {
  switch (type) {
    case 'ExternalIP':
      return node.externalIPs ?? [];
    case 'InternalIP':
      return node.internalIPs ?? [];
    case 'flipop.digitalocean.com/ipv4-reserved-ip':
      return (node.reservedIPs ?? []).filter((address) => !address.includes(':'));
    case 'flipop.digitalocean.com/ipv6-reserved-ip':
      return (node.reservedIPs ?? []).filter((address) => address.includes(':'));
  }
}

export const noteWanted = (context: RecordSetContext, wanted: RecordsWanted): Next => want({ ...context, isKnown: true }, wanted);

// ---------------------------------------------------------------- the zone

type Wanted = Pick<RecordsWanted, 'target' | 'addresses' | 'since' | 'owner'>;

/** Claims the wanted state, once for each change and once after a load. When the zone changes, the former zone first gets its claim back; without addresses there is nothing to
 *  claim, and the records stay as they are. */
function want(context: RecordSetContext, { target, since, owner = null, addresses: unordered }: Wanted): Next {
  const addresses = [...new Set(unordered)].sort();
  const before = [context.target, context.addresses, context.since, context.owner ?? null];
  const isSame = JSON.stringify(before) === JSON.stringify([target, addresses, since, owner]);
  if (isSame && context.isClaimed) return next(context);
  const revision = isSame ? context.revision : context.revision + 1;
  const outcome = owner !== null && target ? takenBy(owner, target) : isSame ? context.outcome : null;
  const owned = owner !== null || context.owner ? { owner } : {};
  const changed = { ...context, ...owned, target, addresses, since, revision, outcome, isClaimed: true };
  const [former, zone] = [claimedZone(context), claimedZone(changed)];
  return next(changed, [...(former !== null && former !== zone ? [giveBack(changed, former)] : []), ...claim(changed)]);
}

const takenBy = (owner: string, target: RecordTarget): RecordSetContext['outcome'] => ({
  failure: { kind: 'Conflict', message: nameTaken(fullName(target), owner) },
});

/** The zone where the set has a claim. */
const claimedZone = ({ target, owner, addresses }: RecordSetContext): ActorId | null =>
  target && !owner && addresses.length > 0 ? zoneActor(target.provider, target.zone) : null;

const tell = (to: ActorId, event: Omit<RecordsClaimed, 'at'>): Effect => ({ type: 'tell', params: { to, event } });

function claim(context: RecordSetContext): readonly Effect[] {
  const { id, target, addresses, revision, since } = context;
  const zone = claimedZone(context);
  if (!zone || !target) return [];
  const { recordName: name, ttlSeconds } = target;
  return [tell(zone, { type: 'RECORDS', claimant: id, revision, since, recordName: name, ttlSeconds, addresses })];
}

const giveBack = ({ id, revision, since }: RecordSetContext, zone: ActorId): Effect =>
  tell(zone, { type: 'RECORDS', claimant: id, revision, since, recordName: '', ttlSeconds: 0, addresses: [] });

/** Answers for other revisions than the current one are out of date. */
export const noteApplied = (context: RecordSetContext, { revision, failure }: RecordsApplied): Next =>
  next(revision === context.revision && !context.owner ? { ...context, outcome: { failure } } : context);

/** Repeats the claim. */
export const claimAgain = (context: RecordSetContext): Next => next(context, claim(context));

/** A zone asks whether its claim still holds. No answer before the wanted state is known. */
export function answerZone(context: RecordSetContext, { zone }: RecordsAsked): Next {
  if (zone !== claimedZone(context)) return next(context, [giveBack(context, zone)]);
  return context.isClaimed ? claimAgain(context) : next(context);
}

/** After a load: a pool's set repeats its last claim. A NodeDNSRecordSet does so once its nodes were observed: they may have changed since. */
export const resume = (context: RecordSetContext): Next =>
  context.ref === null ? claimAgain(context) : next({ ...context, isKnown: false, isClaimed: false });

/** Gives the claim back; the records stay. */
export function withdraw(context: RecordSetContext): Next {
  const zone = claimedZone(context);
  return next({ ...context, target: null, addresses: [] }, zone ? [giveBack(context, zone)] : []);
}
