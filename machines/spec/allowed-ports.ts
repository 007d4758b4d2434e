import { atLeastOne, atMost, list, refuse, text } from '../model/parse.ts';
import { HIGHEST_PORT, isWithin, type PortRange } from '../model/port-range.ts';
import type { Port } from '../model/types.ts';
import { LIMITS } from './limits.ts';

/** An entry of `allowedPorts`. */
export interface AllowedPort {
  /** Null for both. */
  readonly protocol: Port['protocol'] | null;
  readonly range: PortRange;
}

/** What a class or an issuer allows Services to open on nodes. */
export interface PortLimits {
  /** Absent for all ports except those of the node itself. */
  readonly allowedPorts?: readonly AllowedPort[];
  /** Maximum ports of one Service; absent for any number. */
  readonly maxPorts?: number;
}

/** Ports used by the node itself: SSH, etcd, the API server, the kubelet and the control plane. */
const OF_THE_NODE: readonly PortRange[] = [
  { first: 22, last: 22 },
  { first: 2379, last: 2380 },
  { first: 6443, last: 6443 },
  { first: 10250, last: 10259 },
];

export type Permission = 'Allowed' | 'NotAllowed' | 'OfTheNode';

/** Whether a class allows a port to be opened on nodes. A port of the node itself has to be named: a range that also covers others does not include it. */
export function permission({ allowedPorts }: PortLimits, { port, protocol }: Pick<Port, 'port' | 'protocol'>): Permission {
  const entries = (allowedPorts ?? []).filter((entry) => isWithin(port, entry.range) && (entry.protocol ?? protocol) === protocol);
  const own = OF_THE_NODE.find((range) => isWithin(port, range));
  if (own) return entries.some(({ range }) => isPart(range, own)) ? 'Allowed' : 'OfTheNode';
  return allowedPorts === undefined || entries.length > 0 ? 'Allowed' : 'NotAllowed';
}

const isPart = (range: PortRange, whole: PortRange): boolean => isWithin(range.first, whole) && isWithin(range.last, whole);

/** The limits of a spec. @throws InvalidSpec */
export function portLimits(raw: Readonly<Record<string, unknown>>): PortLimits {
  const { allowedPorts: allowed, maxPorts: most } = raw;
  return {
    ...(allowed !== undefined && allowed !== null && { allowedPorts: allowedPorts(allowed) }),
    ...(most !== undefined && most !== null && { maxPorts: atLeastOne(most, 'maxPorts') }),
  };
}

function allowedPorts(raw: unknown): readonly AllowedPort[] {
  const entries = list(raw, 'spec.allowedPorts');
  if (entries.length === 0) refuse('allowedPorts must have an entry; leave it out to allow all ports but those of the node itself');
  atMost(entries.length, LIMITS.ClusterRoutedIPClass['spec.allowedPorts'], 'spec.allowedPorts', 'entries', 'join them to ranges');
  return entries.map((entry) => allowedPort(text(entry, 'spec.allowedPorts')));
}

function allowedPort(entry: string): AllowedPort {
  const parts = /^(?:(?<protocol>tcp|udp)\/)?(?<first>[1-9]\d{0,4})(?:-(?<last>[1-9]\d{0,4}))?$/.exec(entry)?.groups;
  const first = Number(parts?.first);
  const last = Number(parts?.last ?? parts?.first);
  if (!parts || first > last || last > HIGHEST_PORT)
    return refuse(
      `allowedPorts: "${entry}" must be a port or first-last within 1-65535, with or without its protocol, such as 443, 8000-8999 or udp/53`,
    );
  const protocol = parts.protocol === undefined ? null : parts.protocol === 'udp' ? 'UDP' : 'TCP';
  return { protocol, range: { first, last } };
}

/** The entry as written in a spec. */
export const allowedText = ({ protocol, range: { first, last } }: AllowedPort): string =>
  `${protocol === null ? '' : `${protocol.toLowerCase()}/`}${first}${last === first ? '' : `-${last}`}`;
