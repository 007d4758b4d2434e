import { badRequest } from './errors.ts';
import { at, type JsonObject, type KubeObject } from './objects.ts';
import type { Resource } from './resource.ts';

export type Predicate = (object: KubeObject) => boolean;

interface Requirement {
  key: string;
  operator: 'exists' | 'missing' | 'in' | 'notin' | 'gt' | 'lt';
  values: readonly string[];
}

const KEY = '[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?';
const VALUE = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/;
const SET = new RegExp(String.raw`^(${KEY})\s+(in|notin)\s*\(([^()]*)\)$`);
const EQUALITY = new RegExp(String.raw`^(${KEY})\s*(==|=|!=|>|<)\s*(.*)$`);
const EXISTENCE = new RegExp(String.raw`^(!?)\s*(${KEY})$`);

const splitOutsideParentheses = (text: string): string[] => {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (character === '(') depth++;
    else if (character === ')') depth--;
    else if (character === ',' && depth === 0) {
      parts.push(text.slice(start, index));
      start = index + 1;
    }
  }
  return [...parts, text.slice(start)];
};

const unparsable = (text: string): never => {
  throw badRequest(`unable to parse requirement: ${text}`);
};

const checkValue = (key: string, value: string): string => {
  if (VALUE.test(value) && value.length <= 63) return value;
  return unparsable(
    `values[0][${key}]: Invalid value: "${value}": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
  );
};

const EQUALITY_OPERATORS = { '=': 'in', '==': 'in', '!=': 'notin', '>': 'gt', '<': 'lt' } as const;

const requirementOf = (part: string): Requirement => {
  const text = part.trim();
  const set = SET.exec(text);
  if (set) {
    const key = set[1] ?? '';
    const values = (set[3] ?? '').split(',').map((value) => checkValue(key, value.trim()));
    return { key, operator: set[2] === 'in' ? 'in' : 'notin', values };
  }
  const equality = EQUALITY.exec(text);
  if (equality) {
    const key = equality[1] ?? '';
    return { key, operator: EQUALITY_OPERATORS[equality[2] as '='], values: [checkValue(key, (equality[3] ?? '').trim())] };
  }
  const existence = EXISTENCE.exec(text);
  if (existence) return { key: existence[2] ?? '', operator: existence[1] === '!' ? 'missing' : 'exists', values: [] };
  return unparsable(`found '${text}', expected: identifier`);
};

const satisfied = (requirement: Requirement, value: string | undefined): boolean => {
  switch (requirement.operator) {
    case 'exists':
      return value !== undefined;
    case 'missing':
      return value === undefined;
    case 'in':
      return value !== undefined && requirement.values.includes(value);
    case 'notin':
      return value === undefined || !requirement.values.includes(value);
    case 'gt':
      return value !== undefined && Number(value) > Number(requirement.values[0]);
    case 'lt':
      return value !== undefined && Number(value) < Number(requirement.values[0]);
  }
};

/** @throws ApiError 400 when the text is no label selector. Kubernetes: Labels and Selectors, "API". */
export const labelPredicate = (text: string): Predicate | undefined => {
  if (text.trim() === '') return undefined;
  const requirements = splitOutsideParentheses(text).map(requirementOf);
  return (object) => requirements.every((requirement) => satisfied(requirement, object.metadata.labels?.[requirement.key]));
};

/** Fields that may be selected on besides metadata.name and metadata.namespace, by resource. Kubernetes: Field Selectors. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  pods: [
    'spec.nodeName',
    'spec.restartPolicy',
    'spec.schedulerName',
    'spec.serviceAccountName',
    'spec.hostNetwork',
    'status.phase',
    'status.podIP',
    'status.nominatedNodeName',
  ],
  nodes: ['spec.unschedulable'],
  namespaces: ['status.phase'],
  secrets: ['type'],
  services: ['spec.clusterIP', 'spec.type'],
  jobs: ['status.successful'],
  events: [
    'involvedObject.kind',
    'involvedObject.namespace',
    'involvedObject.name',
    'involvedObject.uid',
    'involvedObject.apiVersion',
    'involvedObject.resourceVersion',
    'involvedObject.fieldPath',
    'reason',
    'reportingComponent',
    'source',
    'type',
  ],
};

const SPECIAL: Readonly<Record<string, (object: KubeObject) => string>> = {
  source: (event) => String(at(event, 'source', 'component') ?? event.reportingComponent ?? ''),
  'spec.unschedulable': (node) => String(at(node, 'spec', 'unschedulable') ?? false),
  'spec.hostNetwork': (pod) => String(at(pod, 'spec', 'hostNetwork') ?? false),
  'status.successful': (job) => String(at(job, 'status', 'succeeded') ?? 0),
};

const fieldValue = (object: KubeObject, field: string): string => {
  const special = SPECIAL[field];
  if (special) return special(object);
  const value = at(object as JsonObject, ...field.split('.'));
  return value === undefined || value === null ? '' : String(value);
};

const FIELD_TERM = /^([^=!]+)(==|=|!=)(.*)$/;

/** Kinds that can be selected by name alone have a wording of their own. */
const unknownField = (resource: Resource, field: string): Error =>
  resource.custom || FIELDS[resource.plural]
    ? badRequest(`field label not supported: ${field}`)
    : badRequest(`"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`);

/** @throws ApiError 400 for a field that this resource cannot be selected on. */
export const fieldPredicate = (resource: Resource, text: string): Predicate | undefined => {
  if (text.trim() === '') return undefined;
  const known = ['metadata.name', 'metadata.namespace', ...(FIELDS[resource.plural] ?? []), ...(resource.selectableFields ?? [])];
  const terms = text.split(',').map((term) => {
    const match = FIELD_TERM.exec(term.trim());
    if (!match) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
    const field = (match[1] ?? '').replace(/^regarding\./, 'involvedObject.');
    if (!known.includes(field)) throw unknownField(resource, match[1] ?? '');
    return { field, wanted: match[3] ?? '', negated: match[2] === '!=' };
  });
  return (object) => terms.every(({ field, wanted, negated }) => (fieldValue(object, field) === wanted) !== negated);
};

/** All of the predicates, or undefined when there is none and everything is selected. */
export const allOf = (...predicates: readonly (Predicate | undefined)[]): Predicate | undefined => {
  const present = predicates.filter((predicate) => predicate !== undefined);
  return present.length === 0 ? undefined : (object) => present.every((predicate) => predicate(object));
};
