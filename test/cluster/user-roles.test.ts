import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ledgerName } from '../../adapters/kubernetes/writer/ledger.ts';
import { INVENTORY_NAME } from '../../machines/status/inventory.ts';
import { commandsOf, stepsOf } from '../support/guide.ts';
import { sectionOf } from '../support/guides.ts';
import { type Cluster, startCluster } from '../support/kube.ts';
import { apply, applyFile, createNamespace, installCrds, installRoles, type KubeObject } from '../support/kube-apply.ts';
import type { ApiResponse } from '../support/kube-client.ts';
import { kubectl } from '../support/kubectl.ts';
import { plugin } from '../support/plugin.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Resource, resourcesOf } from './served-resources.ts';

const ROOT = join(import.meta.dirname, '../..');
const RBAC = 'rbac.authorization.k8s.io';
/** The namespace in which all of them have their roles. */
const TEAM = 'team';
const VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];
const READ = ['get', 'list', 'watch'];
const OURS = /^(routedip\.io|flipop\.digitalocean\.com|paas\.org)$/;

const ROUTED_IPS = `/apis/routedip.io/v1alpha1/namespaces/${TEAM}/routedips`;
const POOLS = (namespace: string) => `/apis/flipop.digitalocean.com/v1alpha1/namespaces/${namespace}/floatingippools`;

let cluster: Cluster;
let ours: readonly Resource[];

const binding = (kind: 'RoleBinding' | 'ClusterRoleBinding', user: string, role: string): KubeObject => ({
  apiVersion: `${RBAC}/v1`,
  kind,
  metadata: { name: user, ...(kind === 'RoleBinding' && { namespace: TEAM }) },
  roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: role },
  subjects: [{ apiGroup: RBAC, kind: 'User', name: user }],
});

const may = async (user: string, verb: string, { group, resource, subresource }: Resource, namespace = TEAM): Promise<boolean> => {
  const spec = { user, resourceAttributes: { group, resource, subresource, verb, namespace } };
  const { body } = await cluster.send('/apis/authorization.k8s.io/v1/subjectaccessreviews', { method: 'POST', body: { spec } });
  return body.status.allowed;
};

/** What `user` may do with the operator's kinds, by kind: its verbs. Kinds of which nothing is allowed are left out. */
const allowed = async (user: string, namespace = TEAM): Promise<Readonly<Record<string, readonly string[]>>> => {
  const found: Record<string, readonly string[]> = {};
  for (const kind of ours) {
    const answers = await Promise.all(VERBS.map((verb) => may(user, verb, kind, namespace)));
    const verbs = VERBS.filter((_, index) => answers[index]);
    if (verbs.length > 0) found[[kind.resource, kind.subresource].filter((part) => part !== '').join('/')] = verbs;
  }
  return found;
};

const post = (user: string, path: string, body: unknown): Promise<ApiResponse> => cluster.send(path, { method: 'POST', body, user });

const routedIP = { metadata: { name: 'shop' }, spec: { className: 'example.com/a', serviceRef: { serviceName: 'shop' } } };
const pool = { metadata: { name: 'pool' }, spec: { provider: 'digitalocean', region: 'nyc3', desiredIPs: 1 } };
const withKind = (kind: string, apiVersion: string, object: object) => ({ apiVersion, kind, ...object });
const ROUTED_IP = withKind('RoutedIP', 'routedip.io/v1alpha1', routedIP);
const POOL = withKind('FloatingIPPool', 'flipop.digitalocean.com/v1alpha1', pool);

beforeAll(async () => {
  // It adds what is labelled to the roles of the cluster.
  cluster = await startCluster({ audit: false, controllers: ['clusterrole-aggregation-controller'] });
  await installCrds(cluster);
  for (const plural of ['virtualips', 'groupsegmentmappings']) await applyFile(cluster, join(ROOT, `crds/legacy/${plural}.yaml`));
  await installRoles(cluster);
  await applyFile(cluster, join(ROOT, 'deploy/user-roles.yaml'));
  for (const namespace of [TEAM, 'ingress']) await createNamespace(cluster, namespace);
  for (const role of ['view', 'edit', 'admin']) {
    expect((await apply(cluster, binding('RoleBinding', `${role}er`, role))).status).toBe(201);
    expect((await apply(cluster, binding('RoleBinding', `by-name-${role}er`, `routedip-${role}`))).status).toBe(201);
    expect((await apply(cluster, binding('ClusterRoleBinding', `cluster-${role}er`, role))).status).toBe(201);
  }
  ours = (await resourcesOf(cluster)).filter(({ group }) => OURS.test(group));
  expect(ours.length).toBeGreaterThan(10);
  const routedIPs = { group: 'routedip.io', resource: 'routedips', subresource: '' };
  for (const [role, verb] of Object.entries({ view: 'list', edit: 'create', admin: 'create' })) {
    await waitFor(`${role} has what is added to it`, () => may(`${role}er`, verb, routedIPs));
  }
}, 120_000);

afterAll(() => cluster?.stop());

const READABLE = {
  routedips: READ,
  routedipissuers: READ,
  clusterroutedipclasses: READ,
  floatingippools: READ,
  nodednsrecordsets: READ,
  ipgroups: READ,
  ips: READ,
};

describe("of the operator's kinds", () => {
  test.each([
    ['view', READABLE],
    ['edit', { ...READABLE, routedips: VERBS }],
    ['admin', { ...READABLE, routedips: VERBS }],
  ])('the cluster’s own %s reaches no more than this, in its namespace and in no other', async (role, expected) => {
    expect(await allowed(`${role}er`)).toEqual(expected);
    expect(await allowed(`${role}er`, 'ingress')).toEqual({});
    expect(await allowed(`cluster-${role}er`, 'ingress')).toEqual(expected);
  });

  test.each([
    ['view', READABLE],
    ['edit', { routedips: VERBS }],
    ['admin', { routedips: VERBS }],
  ])('routedip-%s, bound by its name, reaches no more than this', async (role, expected) => {
    expect(await allowed(`by-name-${role}er`)).toEqual(expected);
  });

  test('nobody has a right who was given none', async () => expect(await allowed('stranger')).toEqual({}));

  test('an editor of a namespace writes RoutedIPs and Services there, and neither their status nor anything else', async () => {
    expect((await post('editer', ROUTED_IPS, ROUTED_IP)).status).toBe(201);
    const service = { metadata: { name: 'shop' }, spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } };
    expect((await post('editer', `/api/v1/namespaces/${TEAM}/services`, service)).status).toBe(201);
    const status = { method: 'PATCH', body: { status: { routedIP: '192.0.2.1' } }, user: 'editer' } as const;
    expect((await cluster.send(`${ROUTED_IPS}/shop/status`, status)).status).toBe(403);
    expect((await post('editer', POOLS(TEAM), POOL)).status).toBe(403);
    expect((await post('viewer', ROUTED_IPS, { ...ROUTED_IP, metadata: { name: 'other' } })).status).toBe(403);
    expect((await cluster.send(ROUTED_IPS, { user: 'viewer' })).body.items).toHaveLength(1);
    expect((await cluster.send(`${ROUTED_IPS}/shop`, { method: 'DELETE', user: 'editer' })).status).toBe(200);
  });

  test('an administrator of a namespace can give nobody the right to others, not even himself', async () => {
    expect((await post('adminer', ROUTED_IPS, ROUTED_IP)).status).toBe(201);
    expect((await post('adminer', POOLS(TEAM), POOL)).status).toBe(403);
    const roles = `/apis/${RBAC}/v1/namespaces/${TEAM}`;
    const rules = (resource: string, apiGroup: string) => [{ apiGroups: [apiGroup], resources: [resource], verbs: ['create'] }];
    const role = (resource: string, apiGroup: string) => ({ metadata: { name: `makes-${resource}` }, rules: rules(resource, apiGroup) });
    expect((await post('adminer', `${roles}/roles`, role('routedips', 'routedip.io'))).status).toBe(201);
    for (const [resource, group] of [
      ['floatingippools', 'flipop.digitalocean.com'],
      ['nodednsrecordsets', 'flipop.digitalocean.com'],
      ['routedipissuers', 'routedip.io'],
      ['clusterroutedipclasses', 'routedip.io'],
      ['ipgroups', 'paas.org'],
      ['ips', 'paas.org'],
    ] as const) {
      const refused = await post('adminer', `${roles}/roles`, role(resource, group));
      expect([resource, refused.status, refused.body.message]).toEqual([resource, 403, expect.stringContaining('attempting to grant')]);
    }
    // The operator's own role, which may write them.
    const { apiVersion: _version, kind: _kind, ...asOperator } = binding('RoleBinding', 'adminer-as-operator', 'routedip-operator');
    expect((await post('adminer', `${roles}/rolebindings`, asOperator)).status).toBe(403);
  });

  test('the commands of docs/tenants.md give a group the right to pools, in one namespace', async () => {
    const section = sectionOf(readFileSync(join(ROOT, 'docs/tenants.md'), 'utf8'), 'Who may write what');
    const commands = stepsOf(section).flatMap(commandsOf);
    expect(commands).toHaveLength(2);
    for (const command of commands) {
      const { code, stderr } = await kubectl(command.split(' ').slice(1), { kubeconfig: cluster.kubeconfig });
      expect([command, code, stderr]).toEqual([command, 0, '']);
    }
    const asked = (verb: string, namespace: string) => {
      const resourceAttributes = { group: 'flipop.digitalocean.com', resource: 'floatingippools', verb, namespace };
      const body = { spec: { user: 'ann', groups: ['ingress-team'], resourceAttributes } };
      return cluster.send('/apis/authorization.k8s.io/v1/subjectaccessreviews', { method: 'POST', body });
    };
    await waitFor('the right counts', async () => (await asked('create', 'ingress')).body.status.allowed);
    expect((await asked('create', TEAM)).body.status.allowed).toBe(false);
  });

  test('nobody learns what the accounts hold, and for whom, but by the role that is for that alone', async () => {
    const maps = '/api/v1/namespaces/routedip-operator/configmaps';
    for (const name of [INVENTORY_NAME, ledgerName(TEAM)])
      expect((await cluster.send(maps, { method: 'POST', body: { metadata: { name } } })).status).toBe(201);
    const read = async (user: string, name: string) => (await cluster.send(`${maps}/${name}`, { user })).status;
    for (const user of ['viewer', 'editer', 'adminer', 'by-name-viewer', 'by-name-editer', 'by-name-adminer', 'stranger'])
      expect([user, await read(user, INVENTORY_NAME), await read(user, ledgerName(TEAM))]).toEqual([user, 403, 403]);
    const bound = binding('RoleBinding', 'auditor', 'routedip-inventory-reader');
    const metadata = { name: 'auditor', namespace: 'routedip-operator' };
    const roleRef = { apiGroup: RBAC, kind: 'Role', name: 'routedip-inventory-reader' };
    expect((await apply(cluster, { ...bound, metadata, roleRef })).status).toBe(201);
    await waitFor('the role counts', async () => (await read('auditor', INVENTORY_NAME)) === 200);
    expect([await read('auditor', ledgerName(TEAM)), (await cluster.send(maps, { user: 'auditor' })).status]).toEqual([403, 403]);
    // Who may read everything that is no secret may read this.
    expect(await read('cluster-viewer', INVENTORY_NAME)).toBe(200);
    // What an editor may not read the plugin says, and names what he may.
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'editing', namespace: TEAM } };
    const subjects = [{ kind: 'ServiceAccount', name: 'editing', namespace: TEAM }];
    for (const object of [account, { ...binding('RoleBinding', 'editing', 'edit'), subjects }])
      expect((await apply(cluster, object)).status).toBe(201);
    const ran = await plugin(cluster.kubeconfigFor(await cluster.tokenFor(TEAM, 'editing')), 'inventory');
    expect([ran.code, ran.stdout]).toEqual([1, '']);
    expect(ran.stderr).toMatch(/^you may not get configmaps.+ is told by status$/m);
  });

  test('kubectl lists for an editor what it may do with them', async () => {
    const args = ['auth', 'can-i', '--list', `--namespace=${TEAM}`, '--as=editer'];
    const { code, stdout } = await kubectl(args, { kubeconfig: cluster.kubeconfig });
    expect(code).toBe(0);
    const rights = stdout.split('\n').flatMap((line) => {
      const [, plural = '', group = '', verbs = ''] = /^(\w+)\.(\S+) .*\[([^[\]]*)\]\s*$/.exec(line) ?? [];
      return OURS.test(group) ? [[plural, [...new Set(verbs.split(' '))].sort()]] : [];
    });
    const expected = Object.entries({ ...READABLE, routedips: VERBS }).map(([plural, verbs]) => [plural, [...verbs].sort()]);
    expect(Object.fromEntries(rights)).toEqual(Object.fromEntries(expected));
    expect(rights).toHaveLength(expected.length);
  });
});
