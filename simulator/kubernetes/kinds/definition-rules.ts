import type { Cause } from '../objects.ts';
import { at, isObject, type Json, type JsonObject, type KubeObject } from '../objects.ts';
import { rulesOf, syntaxErrorOf } from '../schema/cel.ts';
import type { Schema } from '../schema/schema.ts';

const listOf = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

const invalidAt = (field: string, value: Json, why: string): Cause => ({
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${JSON.stringify(value)}: ${why}`,
  field,
});

/** Rules that no evaluator can read; a real server compiles them with their types as well. */
const ruleCauses = (schema: Schema, path: string): Cause[] => {
  const own = rulesOf(schema).flatMap((rule, index) => {
    const error = syntaxErrorOf(rule.rule);
    return error === undefined
      ? []
      : [invalidAt(`${path}.x-kubernetes-validations[${index}].rule`, rule.rule, `compilation failed: ${error}`)];
  });
  const properties = Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => ruleCauses(inner, `${path}.properties[${name}]`));
  return [...own, ...properties, ...(schema.items ? ruleCauses(schema.items, `${path}.items`) : [])];
};

/** Of the metadata, which is the API server's own, a definition may restrict two names and say nothing else: not even describe it. */
const metadataCauses = (schema: JsonObject, field: string): Cause[] => {
  const { type: _type, properties, ...others } = (at(schema, 'properties', 'metadata') ?? {}) as JsonObject;
  const named = isObject(properties) ? Object.keys(properties) : [];
  if (Object.keys(others).length === 0 && named.every((name) => name === 'name' || name === 'generateName')) return [];
  const message = 'Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified';
  return [{ reason: 'FieldValueForbidden', message, field: `${field}.properties[metadata]` }];
};

/** What is wrong with the schema of one version. The real server names a field of the first version so when it is the only one. */
const schemaCauses = (schema: Schema, field: string): Cause[] => [
  ...ruleCauses(schema, field),
  ...metadataCauses(schema, field.replace('versions[0].schema', 'validation')),
];

/** The rules of custom resource definitions: their name, one stored version, readable rules. */
export const definitionCauses = (definition: KubeObject): Cause[] => {
  const { name = '' } = definition.metadata;
  const causes: Cause[] = [];
  const wanted = `${at(definition, 'spec', 'names', 'plural')}.${at(definition, 'spec', 'group')}`;
  if (name !== wanted) causes.push(invalidAt('metadata.name', name, 'must be spec.names.plural+"."+spec.group'));
  const versions = listOf(at(definition, 'spec', 'versions'));
  if (versions.filter((version) => version.storage === true).length !== 1) {
    causes.push(invalidAt('spec.versions', versions, 'must have exactly one version marked as storage version'));
  }
  for (const [index, version] of versions.entries()) {
    const schema = at(version, 'schema', 'openAPIV3Schema');
    if (isObject(schema)) causes.push(...schemaCauses(schema as Schema, `spec.versions[${index}].schema.openAPIV3Schema`));
    else
      causes.push({
        reason: 'FieldValueRequired',
        message: 'Required value: schemas are required',
        field: `spec.versions[${index}].schema.openAPIV3Schema`,
      });
  }
  return causes;
};
