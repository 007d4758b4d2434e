import type { JsonObject, KubeObject } from '../objects.ts';
import type { Resource } from '../resource.ts';
import { columnsOf } from './columns.ts';

interface TableOptions {
  /** None, Metadata or Object: how much of each object rides along with its row. */
  includeObject: string;
  headers: boolean;
}

/** A `Table` of the objects, as `kubectl get` asks for it. */
export const tableText = (resource: Resource, objects: readonly KubeObject[], metadata: JsonObject, options: TableOptions): string => {
  const columns = columnsOf(resource);
  const rows = objects.map((object) => {
    const cells = columns.map((column) => column.cell(object));
    if (options.includeObject === 'None') return { cells };
    if (options.includeObject === 'Object') return { cells, object };
    return { cells, object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata } };
  });
  const columnDefinitions = columns.map(({ name, type, format, description, priority }) => ({
    name,
    type,
    format: format ?? '',
    description: description ?? '',
    priority: priority ?? 0,
  }));
  return JSON.stringify({
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: options.headers ? columnDefinitions : null,
    rows,
  });
};
