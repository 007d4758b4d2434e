import { describe, expect, test } from 'vitest';
import { annotationsOf, cloneOf, driftOf, followed, isCloneOf } from '../../../machines/migration/service-clone.ts';
import { cloneName, MIGRATING_ANNOTATION, type ServiceObject } from '../../../machines/vip/virtualip.ts';

const VIP = { kind: 'VirtualIP', namespace: 'test', name: 'web', uid: 'uid-web' };

/** A LoadBalancer Service on which the server has set all that it sets. */
const service = (change: Partial<ServiceObject> = {}): ServiceObject => ({
  namespace: 'test',
  name: 'web-service',
  uid: 'uid-service',
  labels: { l: 'l1' },
  annotations: { a: 'a1' },
  owners: [],
  ingress: [],
  ...change,
  spec: {
    type: 'NodePort',
    clusterIP: '10.0.0.7',
    clusterIPs: ['10.0.0.7'],
    ports: [
      { name: 'tcp', protocol: 'TCP', port: 5000, targetPort: 5000, nodePort: 30000 },
      { name: 'udp', protocol: 'UDP', port: 5002, targetPort: 'dns', nodePort: 30001 },
    ],
    selector: { app: 'web' },
    sessionAffinity: 'ClientIP',
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 10 } },
    publishNotReadyAddresses: true,
    externalTrafficPolicy: 'Local',
    healthCheckNodePort: 30002,
    loadBalancerIP: '9.9.9.9',
    loadBalancerClass: 'x/y',
    externalIPs: ['8.8.8.8'],
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
    internalTrafficPolicy: 'Cluster',
    ...change.spec,
  },
});

/** The copy as the server has it then. */
const cloned = (from: ServiceObject, spec: Readonly<Record<string, unknown>> = {}): ServiceObject => {
  const made = cloneOf(from, VIP, cloneName(VIP), '1.1.2.4');
  const owners = [{ kind: made.owner.kind, name: made.owner.name }];
  return { ...made, uid: 'uid-clone', owners, ingress: [], spec: { ...made.spec, clusterIP: '10.0.0.8', ...spec } };
};

describe('the copy of a Service', () => {
  test('is of type ClusterIP with the address, and has nothing that the server gave to the original alone', () => {
    expect(cloneOf(service(), VIP, cloneName(VIP), '1.1.2.4')).toEqual({
      namespace: 'test',
      name: 'web-keepalived-clone',
      labels: { l: 'l1' },
      annotations: { a: 'a1' },
      owner: VIP,
      spec: {
        type: 'ClusterIP',
        externalIPs: ['1.1.2.4'],
        ports: [
          { name: 'tcp', protocol: 'TCP', port: 5000, targetPort: 5000 },
          { name: 'udp', protocol: 'UDP', port: 5002, targetPort: 'dns' },
        ],
        selector: { app: 'web' },
        sessionAffinity: 'ClientIP',
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 10 } },
        publishNotReadyAddresses: true,
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'SingleStack',
        internalTrafficPolicy: 'Cluster',
      },
    });
  });

  test('has not drifted when it was made, whatever the order of members', () => {
    expect(driftOf(service(), cloned(service()))).toEqual([]);
    expect(driftOf(service({ labels: { a: '1', b: '2' } }), { ...cloned(service()), labels: { b: '2', a: '1' } })).toEqual([]);
  });

  test.each([
    ['labels', { labels: { l: 'l2' } }],
    ['annotations', { annotations: {} }],
    ['ports', { spec: { ports: [] } }],
    ['selector', { spec: { selector: { app: 'other' } } }],
    ['sessionAffinity', { spec: { sessionAffinity: 'None' } }],
    ['sessionAffinityConfig', { spec: { sessionAffinityConfig: undefined } }],
    ['publishNotReadyAddresses', { spec: { publishNotReadyAddresses: false } }],
  ])('follows the Service in its %s', (drift, change) => {
    expect(driftOf(service(change as Partial<ServiceObject>), cloned(service()))).toEqual([drift]);
  });

  test.each([
    ['type', 'LoadBalancer'],
    ['externalIPs', ['7.7.7.7']],
    ['externalTrafficPolicy', 'Cluster'],
    ['loadBalancerIP', '1.2.3.4'],
    ['clusterIP', '10.9.9.9'],
  ])('does not follow it in its %s', (field, value) => {
    expect(driftOf(service({ spec: { [field]: value } }), cloned(service()))).toEqual([]);
  });

  test('is not told of the migration, and is told what is not to be there', () => {
    const marked = service({ annotations: { a: 'a1', [MIGRATING_ANNOTATION]: 'web' } });
    expect(annotationsOf(marked)).toEqual({ a: 'a1' });
    expect(driftOf(marked, cloned(service()))).toEqual([]);
    expect(followed(service({ spec: { sessionAffinityConfig: undefined } }))).toMatchObject({ sessionAffinityConfig: null });
  });

  test('is known by its owner', () => {
    expect(isCloneOf(cloned(service()), VIP)).toBe(true);
    expect(isCloneOf(cloned(service()), { name: 'other' })).toBe(false);
    expect(isCloneOf(service(), VIP)).toBe(false);
  });
});
