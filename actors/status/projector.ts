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

/** Turns within this time are shown together, ms. */
const COALESCE_MS = 10;

/** A condition with this reason says for each node why it is not free. */
const NO_NODE = 'NoEligibleNode';

/** How long nodes are still searched for an address that a pool no longer has, ms: longer than a watch lags behind, or an annotation waits to be written. */
const FORMER_MS = 3_600_000;

/** How often the marks of all holders are determined while much changes, ms. */
const HOLDERS_EVERY_MS = 250;

export interface ProjectorPorts extends ViewPorts {
  readonly writer: ClusterWriter;
  /** All existing objects, of every kind. */
  readonly cells: () => Iterable<ActorId>;
  /** The status as last observed: it names addresses that another process annotated and that are no longer this pool's. */
  readonly statusOf: (cell: ActorId) => unknown;
  /** The object as last observed. */
  readonly objectOf: (cell: ActorId) => PoolObject | undefined;
  readonly noticesOf: (cell: ActorId) => Notices;
  /** The term under which this process leads; 0 while it does not. */
  readonly term: () => number;
  /** The permission that is missing to watch what it selects; null for none. */
  readonly hindranceOf: (cell: ActorId) => string | null;
  /** Every existing RoutedIP, known to the leader or not; null while none is observed. */
  readonly routedIPs: () => Iterable<ActorId> | null;
  /** A Job of its class has failed for this RoutedIP, or does not start: the class receives the Event, too. */
  readonly classToo: (cell: ActorId, event: ClusterEvent) => void;
  /** Nothing of a deleted pool is still shown. */
  readonly cleared: (cell: ActorId) => void;
}

/** Shows pools in the cluster: status, conditions, node annotations, Events. After the save, off the path of a failover. */
export function projector(ports: ProjectorPorts): Observer & {
  /** Shows all cells that this process leads from now on. */
  readonly showAll: (cells: Iterable<ActorId>) => void;
  /** The result of `hindranceOf` has changed for it. */
  readonly hindered: (cell: ActorId) => void;
  /** Resolves once the status shows what the records say now; for a firewall, the statuses of all for which it opens something, except those that the API server refuses: they
   *  must not hold up the others. @throws Unreachable; ProviderError when it is no longer needed; Fenced when a later leader has written the status */
  readonly shown: (cell: ActorId) => Promise<void>;
  /** New facts of the cluster were observed for it. */
  readonly observed: (cell: ActorId) => void;
  /** Its notices have changed. */
  readonly noticed: (cell: ActorId) => void;
  /** A RoutedIP is gone: by now it may be known of all others which nodes hold addresses. */
  readonly routedIPGone: () => void;
} {
  const { writer, clock, recordsOf, statusOf, hindranceOf, routedIPs, classToo, cleared } = ports;
  const events = new Map<ActorId, ClusterEvent[]>();
  const due = new Set<ActorId>();
  /** Pools whose status will change by itself, each with the cancel function of its timer. */
  const later = new Map<ActorId, () => void>();
  /** Pools whose status says why no node is free: that may change without a turn. */
  const lacking = new Set<ActorId>();
  /** Former addresses of a pool, and until when nodes are searched for them. */
  const formerly = new Map<ActorId, Map<Address, number>>();
  /** Time of a pool's last known intent to create an address, ms since the epoch. */
  const intents = new Map<ActorId, number>();
  /** Cache of what RoutedIPs hold, until their records change. */
  const holdings = new Map<ActorId, Holding>();
  /** The pool that runs an address now: a former owner must not remove its annotation. */
  const owners = new Map<Address, ActorId>();

  const notOthers = (cell: ActorId, addresses: Iterable<Address>): Address[] =>
    [...new Set(addresses)].filter((address) => (owners.get(address) ?? cell) === cell);

  /** Without addresses in statuses of pools that this leader has not shown yet: whether those pools run them is not known, and they clean up themselves then. */
  const notUnshown = (addresses: readonly Address[]): Address[] => {
    const unshown = new Set([...ports.cells()].filter((cell) => !formerly.has(cell)).flatMap((cell) => addressesIn(statusOf(cell))));
    return addresses.filter((address) => !unshown.has(address));
  };

  /** Present addresses, and those of the recent past. */
  const hadSince = (cell: ActorId, present: readonly Address[]): Iterable<Address> => {
    const until = clock.monotonic() + FORMER_MS;
    const had = formerly.get(cell) ?? new Map<Address, number>(addressesIn(statusOf(cell)).map((address) => [address, until]));
    for (const [address, end] of had) if (end <= clock.monotonic()) had.delete(address);
    for (const address of present) had.set(address, until);
    formerly.set(cell, had);
    return had.keys();
  };

  /** Addresses whose annotations are removed from wrong nodes: those of another object are left to that one. */
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

  /** Takes its pending Events: each is sent once. */
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

  /** Shows why an object is not served when nothing else can be shown of it. */
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

  /** What a RoutedIP holds by its records, cached: of thousands few have changed. */
  const holdingNow = (cell: ActorId): Holding => {
    const known = holdings.get(cell);
    if (known) return known;
    const holding = holdingOf(cell, recordsOf);
    // Not cached without records: no turn would report that they have appeared.
    if (recordsOf(cell)) holdings.set(cell, holding);
    return holding;
  };

  const showHoldersNow = () => {
    const all = routedIPs();
    if (all === null) return;
    const { wanted, complete } = holdersOf([...all].map(holdingNow));
    writer.markHolders(wanted, complete);
  };

  /** Marks the nodes that hold routed addresses: all at once, since several addresses may be on one node. */
  const showHolders = coalesced(clock, COALESCE_MS, showHoldersNow, HOLDERS_EVERY_MS);

  const showRoutedIP = (cell: ActorId) => {
    forgetLater(cell);
    showHolders();
    const view = shownView(cell, ports);
    if (view && isClearing(recordsOf(cell)?.get(cell))) {
      // Its status is no longer written, but Events still say what happened to its address.
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
    // It annotates no node, but a former pool of its address may have.
    project(cell, { ...projection, addresses: cleanedOf(view, Object.keys(view.addresses) as Address[]) }, view);
    showLater(cell, view);
  };

  /** A deleted pool goes only when no node still has its annotation: after a crash the next leader finishes that. */
  const clear = (cell: ActorId, { ref, left }: PoolContext) => {
    const had = notUnshown(notOthers(cell, [...(formerly.get(cell)?.keys() ?? []), ...left]));
    // Once the last RoutedIP is gone, marks are no longer determined: the object goes after its mark.
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
    // Before anything is known of a pool, its status is the only memory of it.
    if (!view || isUnknown(view)) return;
    const annotated = annotations(view);
    const status = poolStatus(view);
    // An address removed from the list of a paused pool is shown on its node, but no longer in the status.
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

  /** The object is gone: nothing of it is shown from now on. */
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

  /** Whether the provider can be read concerns all that have an address there. */
  const showVerified = (provider: string | null) => {
    if (provider === null) return;
    for (const cell of ports.cells()) if (isPool(cell) && providerIn(recordsOf(cell)?.get(cell)) === provider) schedule(cell);
  };

  /** An intent may have ended before anything is shown of it. */
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
      // RoutedIPs that this operator was configured to leave alone have records, but no objects.
      const shown = [...cells].filter((cell) => (isRoutedIP(cell) ? there.has(cell) : isPool(cell) || isRecordSet(cell)));
      for (const cell of shown) for (const actor of recordsOf(cell)?.keys() ?? []) noteOwner(cell, actor, true);
      // A former leader may have ended between the end of the last RoutedIP and that of its mark.
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
