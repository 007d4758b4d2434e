import { asRecord, InvalidSpec, list, refuse, text } from './parse.ts';
import { checked, type Labels, type Requirement, selects } from './selector.ts';
import { type ActorId, isFields } from './types.ts';

/** Which namespaces may use a cluster-scoped object: a Kubernetes LabelSelector on the labels of the Namespace. */

/** The requirements of `namespaceSelector` in a spec; an empty selector has none and admits all namespaces. Null when it is absent, which also admits all, without reading any
 *  Namespace.
 *  @throws InvalidSpec */
export function namespaceSelector(spec: unknown): readonly Requirement[] | null {
  const given = isFields(spec) ? spec.namespaceSelector : undefined;
  if (given === undefined || given === null) return null;
  const { matchLabels, matchExpressions } = asRecord(given, 'namespaceSelector');
  const labels = Object.entries(asRecord(matchLabels ?? {}, 'namespaceSelector.matchLabels'));
  return [
    ...labels.map(([key, value]) => sound({ key, operator: 'in', values: [text(value, 'namespaceSelector.matchLabels')] })),
    ...list(matchExpressions, 'namespaceSelector.matchExpressions').map(requirement),
  ];
}

const OPERATORS: Readonly<Record<string, Requirement['operator']>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: 'missing',
};

function requirement(entry: unknown): Requirement {
  const field = 'namespaceSelector.matchExpressions';
  const { key, operator, values } = asRecord(entry, field);
  const known = OPERATORS[text(operator, `${field}.operator`)] ?? refuse(`${field}.operator must be In, NotIn, Exists or DoesNotExist`);
  const given = list(values, `${field}.values`).map((value) => text(value, `${field}.values`));
  if ((known === 'in' || known === 'notin') !== given.length > 0) refuse(`${field}.values must be set for In and NotIn, and for no others`);
  return sound({ key: text(key, `${field}.key`), operator: known, values: given });
}

function sound(found: Requirement): Requirement {
  try {
    return checked(found, 'namespaceSelector');
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

/** What is known about the labels of a namespace: `unknown`, with the reason, before they were read. */
export type NamespaceLabels =
  | { readonly kind: 'known'; readonly labels: Labels }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unknown'; readonly why: string };

/** Why the namespace may not use `what`, whose spec this is; null when it may. An unreadable selector admits no namespace. */
export function barredBy(spec: unknown, what: string, namespace: string, labelsOf: (namespace: string) => NamespaceLabels): string | null {
  try {
    const selector = namespaceSelector(spec);
    if (selector === null) return null;
    const found = labelsOf(namespace);
    if (found.kind === 'unknown') return `it cannot be told whether ${what} is for namespace ${namespace}: ${found.why}`;
    return found.kind === 'known' && selects(selector, found.labels)
      ? null
      : `${what} is not for namespace ${namespace}: its namespaceSelector does not match the labels of the Namespace`;
  } catch (error) {
    if (!(error instanceof InvalidSpec)) throw error;
    return `${what} is for no namespace: ${error.message}`;
  }
}

/** Namespace of the object that an actor stands for: `web` of `rip/web/shop`. */
export const namespaceOf = (actor: ActorId): string => actor.split('/')[1] ?? '';
