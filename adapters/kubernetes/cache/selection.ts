import type { Json } from '../../../actors/ports/records.ts';
import { wantsPods } from '../../../machines/model/matching.ts';
import { parseSelector, type Requirement } from '../../../machines/model/selector.ts';
import { fieldsOf } from '../../../machines/model/types.ts';
import type { PodQuery } from './pod-selections.ts';

/** The selectors of `spec.match`, as the user wrote them. */
export interface MatchSelectors {
  readonly nodeLabel?: string;
  readonly podLabel?: string;
  readonly podNamespace?: string;
}

/** What an object that requests nodes selects. */
export interface Selection {
  readonly match: MatchSelectors;
  readonly nodes: readonly Requirement[];
  /** Null when it does not select pods. */
  readonly pods: PodQuery | null;
}

export const nodePath = (name: string): string => `/api/v1/nodes/${encodeURIComponent(name)}`;

const SELECTORS = ['nodeLabel', 'podLabel', 'podNamespace'] as const;

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

export const isNamespace = (name: string): boolean => DNS_LABEL.test(name);

/** What the `spec` of a pool or a NodeDNSRecordSet selects; null when a selector is not a string, cannot be parsed, or names an invalid namespace. */
export const selectionOf = (spec: Json): Selection | null => {
  const match = fieldsOf<Json>(fieldsOf<Json>(spec).match);
  const selectors: { -readonly [key in keyof MatchSelectors]: string } = {};
  for (const name of SELECTORS) {
    const value = match[name];
    if (value === undefined || value === null) continue;
    if (typeof value !== 'string') return null;
    selectors[name] = value;
  }
  const { podNamespace = '' } = selectors;
  if (podNamespace !== '' && !isNamespace(podNamespace)) return null;
  const nodes = requirementsOf(selectors.nodeLabel);
  const pods = requirementsOf(selectors.podLabel);
  if (nodes === null || pods === null) return null;
  return { match: selectors, nodes, pods: wantsPods(selectors) ? { namespace: podNamespace, requirements: pods } : null };
};

const requirementsOf = (selector = ''): readonly Requirement[] | null => {
  try {
    return parseSelector(selector);
  } catch {
    return null;
  }
};
