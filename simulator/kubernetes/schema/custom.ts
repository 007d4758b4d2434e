import { type ApiError, badRequest } from '../errors.ts';
import type { Cause, JsonObject } from '../objects.ts';
import type { ObjectSchema } from '../resource.ts';
import { resolvedSchema } from './builtin-schemas.ts';
import { celCauses } from './cel.ts';
import { listCauses } from './lists.ts';
import { modelOf } from './models.ts';
import { fillDefaults, prune } from './pruning.ts';
import type { Schema } from './schema.ts';
import { NOWHERE, valueCauses } from './values.ts';

const BLOCKING = ['FieldValueNotSupported', 'FieldValueRequired', 'FieldValueTooLong', 'FieldValueTooMany', 'FieldValueTypeInvalid'];

const NOT_CHECKED: Cause = {
  reason: 'FieldValueInvalid',
  message:
    'Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
  field: NOWHERE,
};

const unknownFields = (paths: readonly string[]): string => paths.map((path) => `unknown field ${JSON.stringify(path)}`).join(', ');

export const unknownFieldsError = (kind: string, version: string, paths: readonly string[]): ApiError =>
  badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: strict decoding error: ${unknownFields(paths)}`);

export const warnOfUnknown = (paths: readonly string[], options: { fieldValidation?: string | undefined; warnings?: string[] }): void => {
  if (options.fieldValidation === 'Warn') for (const path of paths) options.warnings?.push(unknownFields([path]));
};

const metaSchema = (): Schema => {
  const model = modelOf('V1ObjectMeta');
  return model ? resolvedSchema(model) : { 'x-kubernetes-preserve-unknown-fields': true };
};

/** A custom resource's schema with that of its metadata, which definitions leave to the server. */
export const withMetadata = (schema: Schema): Schema => ({ ...schema, properties: { ...schema.properties, metadata: metaSchema() } });

/** What the schema of a custom resource's version does to its objects. `openAPIV3Schema` is taken as it stands in the definition. */
export const customSchema = (names: { kind: string; version: string }, openAPIV3Schema: JsonObject): ObjectSchema => {
  // Of the metadata, which is the API server's own, a definition may only restrict name and generateName.
  const checked = openAPIV3Schema as Schema;
  const known = withMetadata(checked);
  return {
    structure: () => checked,
    prune: (object) => prune(object, known).length > 0,
    accept: (object, options) => {
      const unknown = prune(object, known);
      if (unknown.length > 0 && options.fieldValidation === 'Strict') throw unknownFieldsError(names.kind, names.version, unknown);
      warnOfUnknown(unknown, options);
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
