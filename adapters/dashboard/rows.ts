import type { ActorRecord } from '../../actors/ports/records.ts';
import { isRoutedIP } from '../../machines/model/actor-id.ts';
import { type Fields, fieldsOf } from '../../machines/model/types.ts';

/** One actor as a row of the table. */
export interface Row {
  readonly actor: string;
  readonly chart: string;
  /** Its subject: the address, the pool, the firewall. */
  readonly name: string;
  /** `namespace/name` of its pool or RoutedIP, empty without one. */
  readonly pool: string;
  /** Whether that is a RoutedIP. */
  readonly isRouted: boolean;
  /** `Unassigned.Waiting`; parallel regions sorted and separated by `|`. */
  readonly state: string;
  /** Name of the granted node, else of the confirmed one. For a RoutedIP the nodes of its address, for a firewall all claimed nodes, for a
   *  Service its published addresses. */
  readonly node: string;
  /** Ports wanted there, `tcp/80 tcp/443`; empty where no firewall is managed. */
  readonly ports: string;
  /** When the state was entered, ms since the epoch; null when unknown. */
  readonly since: number | null;
  readonly waiting: readonly { readonly id: string; readonly commandId: string; readonly dueAt: number | null }[];
  /** The kind of the last error, empty when all is well. */
  readonly reason: string;
  readonly message: string;
  /** Paused by a user, for a pool or a RoutedIP; false for all others, including their addresses. */
  readonly paused: boolean;
  /** Consecutive failures. */
  readonly attempts: number;
  readonly version: number;
}

/** The row of an actor's record. Reads contexts by the field names of the charts; fields that a chart does not have are left empty. */
export function rowOf(actor: string, record: ActorRecord, since: number | null): Row {
  const context = fieldsOf(record.snapshot.context);
  const failure = failureOf(context);
  const claims = Object.values(fieldsOf(context.claims)).map((claim) => fieldsOf(claim));
  return {
    actor,
    chart: record.chart,
    name: textOf(context.address) || serviceOf(actor) || lastSegment(actor),
    pool: /^(?:pool|rip)\/([^/]+\/[^/]+)/.exec(actor)?.[1] ?? '',
    isRouted: isRoutedIP(actor),
    state: statePath(record.snapshot.value),
    node: nodeOf(actor, context, claims),
    ports: portsOf(context, claims),
    since,
    waiting: Object.entries(record.waiting).map(([id, { commandId, dueAt }]) => ({ id, commandId, dueAt: dueAt ?? null })),
    reason: failure.reason,
    message: failure.message,
    paused: fieldsOf(context.marks).paused === true,
    attempts: typeof context.attempts === 'number' ? context.attempts : 0,
    version: record.version,
  };
}

/** A state value on one line. */
export function statePath(value: unknown): string {
  if (typeof value === 'string') return value;
  return Object.entries(fieldsOf(value))
    .map(([state, inner]) => [state, statePath(inner ?? null)].filter((part) => part !== '').join('.'))
    .sort()
    .join('|');
}

/** `namespace/name` of a Service or a VirtualIP, empty for others. */
const serviceOf = (actor: string): string => /^v?vip\/(.+)$/.exec(actor)?.[1] ?? '';

function nodeOf(actor: string, context: Fields, claims: readonly Fields[]): string {
  const { ingress } = fieldsOf(context.service);
  if (Array.isArray(ingress)) return ingress.map((entry) => textOf(fieldsOf(entry).ip)).join(', ');
  const held = nameOf(context.elected) || nameOf(context.assigned);
  if (held !== '') return held;
  // A pool has many addresses; a RoutedIP has one.
  const members = isRoutedIP(actor) ? Object.values(fieldsOf(context.members)) : [];
  const claimed = claims.flatMap(({ nodes }) => (Array.isArray(nodes) ? nodes : []));
  return sorted([...members.map((member) => nameOf(fieldsOf(member).node)), ...claimed.map(nameOf)]).join(', ');
}

function portsOf(context: Fields, claims: readonly Fields[]): string {
  const policies = [context.policy, fieldsOf(context.exposed).policy].map(fieldsOf).filter(({ firewall }) => textOf(firewall) !== '');
  return sorted([...policies, ...claims].flatMap(({ ports }) => (Array.isArray(ports) ? ports.map(textOf) : []))).join(' ');
}

const nameOf = (value: unknown): string => textOf(fieldsOf(value).name);
const sorted = (texts: readonly string[]): readonly string[] =>
  [...new Set(texts)].filter((text) => text !== '').sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));

function failureOf(context: Fields): { readonly reason: string; readonly message: string } {
  // Failures of an address or a zone; of a pool's creation; of a record set.
  for (const failure of [context.failure, fieldsOf(context.acquiring).failure, fieldsOf(context.outcome).failure].map(fieldsOf)) {
    if (textOf(failure.kind) !== '') return { reason: textOf(failure.kind), message: textOf(failure.message) };
  }
  // A Service whose request is refused.
  const refusal = fieldsOf(context.refusal);
  if (textOf(refusal.reason) !== '') return { reason: textOf(refusal.reason), message: textOf(refusal.message) };
  const { reason, policyError, trouble } = fieldsOf(context.exposed);
  const error = textOf(context.error);
  if (error !== '') return { reason: textOf(reason) || 'Invalid', message: error };
  // A RoutedIP: its class, whose last valid policy stays in use, and its Service.
  if (textOf(policyError) !== '') return { reason: 'Invalid', message: textOf(policyError) };
  return { reason: textOf(fieldsOf(trouble).reason), message: textOf(fieldsOf(trouble).message) };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const lastSegment = (actor: string): string => actor.slice(actor.lastIndexOf('/') + 1);
