import type { Json } from '../../../actors/ports/records.ts';
import { LIMITS } from '../../../machines/spec/limits.ts';
import { isObject, type JsonObject } from './merge-patch.ts';
import { withinBytes } from './within-bytes.ts';

/** Explanations, and lists that only people read: they stay correct when truncated. Fields that a rebuild depends on are never truncated. */
const CUT: ReadonlySet<string> = new Set(['error', 'assignableNodes', 'nodeErrors', 'routedIPs']);

/** Limit per address, bytes: the status of a thousand addresses together must fit into etcd's limit. FLIPOP and earlier versions may write more. */
const LONGEST_OF_EACH = 512;

const within = (value: Json, most = Number.POSITIVE_INFINITY): Json => {
  if (typeof value === 'string') return withinBytes(value, most);
  return Array.isArray(value) && value.length > most ? value.slice(0, most) : value;
};

/** Truncates texts and lists of a status to the limits of the CRD, beyond which the server would reject the whole status. */
export function withinLimits(kind: string, status: JsonObject): JsonObject {
  const limits: Readonly<Record<string, number>> = LIMITS[kind as keyof typeof LIMITS];
  const cut = (members: JsonObject, most: (name: string) => number | undefined): JsonObject =>
    Object.fromEntries(Object.entries(members).map(([name, value]) => [name, CUT.has(name) ? within(value, most(name)) : value]));
  const { ips } = status;
  const each = isObject(ips) && Object.entries(ips).map(([ip, value]) => [ip, isObject(value) ? cut(value, () => LONGEST_OF_EACH) : value]);
  return { ...cut(status, (name) => limits[`status.${name}`]), ...(each && { ips: Object.fromEntries(each) }) };
}
