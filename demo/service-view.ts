import { at, type Json, type KubeObject } from '../simulator/kubernetes/objects.ts';

/** A Service of type LoadBalancer, as kubectl shows it. */
export interface ServiceRow {
  readonly name: string;
  /** EXTERNAL-IP; empty while it has none. */
  readonly address: string;
  /** What its last Event of type Warning says, while it has no address. */
  readonly why: string;
  /** When it was first seen with this address, ms since the epoch. */
  readonly since: number;
}

/** An object `IP` came, or went. */
export interface Reservation {
  readonly address: string;
  /** `namespace/name` of the Service; empty when the address became free. */
  readonly owner: string;
  /** ms since the epoch */
  readonly at: number;
}

/** On an object `IP`: `namespace/name` of the Service. */
export const OWNER = 'virtualips.paas.il/owner';

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

/** The rows after a Service was seen at `seenAt`. */
export function withService(rows: readonly ServiceRow[], service: KubeObject, seenAt: number): readonly ServiceRow[] {
  const name = service.metadata.name ?? '';
  const others = withoutService(rows, name);
  if (at(service, 'spec', 'type') !== 'LoadBalancer') return others;
  const old = rows.find((row) => row.name === name);
  const ingress = at(service, 'status', 'loadBalancer', 'ingress');
  const address = text(at(Array.isArray(ingress) ? ingress[0] : undefined, 'ip'));
  const since = old?.address === address ? old.since : seenAt;
  return [...others, { name, address, why: address === '' ? (old?.why ?? '') : '', since }].sort((a, b) => (a.name < b.name ? -1 : 1));
}

export const withoutService = (rows: readonly ServiceRow[], name: string): readonly ServiceRow[] => rows.filter((row) => row.name !== name);

/** The Service that a warning is about; null when the Event is none. */
export const warnedOf = (event: KubeObject): string | null =>
  event.type === 'Warning' && at(event, 'involvedObject', 'kind') === 'Service' ? text(at(event, 'involvedObject', 'name')) : null;

/** The rows after an Event. */
export function withWarning(rows: readonly ServiceRow[], event: KubeObject): readonly ServiceRow[] {
  const name = warnedOf(event);
  return rows.map((row) => (row.name === name && row.address === '' ? { ...row, why: text(event.message) } : row));
}

export const reservationOf = (ip: KubeObject, seenAt: number): Reservation => ({
  address: ip.metadata.name ?? '',
  owner: ip.metadata.annotations?.[OWNER] ?? '',
  at: seenAt,
});

/** What changed for the Services, a sentence each. */
export const serviceChanges = (before: readonly ServiceRow[], after: readonly ServiceRow[]): readonly string[] => [
  ...after.flatMap((row) => {
    const old = before.find(({ name }) => name === row.name);
    if (old !== undefined && old.address === row.address && old.why === row.why) return [];
    return [`Service ${row.name} has ${row.address || 'no address'}${row.why === '' ? '' : `: ${row.why}`}`];
  }),
  ...before.filter(({ name }) => !after.some((row) => row.name === name)).map(({ name }) => `Service ${name} is gone`),
];

/** What is new in the history, a sentence each. */
export const reservationChanges = (before: readonly Reservation[], after: readonly Reservation[]): readonly string[] =>
  after.slice(before.length).map(({ address, owner }) => `${address} is ${owner === '' ? 'free' : `reserved for ${owner}`}`);
