import { at, type Json, type KubeObject } from '../simulator/kubernetes/objects.ts';
import type { TrafficRow } from './traffic.ts';

/** The RoutedIP, as its status has it. */
export interface RoutedRow {
  readonly name: string;
  /** Empty while it has none. */
  readonly address: string;
  /** The chart's state, e.g. `FirewallOpening`. */
  readonly state: string;
  /** While it moves, where it goes to. */
  readonly node: string;
  /** The node that is confirmed to hold it. */
  readonly holder: string;
  readonly error: string;
  /** When state and node were first seen like this, ms since the epoch. */
  readonly since: number;
}

/** A node that serves the RoutedIP's Service, as DigitalOcean has it. */
export interface HostRow {
  readonly name: string;
  /** In force there, of all firewalls: `tcp/80`. Sorted. */
  readonly open: readonly string[];
  /** What is under way in the firewall of the RoutedIP. */
  readonly changing: '' | 'opening' | 'closing';
  /** The address that points there, or is about to. */
  readonly address: string;
  readonly moving: '' | 'arriving' | 'leaving';
}

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

/** The RoutedIP, seen at `seenAt`. */
export function routedRow(object: KubeObject, before: RoutedRow | null, seenAt: number): RoutedRow {
  const status = (field: string): string => text(at(object, 'status', field));
  const row = {
    name: object.metadata.name ?? '',
    address: status('routedIP'),
    state: status('state') || 'new',
    node: status('electedNode') || status('assignedNode'),
    holder: status('assignedNode'),
    error: status('error'),
  };
  const isSame = before !== null && before.state === row.state && before.node === row.node;
  return { ...row, since: isSame ? before.since : seenAt };
}

/** What changed for the RoutedIP, a sentence each. */
export function routedChanges(before: RoutedRow | null, after: RoutedRow | null): readonly string[] {
  if (after === null) return before === null ? [] : [`RoutedIP ${before.name} is gone`];
  if (before !== null && before.since === after.since && before.error === after.error) return [];
  const { name, state, node, error } = after;
  return [`RoutedIP ${name} is ${state}${node === '' ? '' : ` on ${node}`}${error === '' ? '' : `: ${error}`}`];
}

/** What changed on the nodes, a sentence each. */
export const hostChanges = (before: readonly HostRow[], after: readonly HostRow[]): readonly string[] =>
  after.flatMap((host) => {
    const old = before.find(({ name }) => name === host.name);
    if (old === undefined) return [];
    return [...(isSame(old.open, host.open) ? [] : [openSentence(host)]), ...(isAlike(old, host) ? [] : [holdSentence(old, host)])];
  });

const isSame = (a: readonly string[], b: readonly string[]): boolean => a.join() === b.join();
const isAlike = (a: HostRow, b: HostRow): boolean => a.address === b.address && a.moving === b.moving;
const openSentence = ({ name, open }: HostRow): string =>
  `${name}: ${open.length === 0 ? 'all ports are open' : `open are ${open.join(', ')}`}`;

function holdSentence(old: HostRow, { name, address, moving }: HostRow): string {
  if (address === '') return `${name} no longer has ${old.address}`;
  return moving === '' ? `${name} has ${address}` : `${address} is ${moving} ${moving === 'arriving' ? 'at' : 'from'} ${name}`;
}

/** Who answers now that did not before, a sentence each. */
export const trafficChanges = (before: readonly TrafficRow[], after: readonly TrafficRow[]): readonly string[] =>
  after.flatMap(({ address, port, by }) => {
    const old = before.find((row) => row.address === address && row.port === port)?.by ?? '';
    return old === by ? [] : [`${address}:${port}: ${by === '' ? 'nobody answers' : `${by} answers`}`];
  });
