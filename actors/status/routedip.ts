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
  /** The permission that is missing to watch what it selects; null for none. */
  readonly hindrance: string | null;
}

/** The projection of a RoutedIP. `former` is its status as last observed. */
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

/** Running work rests on what was observed before the permission was lost: that no changes are observed is a fault, unless something worse is reported. */
const hindered = (condition: Condition, message: string): Condition =>
  condition.type === 'Degraded' && condition.status === 'False'
    ? { ...condition, status: 'True', reason: 'Forbidden', message }
    : condition;

/** The projection of a RoutedIP about which nothing is known yet, and why. */
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

/** What was added to the firewalls on which the address has claims, except what only others claim: their status shows that. After the records were lost a firewall exists only
 *  once something of it is claimed; until then the former status stands. */
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

/** What is missing of the rules that a serving address needs; null for nothing. */
function lossFor({ addresses }: PoolView, recordsOf: RecordsOf): string | null {
  for (const { context, state } of Object.values(addresses)) {
    const { firewall } = context.policy;
    const record = firewall === null ? undefined : recordsOf(firewall)?.get(firewall);
    const loss = record && state === 'Stable' ? lossOf(record.snapshot.context as unknown as FirewallContext, context.id) : null;
    if (loss !== null) return loss;
  }
  return null;
}

/** What a job waits for that works for the RoutedIP, or on a firewall for its address; null for nothing. */
function waitsFor({ context: { id }, addresses }: PoolView, recordsOf: RecordsOf): Finding | null {
  const firewalls = Object.values(addresses).flatMap(({ context }) =>
    context.claimed.flatMap((firewall) => {
      const record = recordsOf(firewall)?.get(firewall);
      return claimantsAtWork(record).includes(context.id) ? [record] : [];
    }),
  );
  return [...(recordsOf(id)?.values() ?? []), ...firewalls].map(waitsIn).find((waits) => waits !== null) ?? null;
}

/** The claimants for which the running job of a firewall works. */
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

/** What happened to addresses that ended in the turn, of a RoutedIP that is being deleted. */
export function releaseEvents({ cell, transitions }: SavedTurn): readonly ClusterEvent[] {
  const owner = transitions.find(({ actor }) => actor === cell)?.after?.snapshot.context as unknown as PoolContext | undefined;
  if (!owner?.exposed || !owner.deleted) return [];
  return transitions.flatMap((transition) => {
    const { chart, after, heard } = transition;
    if (chart !== 'ip' || after) return [];
    const last = heard.at(-1)?.event;
    const ended = { atOnce: last?.type === 'RETIRE', deleted: fieldsOf(last?.output).deleted === true };
    const view = firstView(transition);
    // An address that is left to users is reported by the pool.
    return view.context.address === owner.acquiring.unpublished ? [] : [releaseEvent(owner, view, ended)];
  });
}

/** An address as it was before the turn, or as it began in it: a release that begins and is forced in the same turn ends with it. */
function firstView({ before, heard }: Transition): AddressView {
  if (before) return addressView(before);
  const begun = heard.find(({ event }) => event.type === 'init')?.event.input as AddressInput;
  return { context: addressContext(begun), state: 'Unassigned' };
}

/** Events of RoutedIPs about a firewall whose job waits, that had to keep a rule of theirs, or that lost rules to an edit by hand. */
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

/** The nodes that hold addresses of one RoutedIP, or will; `known`: no other node can hold one. */
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

/** The author of an issuer may give it a token that the provider refuses, and an address is not started before its spec is valid: the marks of others wait for neither. */
const maySayNothing = (context: PoolContext): boolean =>
  isByIssuer(context) || (context.error !== null && Object.keys(context.members).length === 0);

/** A node that its status names keeps its mark, with its present effect while the desired one is unknown. */
const marksShown = ({ context }: PoolView): Holding['marks'] => {
  const taint = context.spec === null ? 'AsItIs' : context.spec.exposes?.taint;
  return taint ? nodesRemembered(context).map((node) => [node, taint] as const) : [];
};

/** Which nodes hold routed addresses, or will; `complete` once no other node can. */
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

/** The node on which an address of its own was found, and which will be granted to it again. */
const foundOn = ({ context }: AddressView, { candidates }: PoolContext): readonly string[] =>
  isOwn(context) && !isRetiring(context) && !context.parked
    ? candidates.flatMap(({ name, providerID }) => (providerID === context.holder ? [name] : []))
    : [];

/** Its address has been read since it was started, or there is none, or no longer, or another object has it. A named or bound address has to be read first: it may be on a
 *  node since before the records were lost. */
const isKnown = ({ context }: PoolView): boolean => {
  const { exposed, members, conflicts, deleted } = context;
  if (Object.keys(members).length > 0) return Object.values(members).every(({ heard }) => heard);
  return deleted || (wantedBy(context).length === 0 && (!exposed?.bound || conflicts[exposed.bound] !== undefined));
};
