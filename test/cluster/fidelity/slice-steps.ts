import { MERGE, named, type Step, step } from './step.ts';

const NAMESPACE = 'default';
const GROUP = '/apis/discovery.k8s.io';
const slices = (rest = ''): string => `${GROUP}/v1/namespaces/${NAMESPACE}/endpointslices${rest}`;

const ENDPOINT = { addresses: ['10.0.0.1'], conditions: { ready: true }, nodeName: 'fidelity-a' };

/** What a client meets that reads the endpoints of Services. */
export const SLICE_STEPS: readonly Step[] = [
  step('says which versions of slices it has', 'GET', GROUP),
  step('has no other version', 'GET', `${GROUP}/v1beta1`),
  step('has no slices of another version', 'GET', `${GROUP}/v1beta1/namespaces/${NAMESPACE}/endpointslices`),
  step('creates a slice', 'POST', slices(), {
    body: {
      metadata: { name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
      addressType: 'IPv4',
      ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
      endpoints: [ENDPOINT],
    },
  }),
  step('lists slices', 'GET', slices('?labelSelector=kubernetes.io/service-name=web')),
  step('changes the endpoints of a slice', 'PATCH', slices('/web-1'), {
    type: MERGE,
    body: { endpoints: [{ ...ENDPOINT, conditions: { ready: false } }] },
  }),
  step('refuses another type of addresses', 'PATCH', slices('/web-1'), { type: MERGE, body: { addressType: 'IPv6' } }),
  step('deletes a slice', 'DELETE', slices('/web-1')),
  step('has no slice any more', 'GET', slices('/web-1')),
  step('creates endpoints that are not ready', 'POST', `/api/v1/namespaces/${NAMESPACE}/endpoints`, {
    body: named('unready', {
      subsets: [
        { notReadyAddresses: [{ ip: '10.0.0.1', nodeName: 'fidelity-a', targetRef: { kind: 'Pod', name: 'p' } }], ports: [{ port: 80 }] },
      ],
    }),
  }),
];
