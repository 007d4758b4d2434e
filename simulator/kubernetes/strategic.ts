import { equal, isObject, type Json, type JsonObject } from './objects.ts';

/** How lists of built-in kinds are merged: by the key named, `''` for a set of plain values. Lists not named are replaced.
 *  Source: `patchStrategy` and `patchMergeKey` in the Kubernetes API reference. Keys are the field's name, with its parent where one name has two rules. */
const MERGE_KEYS: Readonly<Record<string, string>> = {
  containers: 'name',
  initContainers: 'name',
  ephemeralContainers: 'name',
  volumes: 'name',
  env: 'name',
  volumeMounts: 'mountPath',
  volumeDevices: 'devicePath',
  imagePullSecrets: 'name',
  hostAliases: 'ip',
  topologySpreadConstraints: 'topologyKey',
  resourceClaims: 'name',
  conditions: 'type',
  addresses: 'type',
  podIPs: 'ip',
  hostIPs: 'ip',
  podCIDRs: '',
  finalizers: '',
  ownerReferences: 'uid',
  secrets: 'name',
  webhooks: 'name',
};

/** Ports merge by their number; in a Service it is `port`, in a container `containerPort`. */
const mergeKeyOf = (kind: string, field: string): string | undefined => {
  if (field === 'ports')
    return kind === 'Service' ? 'port' : kind === 'Endpoints' || kind === 'EndpointSlice' ? undefined : 'containerPort';
  if (field === 'addresses' || field === 'conditions')
    return kind === 'Endpoints' || kind === 'EndpointSlice' ? undefined : MERGE_KEYS[field];
  return MERGE_KEYS[field];
};

const isDirective = (key: string): boolean => key.startsWith('$');

const mergeValues = (target: readonly Json[], patch: readonly Json[], removed: readonly Json[]): Json[] => {
  const kept = target.filter((value) => !removed.some((other) => equal(value, other)));
  return [...kept, ...patch.filter((value) => !kept.some((other) => equal(value, other)))];
};

const mergeItems = (kind: string, key: string, target: readonly Json[], patch: readonly Json[]): Json[] => {
  const items = patch.filter(isObject);
  if (items.some((item) => item.$patch === 'replace')) return items.filter((item) => item.$patch === undefined);
  const result: Json[] = [...target];
  for (const item of items) {
    const place = result.findIndex((present) => isObject(present) && equal(present[key], item[key]));
    if (item.$patch === 'delete') {
      if (place >= 0) result.splice(place, 1);
    } else if (place < 0) result.push(strategicPatch(kind, {}, item));
    else result[place] = strategicPatch(kind, result[place] as JsonObject, item);
  }
  return result;
};

/** The order that a `$setElementOrder/<field>` directive asks for; what it does not name keeps its place behind its neighbour. */
const ordered = (list: readonly Json[], key: string, order: readonly Json[]): Json[] => {
  const rank = (value: Json): number =>
    order.findIndex((wanted) =>
      key === '' ? equal(wanted, value) : isObject(wanted) && isObject(value) && equal(wanted[key], value[key]),
    );
  const named = list.filter((value) => rank(value) >= 0).sort((a, b) => rank(a) - rank(b));
  return [...named, ...list.filter((value) => rank(value) < 0)];
};

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);

const patchList = (kind: string, field: string, target: Json | undefined, patch: JsonObject): Json => {
  const wanted = patch[field];
  const key = mergeKeyOf(kind, field);
  if (key === undefined) return wanted ?? null;
  const removed = listOf(patch[`$deleteFromPrimitiveList/${field}`]);
  const merged = key === '' ? mergeValues(listOf(target), listOf(wanted), removed) : mergeItems(kind, key, listOf(target), listOf(wanted));
  const order = patch[`$setElementOrder/${field}`];
  return Array.isArray(order) ? ordered(merged, key, order) : merged;
};

const listDirectives = (patch: JsonObject): string[] =>
  Object.keys(patch)
    .filter((key) => key.startsWith('$deleteFromPrimitiveList/') || key.startsWith('$setElementOrder/'))
    .map((key) => key.slice(key.indexOf('/') + 1));

/** Strategic merge patch of a built-in kind, with its directives ($patch, $retainKeys, $setElementOrder, $deleteFromPrimitiveList). Nothing given is changed. */
export const strategicPatch = (kind: string, target: JsonObject, patch: JsonObject): JsonObject => {
  if (patch.$patch === 'replace') return Object.fromEntries(Object.entries(patch).filter(([key]) => !isDirective(key)));
  if (patch.$patch === 'delete') return {};
  const retained = patch.$retainKeys;
  const result: JsonObject = Array.isArray(retained)
    ? Object.fromEntries(Object.entries(target).filter(([key]) => retained.includes(key)))
    : { ...target };
  const fields = new Set([...Object.keys(patch).filter((key) => !isDirective(key)), ...listDirectives(patch)]);
  for (const field of fields) {
    const value = patch[field];
    if (value === null) delete result[field];
    else if (isObject(value)) result[field] = strategicPatch(kind, isObject(result[field]) ? result[field] : {}, value);
    else if (Array.isArray(value) || value === undefined) result[field] = patchList(kind, field, result[field], patch);
    else result[field] = value;
  }
  return result;
};
