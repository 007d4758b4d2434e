import { randomInt, randomUUID } from 'node:crypto';
import type { Cause } from './objects.ts';
import { type KubeObject, type ObjectMeta, timestamp } from './objects.ts';
import type { Resource } from './resource.ts';

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const SUBDOMAIN = String.raw`${LABEL}(\.${LABEL})*`;
const QUALIFIED = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';

interface Form {
  pattern: RegExp;
  max: number;
  complaint: string;
}

const SUBDOMAIN_FORM: Form = {
  pattern: new RegExp(`^${SUBDOMAIN}$`),
  max: 253,
  complaint: `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${SUBDOMAIN}')`,
};
const LABEL_FORM: Form = {
  pattern: new RegExp(`^${LABEL}$`),
  max: 63,
  complaint: `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${LABEL}')`,
};
const VALUE_FORM: Form = {
  pattern: new RegExp(`^(${QUALIFIED})?$`),
  max: 63,
  complaint: `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(${QUALIFIED})?')`,
};
const NAME_PART_FORM: Form = {
  pattern: new RegExp(`^${QUALIFIED}$`),
  max: 63,
  complaint: `name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${QUALIFIED}')`,
};

const formOf = (resource: Resource): Form | undefined => {
  if (resource.group === 'rbac.authorization.k8s.io') return undefined;
  return ['namespaces', 'services'].includes(resource.plural) ? LABEL_FORM : SUBDOMAIN_FORM;
};

const invalidValue = (field: string, value: string, why: string): Cause => ({
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${JSON.stringify(value)}: ${why}`,
  field,
});

const against = (form: Form, field: string, value: string): Cause[] => {
  const causes: Cause[] = [];
  if (value.length > form.max) causes.push(invalidValue(field, value, `must be no more than ${form.max} characters`));
  if (form.pattern.test(value)) return causes;
  // What would be a subdomain is no label for its dots alone.
  const dotted = form === LABEL_FORM && SUBDOMAIN_FORM.pattern.test(value);
  return [...causes, invalidValue(field, value, dotted ? 'must not contain dots' : form.complaint)];
};

const keyCauses = (field: string, key: string): Cause[] => {
  const slash = key.lastIndexOf('/');
  const part = key.slice(slash + 1);
  if (part === '') return [invalidValue(field, key, 'name part must be non-empty'), ...against(NAME_PART_FORM, field, key).slice(0, 1)];
  if (slash >= 0 && !SUBDOMAIN_FORM.pattern.test(key.slice(0, slash))) {
    return [invalidValue(field, key, `prefix part ${SUBDOMAIN_FORM.complaint}`)];
  }
  return against({ ...NAME_PART_FORM }, field, part).map((cause) => ({
    ...cause,
    message: cause.message.replace(JSON.stringify(part), JSON.stringify(key)),
  }));
};

const STANDARD_FINALIZERS = ['orphan', 'foregroundDeletion', 'kubernetes'];

const finalizerCauses = (resource: Resource, finalizer: string, index: number): Cause[] => {
  const causes = keyCauses('metadata.finalizers', finalizer);
  if (resource.custom || causes.length > 0 || finalizer.includes('/') || STANDARD_FINALIZERS.includes(finalizer)) return causes;
  const why = 'name is neither a standard finalizer name nor is it fully qualified';
  return [invalidValue(`metadata.finalizers[${index}]`, finalizer, why)];
};

/** The rules every kind shares: name, label keys and values, annotation keys, finalizers. */
export const metaCauses = (resource: Resource, meta: ObjectMeta): Cause[] => {
  const form = formOf(resource);
  const causes: Cause[] = [];
  if (!meta.name) {
    causes.push({ reason: 'FieldValueRequired', message: 'Required value: name or generateName is required', field: 'metadata.name' });
  } else if (form) causes.push(...against(form, 'metadata.name', meta.name));
  for (const [key, value] of Object.entries(meta.labels ?? {})) {
    causes.push(...keyCauses('metadata.labels', key), ...against(VALUE_FORM, 'metadata.labels', String(value)));
  }
  for (const key of Object.keys(meta.annotations ?? {})) causes.push(...keyCauses('metadata.annotations', key.toLowerCase()));
  for (const [index, finalizer] of (meta.finalizers ?? []).entries()) causes.push(...finalizerCauses(resource, finalizer, index));
  return causes;
};

/** Characters of generated names: no vowels, hence no words. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

const suffix = (): string => Array.from({ length: 5 }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');

/** Gives a new object what the server sets itself: name from generateName, uid, creation time. */
export const stampNew = (object: KubeObject, now: number): void => {
  const meta = object.metadata;
  if (!meta.name && meta.generateName) meta.name = meta.generateName.slice(0, 58) + suffix();
  meta.uid = randomUUID();
  meta.creationTimestamp = timestamp(now);
  delete meta.resourceVersion;
  delete meta.deletionTimestamp;
  delete meta.deletionGracePeriodSeconds;
  delete meta.generation;
  delete meta.selfLink;
};

/** Carries over what a client cannot change. */
export const stampUpdate = (object: KubeObject, old: KubeObject): void => {
  const meta = object.metadata;
  for (const field of [
    'uid',
    'resourceVersion',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
    'generation',
    'generateName',
    'namespace',
  ] as const) {
    const value = old.metadata[field];
    if (value === undefined) delete meta[field];
    else Object.assign(meta, { [field]: value });
  }
  delete meta.selfLink;
  // Ownership survives a client that does not send it back.
  if (meta.managedFields === undefined) meta.managedFields = old.metadata.managedFields;
};

/** Empty maps and lists are not stored, as the real server drops them. */
export const tidyMeta = (meta: ObjectMeta): void => {
  for (const field of ['labels', 'annotations', 'finalizers', 'ownerReferences', 'managedFields'] as const) {
    const value = meta[field];
    if (value === null || value === undefined || Object.keys(value).length === 0) delete meta[field];
  }
};
