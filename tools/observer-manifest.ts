import { stringify } from 'yaml';
import { type Manifest, manifestsIn, manifestText } from './manifests.ts';

interface Rule {
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

interface Role extends Manifest {
  readonly rules: readonly Rule[];
}

interface Deployment extends Manifest {
  readonly spec: { readonly template: { readonly spec: { readonly containers: readonly object[] } } };
}

const OPERATOR = 'routedip-operator';
const OBSERVER = 'routedip-observer';
const READS: readonly string[] = ['get', 'list', 'watch'];
const RBAC = 'rbac.authorization.k8s.io';
const FLAGS = ['--observe', '--dashboard-bind-addr=127.0.0.1:8081', '--journal-bind-addr=:8084', `--tokens-secret=${OBSERVER}`];

const labels = { 'app.kubernetes.io/name': OBSERVER };
const metadata = { name: OBSERVER, namespace: OBSERVER, labels };

/** @throws Error when the plain manifest has none of that kind and name */
const objectIn = <T extends Manifest>(path: string, kind: string, name = OPERATOR): T => {
  const found = manifestsIn(manifestText(path)).find((object) => object.kind === kind && object.metadata.name === name);
  if (!found) throw new Error(`${path} has no ${kind} ${name}`);
  return found as T;
};

/** What of the role's rules lets read. */
const readsOf = (kind: string, name?: string): readonly Rule[] =>
  objectIn<Role>('rbac.yaml', kind, name).rules.flatMap((rule) => {
    const verbs = rule.verbs.filter((verb) => READS.includes(verb));
    return verbs.length > 0 ? [{ ...rule, verbs }] : [];
  });

const bound = (kind: 'Role' | 'ClusterRole', rules: readonly object[]): readonly object[] => {
  const about = kind === 'Role' ? metadata : { name: OBSERVER, labels };
  const subjects = [{ kind: 'ServiceAccount', name: OBSERVER, namespace: OBSERVER }];
  const roleRef = { apiGroup: RBAC, kind, name: OBSERVER };
  return [
    { apiVersion: `${RBAC}/v1`, kind, metadata: about, rules },
    { apiVersion: `${RBAC}/v1`, kind: `${kind}Binding`, metadata: about, roleRef, subjects },
  ];
};

/** The operator's Pod without Redis. */
const podSpec = (): object => {
  const { containers, ...spec } = objectIn<Deployment>('operator.yaml', 'Deployment').spec.template.spec;
  const container = { ...containers[0], env: undefined, args: ['run', '--metrics-bind-addr', ':8080', ...FLAGS] };
  return { ...spec, affinity: undefined, initContainers: undefined, serviceAccountName: OBSERVER, containers: [container] };
};

/** An operator that only observes, under names of its own: it may stand beside any other one, and may read what that one may. */
export const observerText = (): string => {
  const objects = [
    {
      ...objectIn('namespace.yaml', 'Namespace'),
      metadata: { name: OBSERVER, labels: { ...labels, 'pod-security.kubernetes.io/enforce': 'restricted' } },
    },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    ...bound('ClusterRole', readsOf('ClusterRole')),
    ...bound('Role', [
      // Who leads is none of its business.
      ...readsOf('Role').filter(({ resources }) => !resources.includes('leases')),
      ...readsOf('ClusterRole', `${OPERATOR}-jobs`),
      ...readsOf('ClusterRole', `${OPERATOR}-secrets`),
      { apiGroups: [''], resources: ['pods/status'], verbs: ['patch'] },
    ]),
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: podSpec() } },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { ...metadata, name: `${OBSERVER}-journal` },
      spec: { selector: labels, ports: [{ name: 'journal', port: 8084, targetPort: 8084 }] },
    },
  ];
  const about = '# An operator that only observes, beside whatever else is installed: docs/operations.md, "Only observing".\n';
  return about + objects.map((object) => `---\n${stringify(object, { lineWidth: 0, aliasDuplicateObjects: false })}`).join('');
};
