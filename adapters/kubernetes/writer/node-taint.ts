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

/** The taints of a node once it bears ours with `wanted`, or with null none of ours; null when they are right. All others stay as they are. Where
 *  somebody else's has our key and this very effect it does what ours would do, and the API takes no second one. */
const taintsWith = (taints: readonly Json[], wanted: HolderEffect | null): readonly Json[] | null => {
  const others = taints.filter((taint) => effectOf(taint) === null);
  const isTaken = others.some((taint) => isObject(taint) && taint.key === HOLDER_TAINT && taint.effect === wanted);
  const desired = wanted === null || isTaken ? [] : [wanted];
  const ours = taints.map(effectOf).filter((effect) => effect !== null);
  if (ours.length === desired.length && ours.every((effect) => effect === wanted)) return null;
  return [...others, ...desired.map((effect) => ({ key: HOLDER_TAINT, effect }))];
};

/** A JSON patch (RFC 6902) that changes nothing when somebody else has changed the taints meanwhile. Without a list there is none to compare: then the
 *  whole node has to be as it was. */
const patchOf = (node: unknown, present: readonly Json[] | null, next: readonly Json[]): readonly JsonObject[] => [
  present === null
    ? { op: 'test', path: '/metadata/resourceVersion', value: revisionOf(node) }
    : { op: 'test', path: TAINTS, value: present },
  next.length === 0 ? { op: 'remove', path: TAINTS } : { op: 'add', path: TAINTS, value: next },
];

/** The API server answers a JSON patch whose test fails with 422. */
const isOvertaken = (error: unknown): boolean => isConflict(error) || (error instanceof ApiError && error.status === 422);

/** Asked once the node was read: the effect that our taint is to have, null for no taint, undefined to leave the node as it is. */
export type WantedTaint = () => HolderEffect | null | undefined;

/** Makes our taint on the node what `wanted` answers, and answers that. A node that is gone counts as written. @throws ServerUnreachable | ApiError */
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
