import type { Json, KubeObject } from '../objects.ts';
import type { Column, Resource } from '../resource.ts';
import { since } from './ages.ts';
import { BUILTIN_COLUMNS } from './builtin-columns.ts';
import { jsonPath } from './jsonpath.ts';

interface PrintedColumn extends Column {
  cell(object: KubeObject): Json;
}

export const NAME: PrintedColumn = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'Name must be unique within a namespace.',
  cell: (object) => object.metadata.name ?? '',
};

export const AGE: PrintedColumn = {
  name: 'Age',
  type: 'string',
  description: 'CreationTimestamp is a timestamp representing the server time when this object was created.',
  cell: (object) => since(object.metadata.creationTimestamp),
};

const shown = (type: string, value: Json | undefined): Json => {
  if (value === undefined || value === null) return null;
  switch (type) {
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      return typeof value === 'string' ? since(value) : null;
    default:
      return typeof value === 'string' ? value : JSON.stringify(value);
  }
};

const columnOf = (column: Column): PrintedColumn => {
  const path = jsonPath(column.jsonPath ?? '');
  const description = column.description ?? `Custom resource definition column (in JSONPath format): ${column.jsonPath}`;
  return { ...column, description, cell: (object) => shown(column.type, path(object)[0]) };
};

const known = new WeakMap<Resource, readonly PrintedColumn[]>();

/** The columns of a resource, in the order they are printed. */
export const columnsOf = (resource: Resource): readonly PrintedColumn[] => {
  const found = known.get(resource) ?? [
    NAME,
    ...(resource.custom ? (resource.columns?.map(columnOf) ?? [AGE]) : (BUILTIN_COLUMNS[resource.storage] ?? [AGE])),
  ];
  // An event's name is of no interest: the built-in table puts it last.
  const columns = resource.storage === 'events' ? found.slice(1) : found;
  known.set(resource, found);
  return columns;
};
