import { ApiError } from '../errors.ts';
import { copy, equal, isObject, type Json, type JsonObject, type KubeObject, timestamp } from '../objects.ts';
import { propertyOf, type Schema } from '../schema/schema.ts';
import { disputed, elementOf, fieldsOf, mergesItems, notNamed, union, without } from './field-set.ts';
import { firstOwner, isWriter, type Manager, managersOf, ownable, setManagers, type Writer } from './managed-fields.ts';

const mergeLists = (live: readonly Json[], wanted: readonly Json[], schema: Schema | undefined): Json[] => {
  const result = [...live];
  for (const item of wanted) {
    const element = elementOf(item, schema);
    const place = result.findIndex((other) => elementOf(other, schema) === element);
    if (place < 0) result.push(item);
    else result[place] = merged(result[place], item, schema?.items);
  }
  return result;
};

/** The live value with the wanted one laid over it; lists by their keys where the schema has some. */
const merged = (live: Json | undefined, wanted: Json, schema: Schema | undefined): Json => {
  if (Array.isArray(wanted)) return Array.isArray(live) && mergesItems(schema) ? mergeLists(live, wanted, schema) : wanted;
  if (!isObject(wanted) || !isObject(live) || schema?.['x-kubernetes-map-type'] === 'atomic') return wanted;
  const result: JsonObject = { ...live };
  for (const [key, value] of Object.entries(wanted)) {
    if (value !== undefined) result[key] = merged(live[key], value, schema && propertyOf(schema, key));
  }
  return result;
};

/** A manager as messages name it; those that applied are told without a version. */
const named = ({ manager, operation, subresource, apiVersion }: Manager): string => {
  const within = subresource === undefined ? '' : ` with subresource ${JSON.stringify(subresource)}`;
  return `${JSON.stringify(manager)}${within}${operation === 'Update' ? ` using ${apiVersion}` : ''}`;
};

const conflictError = (conflicts: readonly { owner: Manager; path: string }[]): ApiError => {
  const causes = conflicts.map(({ owner, path }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${named(owner)}`,
    field: path,
  }));
  const lines = causes.map(({ message, field }) => `${message}: ${field}`);
  const text =
    lines.length === 1 ? `Apply failed with 1 conflict: ${lines[0]}` : `Apply failed with ${lines.length} conflicts: ${lines.join('\n')}`;
  return new ApiError(409, 'Conflict', text, { causes });
};

interface Application {
  schema: Schema | undefined;
  writer: Writer;
  force: boolean;
}

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

const sorted = (value: Json | undefined): Json | undefined => {
  if (Array.isArray(value)) return value.map((item) => sorted(item) ?? null);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, item]) => [key, sorted(item) ?? null]),
  );
};

/** Where kubectl has applied by itself before, it finds what it applies by the server now. */
const tellLastApplied = ({ metadata }: KubeObject, configuration: JsonObject): void => {
  const { annotations } = metadata;
  if (annotations?.[LAST_APPLIED] !== undefined) annotations[LAST_APPLIED] = `${JSON.stringify(sorted(configuration))}\n`;
};

/** Server-side apply: the live object with the configuration laid over it, without what this manager applied before and no longer names.
 *  @throws ApiError 409 when another manager owns a field with another value, unless forced. Kubernetes: Server-Side Apply. */
export const applied = (live: KubeObject, configuration: JsonObject, { schema, writer, force }: Application): KubeObject => {
  const wanted = ownable(configuration);
  const fields = fieldsOf(wanted, schema);
  const present = managersOf(live);
  const managers = present.length === 0 ? [firstOwner(live, schema)] : present;
  const own = managers.find((entry) => isWriter(entry, writer));
  const others = managers.filter((entry) => entry !== own);
  const conflicts = others.flatMap((owner) =>
    disputed(fields, owner.fields, [wanted, ownable(live)], schema).map((path) => ({ owner, path })),
  );
  if (conflicts.length > 0 && !force) throw conflictError(conflicts);
  // A field with the same value is shared; one taken by force leaves its owner.
  const taken = new Set(conflicts.map(({ owner }) => owner));
  const left = others.map((entry) => (taken.has(entry) ? { ...entry, fields: notNamed(entry.fields, fields) } : entry));
  const kept = left.reduce((all, entry) => union(all, entry.fields), fields);
  const result = merged(live, { ...wanted }, schema) as KubeObject;
  const clean = without(result, notNamed(own?.fields ?? {}, kept), schema) as KubeObject;
  const object = copy({ ...clean, metadata: { ...clean.metadata } });
  // The same configuration again changes nothing, not even a time.
  const time = own && equal(own.fields as unknown as JsonObject, fields as unknown as JsonObject) ? own.time : timestamp(writer.now);
  setManagers(object, [...left, { ...writer, apiVersion: live.apiVersion, time, fields }]);
  if (writer.manager === 'kubectl') tellLastApplied(object, configuration);
  return object;
};

/** The object that applying to nothing creates, owned by who applied it. */
export const appliedNew = (configuration: KubeObject, { schema, writer }: Application): KubeObject => {
  const object = copy<KubeObject>(configuration);
  const fields = fieldsOf(ownable(configuration), schema);
  setManagers(object, [{ ...writer, apiVersion: configuration.apiVersion, time: timestamp(writer.now), fields }]);
  return object;
};
