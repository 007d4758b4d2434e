import type { JsonObject } from '../objects.ts';
import { isObject } from '../objects.ts';

/** A structural schema, as a CustomResourceDefinition's `openAPIV3Schema` holds it. Only the members that are acted on are typed. */
export interface Schema extends JsonObject {
  type?: string;
  format?: string;
  nullable?: boolean;
  enum?: (string | number | boolean | null)[];
  pattern?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: boolean;
  exclusiveMaximum?: boolean;
  multipleOf?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  minProperties?: number;
  maxProperties?: number;
  required?: string[];
  properties?: { [name: string]: Schema };
  items?: Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  not?: Schema;
}

/** What follows an element of a path into an object: `spec` + `ips` + 0 is `spec.ips[0]`. */
export const child = (path: string, step: string | number): string =>
  typeof step === 'number' ? `${path}[${step}]` : path === '' ? step : `${path}.${step}`;

/** The schema of a map's values; undefined when the object has fixed fields only, or any. */
export const valuesOf = (schema: Schema): Schema | undefined => {
  const values = schema.additionalProperties;
  return isObject(values) ? (values as Schema) : undefined;
};

export const preservesUnknown = (schema: Schema): boolean => schema['x-kubernetes-preserve-unknown-fields'] === true;

export const isIntOrString = (schema: Schema): boolean => schema['x-kubernetes-int-or-string'] === true;

export const isEmbedded = (schema: Schema): boolean => schema['x-kubernetes-embedded-resource'] === true;

/** The keys of a list of type map, or undefined for another list. */
export const mapKeysOf = (schema: Schema): string[] | undefined => {
  const keys = schema['x-kubernetes-list-map-keys'];
  return schema['x-kubernetes-list-type'] === 'map' && Array.isArray(keys) ? keys.map(String) : undefined;
};

/** The schema of one property of an object: its own, or that of the map's values. */
export const propertyOf = (schema: Schema, name: string): Schema | undefined => schema.properties?.[name] ?? valuesOf(schema);
