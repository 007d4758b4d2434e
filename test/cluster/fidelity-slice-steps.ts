import { MERGE, named, type Step, step } from './fidelity-step.ts';

const NS = 'default';
const GROUP = '/apis/discovery.k8s.io';
const VERSIONS = ['v1', 'v1beta1'];

/** How each version names the node of an endpoint. */
const PLACES: Readonly<Record<string, { [key: string]: string | { [key: string]: string } }>> = {
  v1: { nodeName: 'fidelity-a' },
  v1beta1: { topology: { 'kubernetes.io/hostname': 'fidelity-a' } },
};

/** What a client meets that reads the endpoints of Services, in the version that the server has. */
export const sliceSteps = (version: string): readonly Step[] => {
  const slices = (rest = ''): string => `${GROUP}/${version}/namespaces/${NS}/endpointslices${rest}`;
  const other = VERSIONS.find((each) => each !== version);
  const endpoint = { addresses: ['10.0.0.1'], conditions: { ready: true }, ...PLACES[version] };
  const metadata = { name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } };
  const ports = [{ name: 'http', port: 8080, protocol: 'TCP' }];
  return [
    step('says which versions of slices it has', 'GET', GROUP),
    step('has no other version', 'GET', `${GROUP}/${other}`),
    step('has no slices of another version', 'GET', `${GROUP}/${other}/namespaces/${NS}/endpointslices`),
    step('creates a slice', 'POST', slices(), { body: { metadata, addressType: 'IPv4', ports, endpoints: [endpoint] } }),
    step('lists slices', 'GET', slices('?labelSelector=kubernetes.io/service-name=web')),
    step('changes the endpoints of a slice', 'PATCH', slices('/web-1'), {
      type: MERGE,
      body: { endpoints: [{ ...endpoint, conditions: { ready: false } }] },
    }),
    step('deletes a slice', 'DELETE', slices('/web-1')),
    step('has no slice any more', 'GET', slices('/web-1')),
    step('creates endpoints that are not ready', 'POST', `/api/v1/namespaces/${NS}/endpoints`, {
      body: named('unready', {
        subsets: [
          { notReadyAddresses: [{ ip: '10.0.0.1', nodeName: 'fidelity-a', targetRef: { kind: 'Pod', name: 'p' } }], ports: [{ port: 80 }] },
        ],
      }),
    }),
  ];
};
