import { badRequest, type Cause } from '../errors.ts';
import type { JsonObject } from '../objects.ts';
import type { ObjectSchema } from '../resource.ts';
import { celCauses } from './cel.ts';
import { listCauses } from './lists.ts';
import { fillDefaults, prune } from './pruning.ts';
import type { Schema } from './schema.ts';
import { valueCauses } from './values.ts';

const BLOCKING = ['FieldValueNotSupported', 'FieldValueRequired', 'FieldValueTooLong', 'FieldValueTooMany', 'FieldValueTypeInvalid'];

const NOT_CHECKED: Cause = {
  reason: 'FieldValueInvalid',
  message:
    'Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
  field: '<nil>',
};

const unknownFields = (paths: readonly string[]): string => paths.map((path) => `unknown field ${JSON.stringify(path)}`).join(', ');

/** What the schema of a custom resource's version does to its objects. `openAPIV3Schema` is taken as it stands in the definition. */
export const customSchema = (names: { kind: string; version: string }, openAPIV3Schema: JsonObject): ObjectSchema => {
  const schema = openAPIV3Schema as Schema;
  // Metadata is the API server's own; a definition may only restrict name and generateName, which nobody here does.
  const { metadata: _metadata, ...properties } = schema.properties ?? {};
  const checked: Schema = { ...schema, properties };
  return {
    openAPI: openAPIV3Schema,
    accept: (object, { fieldValidation, warnings }) => {
      const unknown = prune(object, checked);
      if (unknown.length > 0 && fieldValidation === 'Strict') {
        const { kind, version } = names;
        throw badRequest(
          `${kind} in version "${version}" cannot be handled as a ${kind}: strict decoding error: ${unknownFields(unknown)}`,
        );
      }
      if (unknown.length > 0 && fieldValidation === 'Warn') for (const path of unknown) warnings?.push(unknownFields([path]));
      fillDefaults(object, checked);
    },
    validate: (object, old) => {
      const causes = valueCauses(object, checked, '', old);
      if (!old || listCauses(old, checked, '').length === 0) causes.push(...listCauses(object, checked, ''));
      if (causes.some(({ reason }) => BLOCKING.includes(reason))) return [...causes, NOT_CHECKED];
      return [...causes, ...celCauses(object, old, checked, '')];
    },
  };
};
