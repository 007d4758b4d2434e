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

/** What a pool remembers: the least that decides. */
export interface PoolContext {
  readonly id: ActorId;
  readonly ref: ObjectRef;
  readonly generation: number;
  /** The last valid spec; null before the first one. */
  readonly spec: PoolSpec | null;
  /** Why the present spec is not valid; null when it is. */
  readonly error: string | null;
  /** Of that, where it is no matter of the spec; null or absent where it is. A RoutedIP says it in `exposed`. */
  readonly errorReason?: ErrorReason | null;
  /** What people ask for by annotations; null or absent for nothing. */
  readonly marks?: NotedMarks | null;
  /** What all the rest of this section is about; null for a FloatingIPPool. */
  readonly exposed: Exposed | null;
  /** Addresses of the spec that another object has, by its name. */
  readonly conflicts: Readonly<Record<Address, string>>;
  /** Who has the name of its record set; null or absent for nobody else. */
  readonly nameOwner?: string | null;
  /** The selectors under which `candidates` were found; null before the first fact. */
  readonly query: string | null;
  /** Eligible nodes, the next one first. */
  readonly candidates: readonly Candidate[];
  /** Nodes that match but for being about to go: they keep their addresses until those can move. */
  readonly leaving: readonly Leaving[];
  /** Nodes that stopped matching and may come back, sorted by name; some of them keep their addresses meanwhile. */
  readonly absent: readonly Absence[];
  /** Too many nodes went at once: nothing is moved. */
  readonly held: boolean;
  /** The selectors under which nodes were last found: nodes that others let through are not absent. */
  readonly matchedBy: string | null;
  /** Absent nodes for whose machines the provider is being asked. */
  readonly asking: readonly NodeRef[];
  /** The time for which the next look at the absent nodes is set; null for none. */
  readonly recoverAt: number | null;
  readonly members: Readonly<Record<Address, Member>>;
  /** Provider of the present members. */
  readonly provider: string;
  readonly nextRank: number;
  /** By node: when it is tried again, and the failures so far. */
  readonly backOff: Readonly<Record<string, NodeBackOff>>;
  /** Claims that others hold: on nodes, by family; `@` and an address that another pool runs; `#create` while another one creates an address. */
  readonly fullNodes: readonly string[];
  /** What the provider reported of all addresses of the token when it was last told; null before. Used to start addresses, then dropped. */
  readonly provided: Readonly<Record<Address, ObservedAddress>> | null;
  /** Holders of addresses that are no members, as last reported. */
  readonly occupied: readonly ProviderID[];
  readonly lastAssignmentAt: number | null;
  readonly acquiring: Acquiring;
  /** Whether its namespace may keep one address more; null or absent where there is no limit. Used up as a creation begins. */
  readonly room?: Room | null;
  /** Addresses that this pool created, wanted or not: used again before another is created. */
  readonly created: readonly Address[];
  /** How often in a row its spec lost addresses that it was given; 0 or absent for never. */
  readonly reverts?: number;
  readonly remembered: Readonly<Record<Address, Remembered>>;
  /** The machines on which addresses served that were started anew since, until it is heard where they are; null or absent for none. */
  readonly stood?: Readonly<Record<Address, ProviderID>> | null;
  /** The time for which the next grant is set; null for none. */
  readonly grantAt: number | null;
  readonly deleted: boolean;
  /** Addresses that went from the pool, the last of them, and those that it had when it was deleted: then no node is to bear them as its annotation. */
  readonly left: readonly Address[];
  /** Addresses of its own that it gave up a short while ago where they stood, while no other node was spare: what comes after them may need the room. Absent for none. */
  readonly gaveUp?: readonly GaveUp[];
  /** Creation of the object, ms since the epoch. */
  readonly since: number;
  /** What the pool's record set was told last; null while there is none. */
  readonly named: Named | null;
}

export interface NodeBackOff {
  /** When it began; absent in records of before. */
  readonly since?: number;
  readonly until: number;
  /** When one that does not serve meanwhile tries it again, where that is sooner; absent where it is not. */
  readonly urgentAt?: number;
  readonly attempts: number;
  /** What the provider said; absent in records of before. */
  readonly message?: string;
}

/** How far the creation of an address has come. */
export interface Acquiring {
  /** True while the addresses that exist are listed before a creation: from there on nobody else may create. */
  readonly intending: boolean;
  /** Written before the call; null while none is under way. Kept while `unclear`, so that a rebuild finds the same. */
  readonly intent: { readonly knownAddresses: readonly Address[]; readonly listedAt: number; readonly region: string } | null;
  /** Time (ms since the epoch) from which a list can tell what became of the call; null before the call. */
  readonly inDoubtUntil: number | null;
  /** The intent was found in the status, and was not looked up since, or others may create since: it waits for no right that they have. Absent for one that was not. */
  readonly remembered?: true;
  /** What became of the call cannot be told as long as the account refuses the credentials: others create meanwhile, and what a list shows later may be theirs. Absent before. */
  readonly othersCreate?: true;
  /** The spec under which it was begun, where addresses are made elsewhere under the present one; absent else. */
  readonly by?: PoolSpec;
  /** What its Jobs go by has changed since it was begun; false or absent for no. */
  readonly renewed?: boolean;
  /** When the intent was recorded that was dropped last, before anything was sent; absent for none. */
  readonly dropped?: number;
  /** What was made is not wanted any more, and is being given back: until it is gone the intent stays, so that a rebuild does not lose it. Absent for none. */
  readonly givenBack?: Address;
  /** Exists at the provider, but does not stand in `spec.ips` yet. */
  readonly unpublished: Address | null;
  /** Published, but no spec was observed yet that is as new as that. */
  readonly published: readonly Address[];
  /** Generation of the spec in which the last of them was published; 0 for none. */
  readonly publishedIn: number;
  /** More than one address may be ours: a person decides. */
  readonly unclear: readonly Address[];
  readonly failure: JobFailure | null;
  readonly attempts: number;
  readonly until: number | null;
}

/** What a record set is to hold, and where; `target` null for nowhere. */
export interface Named {
  readonly target: RecordTarget | null;
  readonly addresses: readonly Address[];
  /** Who has the name instead; absent for nobody. */
  readonly owner?: string;
}

export interface PoolInput {
  readonly id: ActorId;
  readonly ref: ObjectRef;
  /** Creation of the object, ms since the epoch. */
  readonly since: number;
  /** The provider that its spec names, valid or not; absent for none that is known. A creation that is remembered is held from the start: no other pool may create there meanwhile. */
  readonly provider?: string;
  /** What the object's status remembers, when the records were lost. */
  readonly remembered?: RememberedPool;
}

/** Of a RoutedIP with what it has got. */
export interface RememberedPool extends Partial<Binding> {
  readonly lastAssignmentAt: number | null;
  readonly intent: Acquiring['intent'];
  /** The spec under which that was begun, as far as records tell. */
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

/** Stands in the claims for the right to create an address: lists from before and after tell a new one only while nobody else creates. */
export const CREATE_CLAIM = '#create';

/** Stands in the claims for the turn of those whose assignments are spaced together: one of them is granted a node at a time. */
export const turnClaim = (turn: string): string => `#turn/${turn}`;

/** Stands in the claims for an address: one actor runs it at a time. A pool that is to have an address of another one waits until that one let it go. */
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

/** Where the address can go; empty for anywhere. A platform that Jobs drive has no regions but what its class says now: an address is not made in one for good. */
export const regionOf = ({ spec }: Pick<PoolContext, 'spec'>, { region }: Pick<Member, 'region'>): string =>
  spec?.exposes?.subject ? spec.region : region;

const byNode = memo((leaving: readonly Leaving[]) => new Map(leaving.map((node) => [nodeKey(node), node])));

/** The node of that name and machine, when it is about to go. */
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

/** Names what has to be watched for a spec. */
export const queryIn = ({ match, exposes }: PoolSpec): string =>
  exposes ? serviceQueryOf(exposes.service.namespace, exposes.service.name) : queryOf(match);

/** The addresses that the spec names, with those just published. */
export const named = memo(({ spec, acquiring }: PoolContext): readonly Address[] =>
  spec ? [...new Set([...spec.ips, ...acquiring.published])] : [],
);

/** It runs the address, and has not given it up. */
export const runs = ({ members }: PoolContext, address: Address): boolean => members[address]?.retiring === false;

/** The addresses that the spec names, and those that it lost since the operator had added them there: they serve on, as far as its number reaches, until it names them again. */
export const listed = memo((context: PoolContext): readonly Address[] => {
  const { created, reverts = 0 } = context;
  return reverts === 0 ? named(context) : [...new Set([...named(context), ...created.filter((address) => runs(context, address))])];
});

export const wanted = memo((context: PoolContext): readonly Address[] =>
  listed(context)
    .slice(0, context.spec?.desired ?? 0)
    .filter((address) => context.conflicts[address] === undefined),
);

/** After the records were lost: what the status says is not all taken over yet, and is the only memory of it. */
export const isRemembering = ({ remembered }: PoolContext): boolean => Object.keys(remembered).length > 0;

/** The family of the addresses that the pool is to keep on nodes: of those it lists, which are of one, or of those it creates. */
export const familyServed = ({ spec }: PoolContext): Family => (spec?.ips[0] ? familyOf(spec.ips[0]) : 4);

/** Its spec names fewer addresses than it wants. */
export const lacks = (context: PoolContext): boolean => named(context).length < (context.spec?.desired ?? 0);

/** The same, and none is left that it could name: one is to be created. */
export const isShort = (context: PoolContext): boolean => listed(context).length < (context.spec?.desired ?? 0);

/** A creation is under way, or its outcome has to be looked up. */
export const isCreating = ({ intent, unclear, givenBack }: Acquiring): boolean =>
  intent !== null && unclear.length === 0 && givenBack === undefined;

/** Claims where its addresses are, which bear their own. An assignment that was under way before its class spaced it, or was another one, goes on beside that of whoever has the turn. */
export const turnsTaken = ({ spec, members, fullNodes }: PoolContext): readonly string[] => {
  const turn = spec?.exposes?.turn ? turnClaim(spec.exposes.turn) : null;
  return turn !== null && Object.values(members).some(isUnderWay) && !fullNodes.includes(turn) ? [turn] : [];
};
