import type { HolderEffect } from '../../../actors/ports/cluster.ts';
import type { Json } from '../../../actors/ports/records.ts';
import { HOLDER_TAINT } from '../../../machines/model/types.ts';
import { holderEffectOf } from '../cache/holder-taint.ts';
import { nodePath } from '../cache/selection.ts';
import { revisionOf } from '../cache/trim.ts';
import { ApiError, isConflict, isNotFound } from '../client/api-error.ts';
import { despiteConflicts, inVain } from '../client/conflicts.ts';
import { type Connection, JSON_PATCH } from '../client/connection.ts';
import { isObject, type JsonObject } from '../client/merge-patch.ts';

const TAINTS = '/spec/taints';

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

const effectOf = (taint: Json): HolderEffect | null =>
  isObject(taint) ? holderEffectOf({ key: textOf(taint.key), value: textOf(taint.value), effect: textOf(taint.effect) }) : null;

/** The taints that a node should have: ours with the effect `wanted`, or none of ours for null. Returns null when they are right. Other taints are unchanged.
 *  A foreign taint with our key and this effect does what ours would do, and the API accepts no second one. */
const taintsWith = (taints: readonly Json[], wanted: HolderEffect | null): readonly Json[] | null => {
  const others = taints.filter((taint) => effectOf(taint) === null);
  const isTaken = others.some((taint) => isObject(taint) && taint.key === HOLDER_TAINT && taint.effect === wanted);
  const desired = wanted === null || isTaken ? [] : [wanted];
  const ours = taints.map(effectOf).filter((effect) => effect !== null);
  if (ours.length === desired.length && ours.every((effect) => effect === wanted)) return null;
  return [...others, ...desired.map((effect) => ({ key: HOLDER_TAINT, effect }))];
};

/** A JSON patch (RFC 6902) that fails when the taints were changed concurrently. Without a list there is nothing to compare: then the whole node must be
 *  unchanged. */
const patchOf = (node: unknown, present: readonly Json[] | null, next: readonly Json[]): readonly JsonObject[] => [
  present === null
    ? { op: 'test', path: '/metadata/resourceVersion', value: revisionOf(node) }
    : { op: 'test', path: TAINTS, value: present },
  next.length === 0 ? { op: 'remove', path: TAINTS } : { op: 'add', path: TAINTS, value: next },
];

/** The API server responds with 422 to a JSON patch whose test fails. */
const isOvertaken = (error: unknown): boolean => isConflict(error) || (error instanceof ApiError && error.status === 422);

/** Called once the node was read: the effect our taint should have, null for no taint, undefined to leave the node as it is. */
export type WantedTaint = () => HolderEffect | null | undefined;

/** Makes our taint on the node what `wanted` returns, and returns that. A deleted node counts as written. @throws ServerUnreachable | ApiError */
export const writeTaint = async (connection: Connection, name: string, wanted: WantedTaint): Promise<ReturnType<WantedTaint>> => {
  try {
    return await despiteConflicts(() => writeOnce(connection, nodePath(name), wanted), isOvertaken);
  } catch (error) {
    if (isNotFound(error)) return wanted();
    throw isOvertaken(error) ? inVain(`taint node ${name}`, error) : error;
  }
};

const writeOnce = async (connection: Connection, path: string, wanted: WantedTaint): Promise<ReturnType<WantedTaint>> => {
  const node = (await connection.send({ method: 'GET', path })) as Json;
  const effect = wanted();
  if (effect === undefined) return undefined;
  const present = taintsOf(node);
  const next = taintsWith(present ?? [], effect);
  if (next !== null) await connection.send({ method: 'PATCH', path, contentType: JSON_PATCH, body: patchOf(node, present, next) });
  return effect;
};

const taintsOf = (node: Json): readonly Json[] | null => {
  const spec = isObject(node) ? node.spec : undefined;
  const taints = isObject(spec) ? spec.taints : undefined;
  return Array.isArray(taints) ? taints : null;
};
