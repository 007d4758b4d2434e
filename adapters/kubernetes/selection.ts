import type { Json } from '../../actors/ports.ts';

/** What one watch is about. Two equal queries share one watch. */
export interface WatchQuery {
  /** Path of the collection, with the namespace in it. */
  readonly path: string;
  readonly labelSelector: string;
  /** E.g. `metadata.name=web`; absent for all. */
  readonly fieldSelector?: string;
}

/** The selectors of `spec.match`, as the user wrote them. */
export interface MatchSelectors {
  readonly nodeLabel?: string;
  readonly podLabel?: string;
  readonly podNamespace?: string;
}

/** What has to be watched for one object that selects nodes. */
export interface Selection {
  readonly match: MatchSelectors;
  readonly nodes: WatchQuery;
  /** Null when it asks for no pods. */
  readonly pods: WatchQuery | null;
}

export const nodePath = (name: string): string => `/api/v1/nodes/${encodeURIComponent(name)}`;

const SELECTORS = ['nodeLabel', 'podLabel', 'podNamespace'] as const;

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

export const isNamespace = (name: string): boolean => DNS_LABEL.test(name);

const objectOf = (value: Json | undefined): { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as { readonly [key: string]: Json }) : {};

/** What to watch for the `spec` of a pool or a NodeDNSRecordSet; null when its selectors are no texts or its namespace no name of one. Whether a selector can be
 *  parsed is the API server's judgement. */
export const selectionOf = (spec: Json): Selection | null => {
  const match = objectOf(objectOf(spec).match);
  const selectors: { -readonly [key in keyof MatchSelectors]: string } = {};
  for (const name of SELECTORS) {
    const value = match[name];
    if (value === undefined || value === null) continue;
    if (typeof value !== 'string') return null;
    selectors[name] = value;
  }
  const { nodeLabel = '', podLabel = '', podNamespace = '' } = selectors;
  if (podNamespace !== '' && !isNamespace(podNamespace)) return null;
  const podsPath = podNamespace === '' ? '/api/v1/pods' : `/api/v1/namespaces/${podNamespace}/pods`;
  return {
    match: selectors,
    nodes: { path: '/api/v1/nodes', labelSelector: nodeLabel.trim() },
    pods: podLabel === '' && podNamespace === '' ? null : { path: podsPath, labelSelector: podLabel.trim() },
  };
};

/** The label keys that a selector names. Takes any text: it only decides which labels are worth keeping. */
export const keysOf = (selector: string): readonly string[] => {
  const requirements = selector.replace(/\([^)]*\)/g, '').split(',');
  const keys = requirements.map((one) => /^\s*!?\s*([^\s=!<>]+)/.exec(one)?.[1] ?? '');
  return [...new Set(keys.filter((key) => key !== ''))].sort();
};
