import { type AddressInput, addressContext, isOwn } from '../../machines/address/context.ts';
import { isRetiring } from '../../machines/address/decisions.ts';
import type { Held } from '../../machines/firewall/claims.ts';
import type { FirewallContext } from '../../machines/firewall/context.ts';
import { opensFor } from '../../machines/firewall/decisions.ts';
import { lossOf } from '../../machines/firewall/drift.ts';
import type { FirewallOwned } from '../../machines/jobs.ts';
import { cellOf } from '../../machines/model/actor-id.ts';
import { type ActorId, type Condition, type Finding, fieldsOf } from '../../machines/model/types.ts';
import { type PoolContext, wanted as wantedBy } from '../../machines/pool/context.ts';
import { isByIssuer, nodesRemembered } from '../../machines/pool/node-claim.ts';
import type { AddressView, PoolView } from '../../machines/pool/view.ts';
import { moveToAfter } from '../../machines/status/annotations.ts';
import { ownedRules } from '../../machines/status/restore-routedip.ts';
import { holderNodes, routedIPConditions, routedIPStatus } from '../../machines/status/routedip.ts';
import { deferral, losses, releaseEvent } from '../../machines/status/routedip-events.ts';
import { addressView, poolView, waitsIn } from '../controllers/record-view.ts';
import type { ClusterEvent, HolderMark, PoolProjection } from '../ports/cluster.ts';
import type { SavedTurn, Transition } from '../ports/observers.ts';
import type { ActorRecord, Json } from '../ports/records.ts';
import { waitEvents } from './events.ts';

type Records = ReadonlyMap<ActorId, ActorRecord>;
type RecordsOf = (cell: ActorId) => Records | null;

interface Told {
  readonly events: readonly ClusterEvent[];
  /** Which right is missing to see what it asks of the cluster; null for none. */
  readonly hindrance: string | null;
}

/** What is to be seen of a RoutedIP. `former` is its status as last observed. */
export function routedIPProjection(
  view: PoolView,
  { recordsOf, former }: { readonly recordsOf: RecordsOf; readonly former: unknown },
  { events, hindrance }: Told,
): PoolProjection {
  const { ref, generation } = view.context;
  const bound = view.context.exposed?.bound ?? null;
  const shown = { ...view, owned: ownedFor(view, recordsOf, former), loss: lossFor(view, recordsOf), waits: waitsFor(view, recordsOf) };
  return {
    ref,
    generation,
    status: routedIPStatus(shown) as unknown as { [key: string]: Json },
    conditions: routedIPConditions(shown).map((condition) => (hindrance === null ? condition : hindered(condition, hindrance))),
    annotated: {},
    addresses: [],
    events,
    ...moveToAfter(view.context),
    ...(bound && { bound }),
  };
}

/** What goes on was seen before the right was taken away: that nothing new is seen is wrong, unless something worse is. */
const hindered = (condition: Condition, message: string): Condition =>
  condition.type === 'Degraded' && condition.status === 'False'
    ? { ...condition, status: 'True', reason: 'Forbidden', message }
    : condition;

/** What is to be seen of a RoutedIP of which nothing is known yet, and why. */
export function hinderedProjection({ context: { ref, generation }, term }: PoolView, message: string): PoolProjection {
  const reason = 'Forbidden';
  return {
    ref,
    generation,
    partial: true,
    unserved: true,
    status: { term },
    conditions: [
      { type: 'Ready', status: 'Unknown', reason, message },
      { type: 'Progressing', status: 'False', reason: 'Idle', message: 'nothing is under way' },
      { type: 'Degraded', status: 'True', reason, message },
    ],
    annotated: {},
    addresses: [],
    events: [forbidden(message)],
  };
}

export const forbidden = (message: string): ClusterEvent => ({ type: 'Warning', reason: 'Forbidden', action: 'Watch', message });

/** What was added to the firewalls on which the address has claims, but for what others alone claim: their status tells of that. After the records were lost
 *  a firewall is there only once somebody claims something of it; until then what the status has said of it stands. */
function ownedFor({ addresses }: PoolView, recordsOf: RecordsOf, former: unknown): Readonly<Record<ActorId, FirewallOwned>> {
  const all = Object.entries(addresses).flatMap(([, { context }]) =>
    context.claimed.map((firewall) => ({ firewall, claimant: context.id })),
  );
  return Object.fromEntries(
    all.flatMap(({ firewall, claimant }) => {
      const context = recordsOf(firewall)?.get(firewall)?.snapshot.context as unknown as FirewallContext | undefined;
      const owned = context ? ownedFrom(context, claimant) : ownedRules(former).find((rules) => rules.firewall === firewall)?.owned;
      return owned && owned.ports.length + owned.nodes.length > 0 ? [[firewall, owned] as const] : [];
    }),
  );
}

/** What an address that serves has lost of what is to be open for it. */
function lossFor({ addresses }: PoolView, recordsOf: RecordsOf): string | null {
  for (const { context, state } of Object.values(addresses)) {
    const { firewall } = context.policy;
    const record = firewall === null ? undefined : recordsOf(firewall)?.get(firewall);
    const loss = record && state === 'Stable' ? lossOf(record.snapshot.context as unknown as FirewallContext, context.id) : null;
    if (loss !== null) return loss;
  }
  return null;
}

/** What a job waits for that works for the RoutedIP, or on a firewall for its address. */
function waitsFor({ context: { id }, addresses }: PoolView, recordsOf: RecordsOf): Finding | null {
  const firewalls = Object.values(addresses).flatMap(({ context }) =>
    context.claimed.flatMap((firewall) => {
      const record = recordsOf(firewall)?.get(firewall);
      return claimantsAtWork(record).includes(context.id) ? [record] : [];
    }),
  );
  return [...(recordsOf(id)?.values() ?? []), ...firewalls].map(waitsIn).find((waits) => waits !== null) ?? null;
}

/** For whom the job of a firewall that is under way works. */
const claimantsAtWork = (record: ActorRecord | null | undefined): readonly ActorId[] => {
  const { working = [] } = (record?.snapshot.context ?? {}) as unknown as Partial<FirewallContext>;
  return working.map(({ claimant }) => claimant);
};

function ownedFrom({ owned, claims }: FirewallContext, claimant: ActorId): FirewallOwned {
  const own = claims[claimant];
  const others = Object.entries(claims).flatMap(([id, held]) => (id === claimant ? [] : [held]));
  const isOthers = <T>(item: T, of: (held: Held) => readonly T[]): boolean =>
    !(own && of(own).includes(item)) && others.some((held) => of(held).includes(item));
  return {
    ports: owned.ports.filter((port) => !isOthers(port, ({ ports }) => ports)),
    nodes: owned.nodes.filter((node) => !isOthers(node, ({ nodes }) => nodes.map(({ providerID }) => providerID))),
  };
}

/** What became of the addresses of a RoutedIP that is being deleted, of those that ended in the turn. */
export function releaseEvents({ cell, transitions }: SavedTurn): readonly ClusterEvent[] {
  const owner = transitions.find(({ actor }) => actor === cell)?.after?.snapshot.context as unknown as PoolContext | undefined;
  if (!owner?.exposed || !owner.deleted) return [];
  return transitions.flatMap((transition) => {
    const { chart, after, heard } = transition;
    if (chart !== 'ip' || after) return [];
    const last = heard.at(-1)?.event;
    const ended = { atOnce: last?.type === 'RETIRE', deleted: fieldsOf(last?.output).deleted === true };
    const view = firstView(transition);
    // Of one that is left to people the pool tells itself.
    return view.context.address === owner.acquiring.unpublished ? [] : [releaseEvent(owner, view, ended)];
  });
}

/** An address as it was before the turn, or as it began in it: one that is begun to be given back, and let go by force in the same turn, ends with it. */
function firstView({ before, heard }: Transition): AddressView {
  if (before) return addressView(before);
  const begun = heard.find(({ event }) => event.type === 'init')?.event.input as AddressInput;
  return { context: addressContext(begun), state: 'Unassigned' };
}

/** What RoutedIPs are to tell of a firewall whose job waits, that had to keep a rule of theirs, or that somebody took something out of. */
export function firewallEventsOf(transition: Transition): readonly { readonly cell: ActorId; readonly event: ClusterEvent }[] {
  const { before, after } = transition;
  if (!before || !after) return [];
  const waiting = waitEvents(transition).flatMap((event) => claimantsAtWork(after).map((claimant) => ({ cell: cellOf(claimant), event })));
  const [was, is] = [before, after].map(({ snapshot }) => snapshot.context as unknown as FirewallContext) as [
    FirewallContext,
    FirewallContext,
  ];
  const found = deferral(was, is);
  const kept = found ? found.claimants.map((claimant) => ({ cell: cellOf(claimant), event: found.event })) : [];
  return [...waiting, ...kept, ...losses(was, is).map(({ claimant, event }) => ({ cell: cellOf(claimant), event }))];
}

/** The RoutedIPs for which the firewall's job opens something. */
export const openedFor = (record: ActorRecord | undefined): readonly ActorId[] =>
  record ? [...new Set(opensFor(record.snapshot.context as unknown as FirewallContext).map(cellOf))] : [];

/** The nodes that hold addresses of one RoutedIP, or are to; `known`: so well that no other node can. */
export interface Holding {
  readonly known: boolean;
  readonly marks: readonly (readonly [node: string, mark: HolderMark])[];
}

const NOT_KNOWN: Holding = { known: false, marks: [] };

export function holdingOf(cell: ActorId, recordsOf: RecordsOf): Holding {
  const records = recordsOf(cell);
  const view = records && poolView(cell, records, 0);
  if (!view) return NOT_KNOWN;
  const known = isKnown(view);
  return known || !maySayNothing(view.context)
    ? { known, marks: marksOf(view) }
    : { known: true, marks: [...marksOf(view), ...marksShown(view)] };
}

/** Whoever may write an issuer may give it a token that the provider refuses, and an address is not started before its spec is valid: the marks of others wait for neither. */
const maySayNothing = (context: PoolContext): boolean =>
  isByIssuer(context) || (context.error !== null && Object.keys(context.members).length === 0);

/** A node that its status names keeps its mark, with the effect that it bears where nothing says any more which one that is to be. */
const marksShown = ({ context }: PoolView): Holding['marks'] => {
  const taint = context.spec === null ? 'AsItIs' : context.spec.exposes?.taint;
  return taint ? nodesRemembered(context).map((node) => [node, taint] as const) : [];
};

/** Which nodes hold routed addresses, or are to; `complete` once no other node can. */
export function holdersOf(holdings: Iterable<Holding>): {
  readonly wanted: Readonly<Record<string, HolderMark>>;
  readonly complete: boolean;
} {
  const wanted: Record<string, HolderMark> = {};
  let complete = true;
  for (const { known, marks } of holdings) {
    complete &&= known;
    for (const [node, mark] of marks) wanted[node] = stronger(wanted[node] ?? mark, mark);
  }
  return { wanted, complete };
}

const STRENGTH: Readonly<Record<HolderMark, number>> = { AsItIs: 0, PreferNoSchedule: 1, NoSchedule: 2 };
const stronger = (a: HolderMark, b: HolderMark): HolderMark => (STRENGTH[a] > STRENGTH[b] ? a : b);

const marksOf = ({ context, addresses }: PoolView): Holding['marks'] =>
  Object.values(addresses).flatMap((shown) => {
    const { taint } = shown.context.policy;
    if (!taint) return [];
    const nodes = holderNodes(shown);
    return (nodes.length > 0 ? nodes : foundOn(shown, context)).map((node) => [node, taint] as const);
  });

/** The node on which an address of its own was found, which it is to be granted again. */
const foundOn = ({ context }: AddressView, { candidates }: PoolContext): readonly string[] =>
  isOwn(context) && !isRetiring(context) && !context.parked
    ? candidates.flatMap(({ name, providerID }) => (providerID === context.holder ? [name] : []))
    : [];

/** Its address has been read since it was started, or there is none, or no more, or it is somebody else's. One that is named or bound is to be read first: it may
 *  be on a node since before the records were lost. */
const isKnown = ({ context }: PoolView): boolean => {
  const { exposed, members, conflicts, deleted } = context;
  if (Object.keys(members).length > 0) return Object.values(members).every(({ heard }) => heard);
  return deleted || (wantedBy(context).length === 0 && (!exposed?.bound || conflicts[exposed.bound] !== undefined));
};
