import type { AuditEvent } from './kube.ts';
import type { KubeObject } from './kube-apply.ts';

/** One thing that roles allow: a verb on a resource, in one namespace or in all of them. */
export interface Grant {
  readonly role: string;
  /** Absent for all namespaces, and for what is in none; `any` for a ClusterRole that is bound in each namespace that needs it. */
  readonly namespace?: string;
  readonly group: string;
  /** With its subresource, e.g. `services/status`. */
  readonly resource: string;
  readonly verb: string;
  /** Absent for all of them. */
  readonly names?: readonly string[];
}

/** What an account has asked for, each thing once. */
export interface Asked {
  readonly namespace?: string;
  readonly group: string;
  readonly resource: string;
  readonly verb: string;
  readonly name?: string;
  readonly refused: boolean;
}

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

interface Binding extends KubeObject {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[];
}

/** What the roles among `objects` that are bound to the ServiceAccount allow it. @throws Error for a binding of a role that is not among them */
export function grantsIn(objects: readonly KubeObject[], account: { readonly namespace: string; readonly name: string }): readonly Grant[] {
  const isBinding = (object: KubeObject): object is Binding => object.kind.endsWith('RoleBinding');
  const bound = objects
    .filter(isBinding)
    .filter(({ subjects }) =>
      subjects.some(({ kind, name, namespace }) => kind === 'ServiceAccount' && name === account.name && namespace === account.namespace),
    );
  return bound.flatMap(({ roleRef, metadata: { namespace } }) => {
    const role = objects.find(
      ({ kind, metadata }) =>
        kind === roleRef.kind && metadata.name === roleRef.name && (kind === 'ClusterRole' || metadata.namespace === namespace),
    );
    if (!role) throw new Error(`${roleRef.kind} ${roleRef.name} is bound, and nowhere described`);
    const within = { role: role.metadata.name, ...(namespace !== undefined && { namespace: roleRef.kind === 'Role' ? namespace : 'any' }) };
    return (role as unknown as { readonly rules: readonly Rule[] }).rules.flatMap(
      ({ apiGroups = [], resources = [], verbs, resourceNames }) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((resource) =>
            verbs.map((verb) => ({ ...within, group, resource, verb, ...(resourceNames && { names: resourceNames }) })),
          ),
        ),
    );
  });
}

/** What the account has asked for according to an audit log. What concerns no resource (discovery, /version) is anybody's and left out. */
export function askedBy(user: string, log: readonly AuditEvent[]): readonly Asked[] {
  const seen = new Map<string, Asked>();
  for (const { verb, user: by, objectRef, responseStatus } of log) {
    if (by.username !== user || objectRef === undefined) continue;
    const { resource, subresource, apiGroup: group = '', namespace, name } = objectRef;
    const asked: Asked = {
      group,
      resource: subresource === undefined ? resource : `${resource}/${subresource}`,
      verb,
      ...(namespace !== undefined && { namespace }),
      ...(name !== undefined && { name }),
      refused: responseStatus?.code === 403,
    };
    seen.set(JSON.stringify(asked), asked);
  }
  return [...seen.values()];
}

/** Whether this grant is what allowed that. */
export const allows = (grant: Grant, asked: Asked): boolean =>
  grant.group === asked.group &&
  grant.resource === asked.resource &&
  grant.verb === asked.verb &&
  (grant.namespace === undefined || (grant.namespace === 'any' ? asked.namespace !== undefined : grant.namespace === asked.namespace)) &&
  (grant.names === undefined || (asked.name !== undefined && grant.names.includes(asked.name)));

/** `verb resource.group (role)`, for people. */
export const tellGrant = ({ role, group, resource, verb, namespace }: Grant): string =>
  `${verb} ${resource}${group === '' ? '' : `.${group}`}${namespace === undefined ? '' : ` in ${namespace === 'any' ? 'a namespace' : namespace}`} (${role})`;
