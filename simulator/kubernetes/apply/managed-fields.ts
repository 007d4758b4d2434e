import { equal, isObject, type Json, type JsonObject, type KubeObject, timestamp } from '../objects.ts';
import type { Schema } from '../schema/schema.ts';
import { changed, difference, type FieldSet, fieldsOf, union } from './field-set.ts';

/** One entry of metadata.managedFields. */
export interface Manager {
  manager: string;
  operation: 'Apply' | 'Update';
  subresource: string | undefined;
  apiVersion: string;
  time: string;
  fields: FieldSet;
}

/** Who writes, and how. */
export interface Writer {
  manager: string;
  operation: 'Apply' | 'Update';
  subresource: string | undefined;
  now: number;
}

/** What belongs to nobody: identity, and what the server itself writes. */
const UNOWNED = [
  'name',
  'namespace',
  'generateName',
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
  'managedFields',
];

/** The part of an object that can have owners. */
export const ownable = (object: JsonObject): JsonObject => {
  const { apiVersion: _version, kind: _kind, metadata, ...rest } = object;
  const meta = isObject(metadata) ? Object.entries(metadata).filter(([key]) => !UNOWNED.includes(key)) : [];
  return meta.length === 0 ? rest : { ...rest, metadata: Object.fromEntries(meta) };
};

export const managersOf = (object: KubeObject): Manager[] => {
  const entries = object.metadata.managedFields;
  return (Array.isArray(entries) ? entries : []).filter(isObject).map((entry) => ({
    manager: String(entry.manager),
    operation: entry.operation === 'Apply' ? 'Apply' : 'Update',
    subresource: typeof entry.subresource === 'string' ? entry.subresource : undefined,
    apiVersion: String(entry.apiVersion),
    time: String(entry.time),
    fields: (isObject(entry.fieldsV1) ? entry.fieldsV1 : {}) as FieldSet,
  }));
};

const entryOf = ({ manager, operation, subresource, apiVersion, time, fields }: Manager): Json => ({
  manager,
  operation,
  apiVersion,
  time,
  fieldsType: 'FieldsV1',
  fieldsV1: fields as unknown as JsonObject,
  ...(subresource === undefined ? {} : { subresource }),
});

const rank = ({ operation, manager, subresource = '' }: Manager): string => `${operation} ${manager} ${subresource}`;

const byName = (a: Manager, b: Manager): number => (rank(a) < rank(b) ? -1 : 1);

export const setManagers = (object: KubeObject, managers: readonly Manager[]): void => {
  const kept = managers.filter(({ fields }) => Object.keys(fields).length > 0);
  if (kept.length === 0) delete object.metadata.managedFields;
  else object.metadata.managedFields = kept.toSorted(byName).map(entryOf);
};

export const isWriter = (entry: Manager, writer: Writer): boolean =>
  entry.manager === writer.manager && entry.operation === writer.operation && entry.subresource === writer.subresource;

/** The owner of everything that was there before the first server-side apply, or the first write of a Service's status. What a status is by default nobody has written. */
export const firstOwner = (object: KubeObject, schema: Schema | undefined): Manager => {
  const { status, ...rest } = object;
  const written = equal(status, schema?.properties?.status?.default) ? rest : object;
  return {
    manager: 'before-first-apply',
    operation: 'Update',
    subresource: undefined,
    apiVersion: object.apiVersion,
    time: object.metadata.creationTimestamp ?? '',
    fields: fieldsOf(ownable(written), schema),
  };
};

/** Gives the writer of a PUT or PATCH what it changed, and takes that from the others. Objects that were never applied on the server have no owners and get none. */
export const recordUpdate = (object: KubeObject, old: KubeObject, schema: Schema | undefined, writer: Writer): void => {
  const managers = managersOf(object);
  if (managers.length === 0) return;
  const fields = changed(ownable(old), ownable(object), schema);
  if (Object.keys(fields).length === 0) return;
  const present = fieldsOf(ownable(object), schema);
  const gone = difference(fields, present);
  const left = managers.map((entry) => ({ ...entry, fields: difference(entry.fields, isWriter(entry, writer) ? gone : fields) }));
  const own = left.find((entry) => isWriter(entry, writer));
  const mine = difference(fields, gone);
  const time = timestamp(writer.now);
  const entry: Manager = { ...writer, apiVersion: object.apiVersion, time, fields: union(own?.fields ?? {}, mine) };
  setManagers(object, [...left.filter((other) => other !== own), entry]);
};
