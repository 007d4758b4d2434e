import type { JsonObject } from '../../../simulator/kubernetes/objects.ts';
import { core, JSON_PATCH, MERGE, named, type Step, step } from './step.ts';

const path = core('services', '/lb');

const DEFINITION: JsonObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'oddities.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Cluster',
    names: { kind: 'Oddity', listKind: 'OddityList', plural: 'oddities', singular: 'oddity' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', properties: { metadata: { type: 'object', description: 'described' } } } },
      },
    ],
  },
};

const merging = (title: string, body: JsonObject): Step => step(title, 'PATCH', path, { type: MERGE, body });

const publishing = (title: string, ingress: JsonObject[] | null): Step =>
  step(title, 'PATCH', `${path}/status`, { type: MERGE, body: { status: { loadBalancer: { ingress } } } });

/** A Service of type LoadBalancer, as an allocator of addresses meets it. */
export const SERVICE_STEPS: readonly Step[] = [
  step('creates a Service of type LoadBalancer', 'POST', core('services'), {
    body: named('lb', {
      spec: { type: 'LoadBalancer', ports: [{ port: 80 }], loadBalancerIP: 'any text', loadBalancerClass: 'example.com/c' },
    }),
  }),
  step('refuses to lead to the port of the kubelet', 'POST', core('services'), {
    body: named('kubelet', { spec: { type: 'LoadBalancer', ports: [{ port: 10250 }] } }),
  }),
  step('refuses two protocols, or takes them', 'POST', core('services'), {
    body: named('two', {
      spec: {
        type: 'LoadBalancer',
        ports: [
          { name: 'a', port: 80 },
          { name: 'b', port: 80, protocol: 'UDP' },
        ],
      },
    }),
  }),
  step('refuses a definition that describes the metadata', 'POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    body: DEFINITION,
  }),
  publishing('gives it an address', [{ ip: '192.0.2.1', ipMode: 'VIP' }]),
  publishing('refuses what is no address', [{ ip: '192.0.2' }]),
  publishing('refuses an address as a hostname', [{ hostname: '192.0.2.1' }]),
  publishing('puts another one in its place', [{ ip: '192.0.2.2' }]),
  merging('gives it a finalizer', { metadata: { finalizers: ['example.com/held'] } }),
  merging('has a patch of an older version fail', { metadata: { resourceVersion: '1', finalizers: [] } }),
  merging('leaves the status alone on the main path', { status: { loadBalancer: {} } }),
  merging('changes its type: its addresses stay, or go', { spec: { type: 'ClusterIP' } }),
  merging('refuses the traffic policy of another type', { spec: { externalTrafficPolicy: 'Local' } }),
  publishing('gives a Service of another type an address, or refuses', [{ ip: '192.0.2.3' }]),
  merging('changes its metadata: addresses stay, or go', { metadata: { labels: { a: 'b' } } }),
  publishing('takes its addresses', null),
  merging('changes its type back', { spec: { type: 'LoadBalancer' } }),
  step('deletes it, and it stays for its finalizer', 'DELETE', path),
  publishing('publishes even so', [{ ip: '192.0.2.4' }]),
  step('takes the finalizer off, and it is gone', 'PATCH', path, {
    type: JSON_PATCH,
    body: [{ op: 'remove', path: '/metadata/finalizers' }],
  }),
  step('has it no more', 'GET', path),
];
