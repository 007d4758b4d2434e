import { phaseOf } from '../../machines/dns/record-set.ts';
import { addressFrom, isFirewall, isPool, isRecordSet, isRoutedIP } from '../../machines/model/actor-id.ts';
import type { ActorId, Address, ObjectRef } from '../../machines/model/types.ts';
import { isRemembering, type PoolContext } from '../../machines/pool/context.ts';
import { type PoolView, stamp } from '../../machines/pool/view.ts';
import { moveToAfter } from '../../machines/status/annotations.ts';
import { annotations, changesAt, poolConditions, poolStatus } from '../../machines/status/pool.ts';
import { recordSetConditions, recordSetStatus } from '../../machines/status/record-set.ts';
import { addressesIn } from '../../machines/status/restore-pool.ts';
import { claimantsOf, recordSetView } from '../controllers/record-view.ts';
import type { ClusterEvent, ClusterWriter, PoolObject, PoolProjection } from '../ports/cluster.ts';
import { ProviderError, Refused, Unreachable } from '../ports/errors.ts';
import { inSlices } from '../ports/in-slices.ts';
import type { Observer, SavedTurn } from '../ports/observers.ts';
import type { ActorRecord, Json } from '../ports/records.ts';
import { coalesced } from '../runtime/debounce.ts';
import { eventsOf, isAboutJobs, waitEvents } from './events.ts';
import { isUnknown, type Notices, partially, unservedProjection, withNotices } from './notices.ts';
import { doubtChanged, isClearing, shownView, type ViewPorts } from './pool-view.ts';
import {
  firewallEventsOf,
  forbidden,
  type Holding,
  hinderedProjection,
  holdersOf,
  holdingOf,
  openedFor,
  releaseEvents,
  routedIPProjection,
} from './routedip.ts';

/** Turns of one moment are shown as one. */
const COALESCE_MS = 10;

/** A condition with this reason says of each node why it is not free. */
const NO_NODE = 'NoEligibleNode';

/** How long an address that a pool has no more is still looked for on nodes, ms: longer than a watch lags behind, or an annotation waits to be written. */
const FORMER_MS = 3_600_000;

/** While much changes, the marks of all holders are looked at so often, ms. */
const HOLDERS_EVERY_MS = 250;

export interface ProjectorPorts extends ViewPorts {
  readonly writer: ClusterWriter;
  /** All that is there, of every kind. */
  readonly cells: () => Iterable<ActorId>;
  /** The status as last observed: names addresses that another process annotated, and that are this pool's no more. */
  readonly statusOf: (cell: ActorId) => unknown;
  /** The object as last observed. */
  readonly objectOf: (cell: ActorId) => PoolObject | undefined;
  readonly noticesOf: (cell: ActorId) => Notices;
  /** The term under which this process leads; 0 while it does not. */
  readonly term: () => number;
  /** Which right is missing to see what it asks of the cluster; null for none. */
  readonly hindranceOf: (cell: ActorId) => string | null;
  /** Every RoutedIP that is there, known to the leader or not; null while none is seen. */
  readonly routedIPs: () => Iterable<ActorId> | null;
  /** A Job of its class has failed for this RoutedIP, or does not begin: whoever keeps the class hears of it, too. */
  readonly classToo: (cell: ActorId, event: ClusterEvent) => void;
  /** Nothing of a deleted pool is shown any more. */
  readonly cleared: (cell: ActorId) => void;
}

/** Shows pools in the cluster: status, conditions, node annotations, Events. After the save, off the path of a failover. */
export function projector(ports: ProjectorPorts): Observer & {
  /** Shows all that this process leads from now on. */
  readonly showAll: (cells: Iterable<ActorId>) => void;
  /** What hinders it is another thing than before. */
  readonly hindered: (cell: ActorId) => void;
  /** Resolves once the status says of it what its records say now; of a firewall those of all for which it opens something, but those that the API server refuses: they keep
   *  the others waiting for nothing. @throws Unreachable; ProviderError when nobody needs that; Fenced when a later leader has written the status */
  readonly shown: (cell: ActorId) => Promise<void>;
  /** The cluster was observed anew for it. */
  readonly observed: (cell: ActorId) => void;
  /** What is to be said of it besides is another thing than before. */
  readonly noticed: (cell: ActorId) => void;
  /** A RoutedIP is there no more: by now it may be known of all others which nodes hold addresses. */
  readonly routedIPGone: () => void;
} {
  const { writer, clock, recordsOf, statusOf, hindranceOf, routedIPs, classToo, cleared } = ports;
  const events = new Map<ActorId, ClusterEvent[]>();
  const due = new Set<ActorId>();
  /** Pools whose status will change by itself: what forgets that they are to be shown again then. */
  const later = new Map<ActorId, () => void>();
  /** Those of which people are told why no node is free: that may change without a turn. */
  const lacking = new Set<ActorId>();
  /** Addresses that a pool had, and until when its nodes are searched for them. */
  const formerly = new Map<ActorId, Map<Address, number>>();
  /** When the last intent to create an address was recorded that is known of a pool, ms since the epoch. */
  const intents = new Map<ActorId, number>();
  /** What RoutedIPs hold, as far as their records have not changed since. */
  const holdings = new Map<ActorId, Holding>();
  /** The pool that runs an address now: what another one once had is not its to take off. */
  const owners = new Map<Address, ActorId>();

  const notOthers = (cell: ActorId, addresses: Iterable<Address>): Address[] =>
    [...new Set(addresses)].filter((address) => (owners.get(address) ?? cell) === cell);

  /** Without what the statuses of pools name that this leader has not shown yet: whether those run it is not known, and they see to it then. */
  const notUnshown = (addresses: readonly Address[]): Address[] => {
    const unshown = new Set([...ports.cells()].filter((cell) => !formerly.has(cell)).flatMap((cell) => addressesIn(statusOf(cell))));
    return addresses.filter((address) => !unshown.has(address));
  };

  /** Those that it has now, and those that it had a while ago. */
  const hadSince = (cell: ActorId, present: readonly Address[]): Iterable<Address> => {
    const until = clock.monotonic() + FORMER_MS;
    const had = formerly.get(cell) ?? new Map<Address, number>(addressesIn(statusOf(cell)).map((address) => [address, until]));
    for (const [address, end] of had) if (end <= clock.monotonic()) had.delete(address);
    for (const address of present) had.set(address, until);
    formerly.set(cell, had);
    return had.keys();
  };

  /** Of which nodes are to be cleaned where they bear them wrongly: what another one has is left to that one. */
  const cleanedOf = ({ context: { id, conflicts } }: PoolView, present: readonly Address[]): Address[] =>
    notOthers(id, hadSince(id, present)).filter((address) => conflicts[address] === undefined);

  const forgetLater = (cell: ActorId) => {
    later.get(cell)?.();
    later.delete(cell);
  };

  const showLater = (cell: ActorId, view: PoolView) => {
    const at = changesAt(view);
    if (at !== null)
      later.set(
        cell,
        clock.after(at - view.at, () => show(cell)),
      );
  };

  /** What is to be told of it by now: once. */
  const taken = (cell: ActorId): readonly ClusterEvent[] => {
    const told = events.get(cell) ?? [];
    events.delete(cell);
    return told;
  };

  const project = (cell: ActorId, projection: PoolProjection, of: PoolView | null = null) => {
    if (projection.conditions.some(({ reason }) => reason === NO_NODE)) lacking.add(cell);
    else lacking.delete(cell);
    const intent = intents.get(cell);
    const conditions = withNotices(projection.conditions, ports.noticesOf(cell));
    const noticed = { ...projection, conditions, ...(intent !== undefined && { knownIntent: stamp(intent) }) };
    writer.project(of && isRemembering(of.context) ? partially(noticed) : noticed);
  };

  /** Why an object is not served of which nothing else can be shown. */
  const showUnserved = (cell: ActorId) => {
    const [object, { unserved }] = [ports.objectOf(cell), ports.noticesOf(cell)];
    if (!object || !unserved || isShowable(cell, object)) return;
    writer.project(unservedProjection(object, unserved, ports.term()));
  };

  const isShowable = (cell: ActorId, { ref: { uid } }: PoolObject): boolean => {
    const records = recordsOf(cell);
    const set = records && recordSetView(cell, records);
    if (set) return set.context.ref?.uid === uid && phaseOf(set.context) !== 'Priming';
    const view = shownView(cell, ports);
    return view !== null && view.context.ref.uid === uid && (!isUnknown(view) || isClearing(records?.get(cell)));
  };

  const show = (cell: ActorId) => {
    due.delete(cell);
    showUnserved(cell);
    if (isRecordSet(cell)) showRecordSet(cell);
    else if (isRoutedIP(cell)) showRoutedIP(cell);
    else showPool(cell);
  };

  /** What one holds by its records: of thousands few have changed. */
  const holdingNow = (cell: ActorId): Holding => {
    const known = holdings.get(cell);
    if (known) return known;
    const holding = holdingOf(cell, recordsOf);
    // Of one without records nobody would say that it has got some.
    if (recordsOf(cell)) holdings.set(cell, holding);
    return holding;
  };

  const showHoldersNow = () => {
    const all = routedIPs();
    if (all === null) return;
    const { wanted, complete } = holdersOf([...all].map(holdingNow));
    writer.markHolders(wanted, complete);
  };

  /** Nodes that hold routed addresses bear a mark: all that is known of them at once, since several may be on one node. */
  const showHolders = coalesced(clock, COALESCE_MS, showHoldersNow, HOLDERS_EVERY_MS);

  const showRoutedIP = (cell: ActorId) => {
    forgetLater(cell);
    showHolders();
    const view = shownView(cell, ports);
    if (view && isClearing(recordsOf(cell)?.get(cell))) {
      // Its status is written no more: what became of its address is told all the same.
      for (const event of taken(cell)) void writer.announce(view.context.ref, event).catch(() => undefined);
      clear(cell, view.context);
      return;
    }
    if (!view) return;
    const why = hindranceOf(cell);
    if (isUnknown(view)) {
      if (why !== null) writer.project(hinderedProjection(view, why));
      return;
    }
    const projection = routedIPProjection(view, { recordsOf, former: statusOf(cell) }, { events: taken(cell), hindrance: why });
    // It annotates no node. A pool that had its address before may have.
    project(cell, { ...projection, addresses: cleanedOf(view, Object.keys(view.addresses) as Address[]) }, view);
    showLater(cell, view);
  };

  /** A deleted pool goes only when no node bears its annotation any more: after a crash whoever leads next sees to it. */
  const clear = (cell: ActorId, { ref, left }: PoolContext) => {
    const had = notUnshown(notOthers(cell, [...(formerly.get(cell)?.keys() ?? []), ...left]));
    // Once the last RoutedIP is gone nobody looks for marks any more: the object goes after its mark.
    if (isRoutedIP(cell)) showHoldersNow();
    writer.retract(ref, had).then(
      () => cleared(cell),
      () => undefined,
    );
  };

  const showRecordSet = (cell: ActorId) => {
    const records = recordsOf(cell);
    const view = records && recordSetView(cell, records);
    if (!view?.context.ref || phaseOf(view.context) === 'Priming') return;
    const told = taken(cell);
    project(cell, {
      ref: view.context.ref,
      generation: view.context.generation,
      status: recordSetStatus(view) as unknown as { [key: string]: Json },
      conditions: recordSetConditions(view),
      annotated: {},
      addresses: [],
      events: told,
    });
  };

  const showPool = (cell: ActorId) => {
    forgetLater(cell);
    const view = shownView(cell, ports);
    if (view && isClearing(recordsOf(cell)?.get(cell))) {
      clear(cell, view.context);
      return;
    }
    // Before anything is known of a pool, what its status says is the only memory there is.
    if (!view || isUnknown(view)) return;
    const annotated = annotations(view);
    const status = poolStatus(view);
    // One that it lists no more while it is paused is shown on its node, and in the status no more.
    const present = [...Object.keys(status.ips), ...Object.values(annotated)] as Address[];
    const projection = {
      ref: view.context.ref,
      generation: view.context.generation,
      status: status as unknown as { [key: string]: Json },
      conditions: poolConditions(view),
      annotated,
      addresses: cleanedOf(view, present),
      events: taken(cell),
      ...moveToAfter(view.context),
    };
    project(cell, projection, view);
    showLater(cell, view);
  };

  const showDue = coalesced(clock, COALESCE_MS, async () => {
    await inSlices(
      [...due],
      clock,
      () => false,
      (cell) => {
        if (due.has(cell)) show(cell);
      },
    );
  });

  const schedule = (cell: ActorId) => {
    due.add(cell);
    showDue();
  };

  /** The object has gone: nothing of it is shown any more. */
  const forgetGone = ({ cell, transitions }: SavedTurn): boolean => {
    const gone = transitions.find(({ actor, after }) => actor === cell && after === null);
    if (!gone) return false;
    const { ref } = (gone.before?.snapshot.context ?? {}) as { readonly ref?: ObjectRef };
    if (ref && isRecordSet(cell)) void writer.retract(ref, []);
    formerly.delete(cell);
    lacking.delete(cell);
    intents.delete(cell);
    events.delete(cell);
    forgetLater(cell);
    return true;
  };

  const noteOwner = (cell: ActorId, actor: ActorId, lives: boolean) => {
    const address = addressFrom(cell, actor);
    if (address === null) return;
    if (lives) owners.set(address, cell);
    else if (owners.get(address) === cell) owners.delete(address);
  };

  /** What a RoutedIP shows of its firewalls may have changed. */
  const showClaimants = ({ transitions }: SavedTurn) => {
    for (const cell of claimantsOf(transitions.at(-1)?.after ?? undefined)) schedule(cell);
    for (const { cell, event } of transitions.flatMap(firewallEventsOf)) tell(cell, [event]);
  };

  /** Whether it can be asked where addresses are concerns all that have one there. */
  const showVerified = (provider: string | null) => {
    if (provider === null) return;
    for (const cell of ports.cells()) if (isPool(cell) && providerIn(recordsOf(cell)?.get(cell)) === provider) schedule(cell);
  };

  /** It may have come to its end before anything is shown of it. */
  const noteIntent = ({ cell, transitions }: SavedTurn) => {
    const owner = transitions.findLast(({ actor }) => actor === cell)?.after;
    if (owner?.chart !== 'pool') return;
    const { intent, dropped } = (owner.snapshot.context as unknown as PoolContext).acquiring;
    const known = intent?.listedAt ?? dropped;
    if (known !== undefined) intents.set(cell, known);
  };

  const noteTurn = (turn: SavedTurn) => {
    holdings.delete(turn.cell);
    for (const { actor, after } of turn.transitions) noteOwner(turn.cell, actor, after !== null);
    noteIntent(turn);
    if (forgetGone(turn)) return;
    tell(turn.cell, [...turn.transitions.flatMap((each) => [...eventsOf(each), ...waitEvents(each)]), ...releaseEvents(turn)]);
  };

  const tell = (cell: ActorId, told: readonly ClusterEvent[]) => {
    for (const event of told) if (isRoutedIP(cell) && isAboutJobs(event)) classToo(cell, event);
    if (!recordsOf(cell)) return;
    events.set(cell, [...(events.get(cell) ?? []), ...told]);
    schedule(cell);
  };

  const showNow = async (cell: ActorId): Promise<void> => {
    const view = shownView(cell, ports);
    if (!view || isUnknown(view)) throw new Unreachable(`${cell} is not known well enough yet to be shown`);
    show(cell);
    await writer.written(view.context.ref);
  };

  return {
    hindered: (cell) => {
      const why = hindranceOf(cell);
      if (isRoutedIP(cell) && recordsOf(cell)) tell(cell, why === null ? [] : [forbidden(why)]);
    },
    shown: async (cell) => {
      if (!isFirewall(cell)) return showNow(cell);
      const there = openedFor(recordsOf(cell)?.get(cell)).filter((each) => recordsOf(each));
      if (there.length === 0) throw new ProviderError('Unavailable', 'nobody needs any more what was to be opened');
      await Promise.all(there.map((each) => showNow(each).catch(ignoreRefusal)));
    },
    noticed: (cell) => schedule(cell),
    routedIPGone: showHolders,
    observed: (cell) => {
      if (lacking.has(cell)) schedule(cell);
    },
    showAll: (cells) => {
      const there = new Set(routedIPs() ?? []);
      // Of RoutedIPs that this operator was told to leave alone there are records, but no objects.
      const shown = [...cells].filter((cell) => (isRoutedIP(cell) ? there.has(cell) : isPool(cell) || isRecordSet(cell)));
      for (const cell of shown) for (const actor of recordsOf(cell)?.keys() ?? []) noteOwner(cell, actor, true);
      // Whoever led before may have ended between the end of the last RoutedIP and that of its mark.
      showHolders();
      const term = ports.term();
      void inSlices(shown, clock, () => ports.term() !== term, show);
    },
    reset: () => {
      for (const cell of [...later.keys()]) forgetLater(cell);
      events.clear();
      lacking.clear();
      intents.clear();
      formerly.clear();
      owners.clear();
      holdings.clear();
    },
    turnSaved: (turn: SavedTurn) => {
      showVerified(doubtChanged(turn));
      if (isFirewall(turn.cell)) showClaimants(turn);
      else if (isPool(turn.cell) || isRecordSet(turn.cell)) noteTurn(turn);
    },
  };
}

const providerIn = (record: ActorRecord | undefined): string | undefined =>
  (record?.snapshot.context as unknown as PoolContext | undefined)?.spec?.provider;

const ignoreRefusal = (error: unknown): void => {
  if (!(error instanceof Refused)) throw error;
};
