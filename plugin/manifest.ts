import { parseAllDocuments } from 'yaml';
import type { Json } from '../actors/ports/records.ts';
import * as classes from '../crds/generated/clusterroutedipclass.ts';
import * as pools from '../crds/generated/floatingippool.ts';
import * as ipGroups from '../crds/generated/ipgroup.ts';
import * as recordSets from '../crds/generated/nodednsrecordset.ts';
import * as routedIPs from '../crds/generated/routedip.ts';
import * as issuers from '../crds/generated/routedipissuer.ts';
import { fields, text } from './fields.ts';
import type { Wish } from './stage.ts';

/** An object to be applied. */
export interface Change extends Wish {
  /** As the manifest has it. */
  readonly object: unknown;
}

/** Kinds whose objects each have a machine of their own. */
export const POOLS = [pools, routedIPs, recordSets];

/** Kinds that RoutedIPs depend on. */
export const POLICIES = [classes, issuers];

export const SERVICE = 'Service';

const PLANNED = [...[...POOLS, ...POLICIES, ipGroups].map(({ KIND }) => KIND), SERVICE];
const CLUSTER_SCOPED: readonly string[] = [classes.KIND, ipGroups.KIND];

export const isPolicy = ({ kind }: Pick<Wish, 'kind'>): boolean => POLICIES.some(({ KIND }) => KIND === kind);

/** @throws Error for invalid YAML, or a kind whose change cannot be rehearsed */
export function changesIn(content: string, namespace: string): readonly Change[] {
  const objects = parseAllDocuments(content).flatMap((document) => {
    const [error] = document.errors;
    // The lines after the first show the place in the file.
    if (error) throw new Error(error.message.split('\n', 1)[0]?.replace(/:$/, ''), { cause: error });
    const value: unknown = document.toJS();
    return Array.isArray(fields(value).items) ? (fields(value).items as readonly unknown[]) : value ? [value] : [];
  });
  if (objects.length === 0) throw new Error('the manifest holds no object');
  return objects.map((object) => {
    const { metadata, spec } = fields(object);
    const kind = text(fields(object).kind);
    const name = text(fields(metadata).name);
    if (!PLANNED.includes(kind)) throw new Error(`${kind || 'something'} ${name} cannot be planned: only ${PLANNED.join(', ')} can`);
    if (!name) throw new Error(`an object of kind ${kind} in the manifest has no name`);
    const home = CLUSTER_SCOPED.includes(kind) ? '' : text(fields(metadata).namespace) || namespace;
    const annotations = ownAnnotations(fields(metadata).annotations);
    return { kind, namespace: home, name, spec: (spec ?? {}) as Json, annotations, object };
  });
}

/** Annotations of the group routedip.io. */
export const ownAnnotations = (annotations: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(fields(annotations)).flatMap(([key, value]) => (key.startsWith('routedip.io/') ? [[key, text(value)]] : [])),
  );
