import { badRequest } from '../errors.ts';
import { kindCauses } from '../kinds/rules.ts';
import { isObject, type Json, type JsonObject, type KubeObject } from '../objects.ts';
import { apiVersionOf, type ObjectSchema, type Resource } from '../resource.ts';
import { resolvedSchema } from './builtin-schemas.ts';
import { unknownFieldsError, warnOfUnknown } from './custom.ts';
import { modelOfKind } from './models.ts';
import { prune } from './pruning.ts';
import { child, isIntOrString, preservesUnknown, propertyOf, type Schema } from './schema.ts';

/** Amounts (`cpu: 1`) may be given as numbers; they are kept as text. */
const QUANTITIES = new Set(['limits', 'requests', 'capacity', 'allocatable', 'hard', 'used', 'overhead']);

interface Mismatch {
  path: string;
  found: string;
  wanted: string;
}

const NUMERIC = ['integer', 'number'];

const mismatchOf = (value: Json, schema: Schema, path: string): Mismatch | undefined => {
  const wanted = schema.type;
  const found = Array.isArray(value) ? 'array' : typeof value;
  if (wanted === undefined || wanted === found || isIntOrString(schema)) return undefined;
  if (NUMERIC.includes(wanted) && found === 'number') return undefined;
  return { path, found, wanted: wanted === 'integer' ? (schema.format ?? 'int') : wanted };
};

const isAmount = (value: Json, schema: Schema, path: string): boolean =>
  schema.type === 'string' && typeof value === 'number' && QUANTITIES.has(path.split('.').at(-1) ?? '');

/** The first value of a wrong type. On the way nulls are dropped, as decoding into Go structs does, and amounts become text. */
const normalise = (value: JsonObject, schema: Schema, path: string): Mismatch | undefined => {
  for (const [key, item] of Object.entries(value)) {
    const property = propertyOf(schema, key);
    if (!property || preservesUnknown(property)) continue;
    const here = child(path, key);
    if (item === null || item === undefined) delete value[key];
    else if (isAmount(item, property, path)) value[key] = String(item);
    else {
      const wrong = mismatchOf(item, property, here) ?? inside(item, property, here);
      if (wrong) return wrong;
    }
  }
  return undefined;
};

const inside = (value: Json, schema: Schema, path: string): Mismatch | undefined => {
  if (isObject(value)) return normalise(value, schema, path);
  const { items } = schema;
  if (!Array.isArray(value) || !items) return undefined;
  for (const item of value) {
    const wrong = item === null ? undefined : (mismatchOf(item, items, path) ?? inside(item, items, path));
    if (wrong) return wrong;
  }
  return undefined;
};

const typeError = (kind: string, version: string, { path, found, wanted }: Mismatch): Error => {
  const what = `json: cannot unmarshal ${found} into Go struct field ${kind}.${path} of type ${wanted}`;
  return badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${what}`);
};

/** What decoding into the Go type of a built-in kind does to its objects: unknown fields are dropped, wrong types refused. Undefined for a kind without a known type. */
export const builtinSchema = (resource: Resource): ObjectSchema | undefined => {
  const model = modelOfKind(apiVersionOf(resource), resource.kind);
  if (!model) return undefined;
  const { kind, version } = resource;
  return {
    accept: (object: KubeObject, options) => {
      const schema = resolvedSchema(model);
      const wrong = normalise(object, schema, '');
      if (wrong) throw typeError(kind, version, wrong);
      const unknown = prune(object, schema);
      if (unknown.length > 0 && options.fieldValidation === 'Strict') throw unknownFieldsError(kind, version, unknown);
      warnOfUnknown(unknown, options);
    },
    validate: (object, old, options) => kindCauses(resource, object, old, options),
    structure: () => resolvedSchema(model),
  };
};
