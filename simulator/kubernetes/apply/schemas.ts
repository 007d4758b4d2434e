import type { Resource } from '../resource.ts';
import { withMetadata } from '../schema/custom.ts';
import type { Schema } from '../schema/schema.ts';

/** The schema by which lists are merged and fields owned; undefined for a kind without one, whose lists are replaced. */
export const mergeSchemaOf = (resource: Resource): Schema | undefined => {
  const schema = resource.schema?.structure();
  return schema && resource.custom ? withMetadata(schema) : schema;
};
