import type { Remembered } from '../address/context.ts';
import type { Decision, Effect, Room } from '../events.ts';
import { addressActor } from '../model/actor-id.ts';
import { familyOf } from '../model/address.ts';
import type { BackoffTables } from '../model/backoff.ts';
import type { RecordTarget } from '../model/dns.ts';
import { queryOf } from '../model/matching.ts';
import { memo } from '../model/memo.ts';
import { serviceQueryOf } from '../model/service-ref.ts';
import type {
  ActorId,
  Address,
  Candidate,
  Family,
  JobFailure,
  Leaving,
  NodeRef,
  ObjectRef,
  ObservedAddress,
  ProviderID,
} from '../model/types.ts';
import { type Absence, nodeKey, stoodIn } from '../policy/recovery-grace.ts';
import type { ErrorReason } from '../spec/operator-credentials.ts';
import type { PoolSpec } from '../spec/pool.ts';
import type { NotedMarks } from './annotations.ts';
import { isUnderWay, type Member } from './assignment.ts';
import { type Binding, type Exposed, exposedBefore } from './exposed.ts';
import type { GaveUp } from './gave-up.ts';

/** State of a pool: the minimum needed for its decisions. */
export interface PoolContext {
  readonly id: ActorId;
  readonly ref: ObjectRef;
  readonly generation: number;
  /** The last valid spec; null before the first one. */
  readonly spec: PoolSpec | null;
  /** Why the current spec is not valid; null when it is. */
  readonly error: string | null;
  /** Reason for that error where the spec is not the cause; null or absent where it is. For a RoutedIP it is in `exposed`. */
  readonly errorReason?: ErrorReason | null;
  /** What users request by annotations; null or absent for nothing. */
  readonly marks?: NotedMarks | null;
  /** State of a RoutedIP; null for a FloatingIPPool. */
  readonly exposed: Exposed | null;
  /** Addresses of the spec that another object has, with the name of that object. */
  readonly conflicts: Readonly<Record<Address, string>>;
  /** Other owner of the name of its record set; null or absent for none. */
  readonly nameOwner?: string | null;
  /** The selectors under which `candidates` were found; null before the first fact. */
  readonly query: string | null;
  /** Eligible nodes, the next one first. */
  readonly candidates: readonly Candidate[];
  /** Nodes that match except for being about to go: they keep their addresses until those can move. */
  readonly leaving: readonly Leaving[];
  /** Nodes that stopped matching and may come back, sorted by name; some of them keep their addresses meanwhile. */
  readonly absent: readonly Absence[];
  /** Too many nodes went away at once: nothing is moved. */
  readonly held: boolean;
  /** The selectors under which nodes were last found: nodes that only other selectors matched do not count as absent. */
  readonly matchedBy: string | null;
  /** Absent nodes whose machines are being looked up at the provider. */
  readonly asking: readonly NodeRef[];
  /** The time of the next check of the absent nodes; null for none. */
  readonly recoverAt: number | null;
  readonly members: Readonly<Record<Address, Member>>;
  /** Provider of the current members. */
  readonly provider: string;
  readonly nextRank: number;
  /** By node: the next retry, and the failures so far. */
  readonly backOff: Readonly<Record<string, NodeBackOff>>;
  /** Claims that others hold: on nodes, by family; `@` and an address that another pool runs; `#create` while another one creates an address. */
  readonly fullNodes: readonly string[];
  /** The provider's last report on all addresses of the token; null before the first. Used to start addresses, then dropped. */
  readonly provided: Readonly<Record<Address, ObservedAddress>> | null;
  /** Holders of addresses that are not members, as last reported. */
  readonly occupied: readonly ProviderID[];
  readonly lastAssignmentAt: number | null;
  readonly acquiring: Acquiring;
  /** Whether its namespace may keep one more address; null or absent where there is no limit. Used up when a creation begins. */
  readonly room?: Room | null;
  /** Addresses that this pool created, wanted or not: reused before another is created. */
  readonly created: readonly Address[];
  /** How often in a row its spec lost addresses that were added to it; 0 or absent for never. */
  readonly reverts?: number;
  readonly remembered: Readonly<Record<Address, Remembered>>;
  /** The machines on which restarted addresses served before, until the addresses report where they are; null or absent for none. */
  readonly stood?: Readonly<Record<Address, ProviderID>> | null;
  /** The time of the next grant; null for none. */
  readonly grantAt: number | null;
  readonly deleted: boolean;
  /** Addresses that left the pool most recently, and those that it had when it was deleted: their annotations are then removed from all nodes. */
  readonly left: readonly Address[];
  /** Own addresses that it gave up recently where they were, while no other node was spare: their successors may need the room. Absent for none. */
  readonly gaveUp?: readonly GaveUp[];
  /** Creation of the object, ms since the epoch. */
  readonly since: number;
  /** The last target and addresses sent to the pool's record set; null while there is none. */
  readonly named: Named | null;
}

export interface NodeBackOff {
  /** When the back-off began; absent in records written by earlier versions. */
  readonly since?: number;
  readonly until: number;
  /** When an address that is not serving meanwhile may retry it, where that is sooner; absent otherwise. */
  readonly urgentAt?: number;
  readonly attempts: number;
  /** The provider's message; absent in records written by earlier versions. */
  readonly message?: string;
}

/** Progress of the creation of an address. */
export interface Acquiring {
  /** True while the existing addresses are listed before a creation: from then on no other pool may create. */
  readonly intending: boolean;
  /** Written before the call; null while none is under way. Kept while `unclear`, so that a rebuild finds the same state. */
  readonly intent: { readonly knownAddresses: readonly Address[]; readonly listedAt: number; readonly region: string } | null;
  /** Time (ms since the epoch) from which a list shows the outcome of the call; null before the call. */
  readonly inDoubtUntil: number | null;
  /** The intent was found in the status and has not been looked up since, or others may create since: it does not claim that right while they hold it. Absent otherwise. */
  readonly remembered?: true;
  /** The outcome of the call is unknown as long as the account refuses the credentials: others create meanwhile, and what a list shows later may be theirs. Absent before. */
  readonly othersCreate?: true;
  /** The spec under which it began, where addresses are created elsewhere under the current one; otherwise absent. */
  readonly by?: PoolSpec;
  /** The policy of its Jobs has changed since it began; false or absent for no. */
  readonly renewed?: boolean;
  /** When the last intent that was dropped before anything was sent was recorded; absent for none. */
  readonly dropped?: number;
  /** The created address is no longer wanted and is being given back: the intent stays until it is gone, so that a rebuild does not lose it. Absent for none. */
  readonly givenBack?: Address;
  /** Exists at the provider, but is not in `spec.ips` yet. */
  readonly unpublished: Address | null;
  /** Published, but no spec of that generation or later was observed yet. */
  readonly published: readonly Address[];
  /** Generation of the spec in which the last of them was published; 0 for none. */
  readonly publishedIn: number;
  /** More than one address may be ours: a user has to decide. */
  readonly unclear: readonly Address[];
  readonly failure: JobFailure | null;
  readonly attempts: number;
  readonly until: number | null;
}

/** What a record set should hold, and where; `target` null for nowhere. */
export interface Named {
  readonly target: RecordTarget | null;
  readonly addresses: readonly Address[];
  /** The other owner of the name; absent for none. */
  readonly owner?: string;
}

export interface PoolInput {
  readonly id: ActorId;
  readonly ref: ObjectRef;
  /** Creation of the object, ms since the epoch. */
  readonly since: number;
  /** The provider named by its spec, valid or not; absent where unknown. A remembered creation is held from the start: no other pool may create there meanwhile. */
  readonly provider?: string;
  /** State recovered from the object's status after the records were lost. */
  readonly remembered?: RememberedPool;
}

/** For a RoutedIP, with its binding. */
export interface RememberedPool extends Partial<Binding> {
  readonly lastAssignmentAt: number | null;
  readonly intent: Acquiring['intent'];
  /** The spec under which that began, as far as records show. */
  readonly by?: PoolSpec;
  /** Time (ms since the epoch) until which a creation that was under way may still take effect. */
  readonly inDoubtUntil: number;
  readonly created: readonly Address[];
  readonly addresses: PoolContext['remembered'];
  readonly absent: PoolContext['absent'];
  readonly held: boolean;
}

export interface PoolSettings {
  readonly backoff: BackoffTables;
  readonly callDeadlineMs: number;
}

/** In the claims, stands for the right to create an address: comparing the lists from before and after identifies a new one only while no other pool creates. */
export const CREATE_CLAIM = '#create';

/** In the claims, stands for the turn of pools whose assignments are spaced together: one of them is granted a node at a time. */
export const turnClaim = (turn: string): string => `#turn/${turn}`;

/** In the claims, stands for an address: one actor runs it at a time. A pool that takes over an address waits until the other pool has released it. */
export const addressClaim = (address: Address): string => `@${address}`;

export const NOT_ACQUIRING: Acquiring = {
  intending: false,
  intent: null,
  inDoubtUntil: null,
  unpublished: null,
  published: [],
  publishedIn: 0,
  unclear: [],
  failure: null,
  attempts: 0,
  until: null,
};

export const poolContext = ({ id, ref, since, provider = '', remembered }: PoolInput): PoolContext => ({
  id,
  ref,
  since,
  named: null,
  generation: 0,
  spec: null,
  error: null,
  exposed: ref.kind === 'RoutedIP' ? exposedBefore(remembered) : null,
  conflicts: {},
  query: null,
  candidates: [],
  leaving: [],
  absent: remembered?.absent ?? [],
  held: remembered?.held ?? false,
  matchedBy: null,
  asking: [],
  recoverAt: null,
  members: {},
  provider,
  nextRank: 1,
  backOff: {},
  fullNodes: [],
  provided: null,
  occupied: [],
  lastAssignmentAt: remembered?.lastAssignmentAt ?? null,
  acquiring: {
    ...NOT_ACQUIRING,
    ...(remembered?.intent && { intent: remembered.intent, inDoubtUntil: remembered.inDoubtUntil, remembered: true }),
    ...(remembered?.intent && remembered.by && { by: remembered.by }),
    ...(remembered?.bound && { published: [remembered.bound], publishedIn: Number.MAX_SAFE_INTEGER }),
  },
  created: remembered?.created ?? [],
  remembered: remembered?.addresses ?? {},
  ...stoodIn(remembered?.addresses ?? {}),
  grantAt: null,
  deleted: false,
  left: [],
});

export type Next = Decision<PoolContext>;
export const next = (context: PoolContext, effects: readonly Effect[] = []): Next => ({ context, effects });

export const tell = (
  context: PoolContext,
  address: Address,
  event: { readonly type: string; readonly [field: string]: unknown },
): Effect => ({
  type: 'tell',
  params: { to: addressActor(context.id, address), event },
});

/** Where the address can go; empty for anywhere. On a platform driven by Jobs only the current class decides: an address is not bound to the region of its creation. */
export const regionOf = ({ spec }: Pick<PoolContext, 'spec'>, { region }: Pick<Member, 'region'>): string =>
  spec?.exposes?.subject ? spec.region : region;

const byNode = memo((leaving: readonly Leaving[]) => new Map(leaving.map((node) => [nodeKey(node), node])));

/** The node with that name and machine, if it is about to go. */
export const leavingNode = ({ leaving }: Pick<PoolContext, 'leaving'>, node: NodeRef): Leaving | undefined =>
  byNode(leaving).get(nodeKey(node));

export const entries = (members: PoolContext['members']): [Address, Member][] => Object.entries(members) as [Address, Member][];

// ---------------------------------------------------------------- claims about the pool

export const isValid = ({ spec, error }: PoolContext): boolean => spec !== null && error === null;

/** Everything that has to be known before anything moves: a valid spec, the nodes and pods under its selectors, and the provider. */
export const isPrimed = (context: PoolContext): boolean =>
  isValid(context) &&
  context.provided !== null &&
  context.spec !== null &&
  context.query === queryIn(context.spec) &&
  (context.exposed?.guarded ?? true);

/** Identifies what has to be watched for a spec. */
export const queryIn = ({ match, exposes }: PoolSpec): string =>
  exposes ? serviceQueryOf(exposes.service.namespace, exposes.service.name) : queryOf(match);

/** The addresses in the spec, plus those just published. */
export const named = memo(({ spec, acquiring }: PoolContext): readonly Address[] =>
  spec ? [...new Set([...spec.ips, ...acquiring.published])] : [],
);

/** It runs the address and is not retiring it. */
export const runs = ({ members }: PoolContext, address: Address): boolean => members[address]?.retiring === false;

/** The addresses in the spec, plus those that were removed after the operator had added them: they keep serving, within the desired number, until the spec names them again. */
export const listed = memo((context: PoolContext): readonly Address[] => {
  const { created, reverts = 0 } = context;
  return reverts === 0 ? named(context) : [...new Set([...named(context), ...created.filter((address) => runs(context, address))])];
});

export const wanted = memo((context: PoolContext): readonly Address[] =>
  listed(context)
    .slice(0, context.spec?.desired ?? 0)
    .filter((address) => context.conflicts[address] === undefined),
);

/** After the records were lost: the state in the status is not fully taken over yet, and the status is its only copy. */
export const isRemembering = ({ remembered }: PoolContext): boolean => Object.keys(remembered).length > 0;

/** The family of the pool's addresses: that of its listed addresses, which share one, or of those it creates. */
export const familyServed = ({ spec }: PoolContext): Family => (spec?.ips[0] ? familyOf(spec.ips[0]) : 4);

/** The spec names fewer addresses than the pool wants. */
export const lacks = (context: PoolContext): boolean => named(context).length < (context.spec?.desired ?? 0);

/** The same, and it has no other address to name: one has to be created. */
export const isShort = (context: PoolContext): boolean => listed(context).length < (context.spec?.desired ?? 0);

/** A creation is under way, or its outcome has to be looked up. */
export const isCreating = ({ intent, unclear, givenBack }: Acquiring): boolean =>
  intent !== null && unclear.length === 0 && givenBack === undefined;

/** Claims while an assignment is under way; the addresses have their own claims. An assignment that began before its class spaced it, or under another class, continues beside
 *  that of the pool whose turn it is. */
export const turnsTaken = ({ spec, members, fullNodes }: PoolContext): readonly string[] => {
  const turn = spec?.exposes?.turn ? turnClaim(spec.exposes.turn) : null;
  return turn !== null && Object.values(members).some(isUnderWay) && !fullNodes.includes(turn) ? [turn] : [];
};
