import { at, isObject, type Json, type KubeObject } from '../simulator/kubernetes/objects.ts';
import { type HostRow, hostChanges, type RoutedRow, routedChanges, trafficChanges } from './routed-view.ts';
import { type Reservation, reservationChanges, type ServiceRow, serviceChanges } from './service-view.ts';
import type { TrafficRow } from './traffic.ts';

export const ANNOTATION = 'flipop.digitalocean.com/ipv4-reserved-ip';

export interface AddressRow {
  readonly address: string;
  /** FLIPOP's word, e.g. `active`. */
  readonly state: string;
  /** The chart's state, e.g. `Assigning`. */
  readonly machineState: string;
  readonly node: string;
  readonly error: string;
  /** When the pool's status first showed state and node like this, ms since the epoch. */
  readonly since: number;
}

export interface NodeRow {
  readonly name: string;
  readonly ready: boolean;
  readonly cordoned: boolean;
  /** The address in its annotation; empty for none. */
  readonly annotation: string;
  /** When it was first seen with this annotation, ms since the epoch. */
  readonly annotatedSince: number;
}

/** A name in DNS, as the provider has it. */
export interface RecordRow {
  readonly name: string;
  /** Sorted. */
  readonly addresses: readonly string[];
}

/** What is to be seen outside of Kubernetes. */
export interface Outside {
  /** Null while there is no zone for it. */
  readonly record: RecordRow | null;
  /** The nodes that serve the RoutedIP's Service; none before its act. */
  readonly hosts: readonly HostRow[];
  /** By port. */
  readonly traffic: readonly TrafficRow[];
}

/** What can be seen of the pool, the RoutedIP and the nodes from outside the operator. */
export interface View extends Outside {
  /** In the order of `spec.ips`. */
  readonly addresses: readonly AddressRow[];
  /** `spec.ips` */
  readonly published: readonly string[];
  /** Nodes that could take an address now, by the status. */
  readonly assignable: readonly string[];
  /** `status.error` */
  readonly error: string;
  /** By name. */
  readonly nodes: readonly NodeRow[];
  /** Null while there is none. */
  readonly routed: RoutedRow | null;
  /** Of type LoadBalancer, by name; none before their act. */
  readonly services: readonly ServiceRow[];
  /** What was reserved and freed so far, oldest first. */
  readonly reservations: readonly Reservation[];
}

const NOTHING_OUTSIDE: Outside = { record: null, hosts: [], traffic: [] };
const NO_POOL = { addresses: [], published: [], assignable: [], error: '' };
export const EMPTY: View = { ...NO_POOL, nodes: [], routed: null, services: [], reservations: [], ...NOTHING_OUTSIDE };

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
const texts = (value: Json | undefined): readonly string[] => (Array.isArray(value) ? value.map(String) : []);

/** The view after the pool was seen at `seenAt`. */
export function withPool(view: View, pool: KubeObject, seenAt: number): View {
  const published = texts(at(pool, 'spec', 'ips'));
  const ips = at(pool, 'status', 'ips');
  const known = isObject(ips) ? ips : {};
  const all = [...published, ...Object.keys(known).filter((address) => !published.includes(address))];
  return {
    ...view,
    published,
    assignable: texts(at(pool, 'status', 'assignableNodes')),
    error: text(at(pool, 'status', 'error')),
    addresses: all.map((address) => rowOf(address, known[address], view, seenAt)),
  };
}

function rowOf(address: string, status: Json | undefined, before: View, seenAt: number): AddressRow {
  const row = {
    address,
    state: text(at(status, 'state')) || 'listed',
    machineState: text(at(status, 'machineState')),
    // While it moves, where it goes to.
    node: text(at(status, 'electedNode')) || text(at(status, 'nodeName')),
    error: text(at(status, 'error')),
  };
  const old = before.addresses.find((one) => one.address === address);
  const same = old !== undefined && old.state === row.state && old.node === row.node;
  return { ...row, since: same ? old.since : seenAt };
}

/** The view after a node was seen at `seenAt`. */
export function withNode(view: View, node: KubeObject, seenAt: number): View {
  const name = node.metadata.name ?? '';
  const conditions = at(node, 'status', 'conditions');
  const ready = (Array.isArray(conditions) ? conditions : []).some((one) => at(one, 'type') === 'Ready' && at(one, 'status') === 'True');
  const annotation = node.metadata.annotations?.[ANNOTATION] ?? '';
  const old = view.nodes.find((one) => one.name === name);
  const annotatedSince = old?.annotation === annotation ? old.annotatedSince : seenAt;
  const cordoned = at(node, 'spec', 'unschedulable') === true;
  const nodes = [...view.nodes.filter((one) => one.name !== name), { name, ready, cordoned, annotation, annotatedSince }];
  return { ...view, nodes: nodes.sort((a, b) => (a.name < b.name ? -1 : 1)) };
}

export const withoutNode = (view: View, name: string): View => ({ ...view, nodes: view.nodes.filter((node) => node.name !== name) });

export const withoutPool = (view: View): View => ({ ...view, ...NO_POOL });

export const withRouted = (view: View, routed: RoutedRow | null): View => ({ ...view, routed });

export const withServices = (view: View, services: readonly ServiceRow[]): View => ({ ...view, services });

export const withReservation = (view: View, reservation: Reservation): View => ({
  ...view,
  reservations: [...view.reservations, reservation],
});

export const withOutside = (view: View, outside: Outside): View => ({ ...view, ...outside });

const listing = (record: RecordRow | null): string => record?.addresses.join(', ') ?? '';

/** What changed, a sentence each. */
export function changes(before: View, after: View): readonly string[] {
  return [
    ...after.published.filter((address) => !before.published.includes(address)).map((address) => `${address} is listed in spec.ips`),
    ...after.addresses.flatMap((row) => {
      const old = before.addresses.find(({ address }) => address === row.address);
      if (row.state === 'listed' || (old?.since === row.since && old.machineState === row.machineState)) return [];
      return [sentence(row)];
    }),
    ...after.nodes.flatMap((node) =>
      nodeSentences(
        before.nodes.find(({ name }) => name === node.name),
        node,
      ),
    ),
    ...before.nodes.filter(({ name }) => !after.nodes.some((node) => node.name === name)).map(({ name }) => `${name} is gone`),
    ...(after.record && listing(after.record) !== listing(before.record)
      ? [`${after.record.name} lists ${listing(after.record) || 'nothing'}`]
      : []),
    ...routedChanges(before.routed, after.routed),
    ...hostChanges(before.hosts, after.hosts),
    ...trafficChanges(before.traffic, after.traffic),
    ...serviceChanges(before.services, after.services),
    ...reservationChanges(before.reservations, after.reservations),
    ...(after.error !== before.error && after.error !== '' ? [`the pool says: ${after.error}`] : []),
  ];
}

function sentence({ address, state, machineState, node, error }: AddressRow): string {
  const detail = machineState === '' || machineState === 'Stable' ? '' : ` (${machineState})`;
  return `${address} is ${state}${detail}${node === '' ? '' : ` on ${node}`}${error === '' ? '' : `: ${error}`}`;
}

function nodeSentences(old: NodeRow | undefined, node: NodeRow): readonly string[] {
  if (old === undefined) return [];
  return [
    ...(old.ready === node.ready ? [] : [`${node.name} is ${node.ready ? 'Ready' : 'NotReady'}`]),
    ...(old.cordoned === node.cordoned ? [] : [`${node.name} is ${node.cordoned ? 'cordoned' : 'no longer cordoned'}`]),
    ...(old.annotation === node.annotation
      ? []
      : [
          node.annotation === ''
            ? `${node.name} is no longer annotated with ${old.annotation}`
            : `${node.name} is annotated with ${node.annotation}`,
        ]),
  ];
}
