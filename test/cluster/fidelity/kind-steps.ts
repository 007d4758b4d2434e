import { core, leases, MERGE, NS, named, nodes, pod, STRATEGIC, type Step, step, TABLE } from './step.ts';

/** Built-in kinds that an operator meets, and how they are printed. */
export const KIND_STEPS: readonly Step[] = [
  step('creates a node, with its status', 'POST', nodes(), {
    body: named('fidelity-a', {
      spec: { providerID: 'digitalocean://1' },
      status: { conditions: [{ type: 'Ready', status: 'True' }], addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] },
    }),
  }),
  step('takes away its taints', 'PATCH', nodes('/fidelity-a'), { type: MERGE, body: { spec: { taints: null } } }),
  step('merges a node condition by type', 'PATCH', nodes('/fidelity-a/status'), {
    type: STRATEGIC,
    body: {
      status: {
        conditions: [
          { type: 'Ready', status: 'False', reason: 'Stopped' },
          { type: 'New', status: 'True' },
        ],
      },
    },
  }),
  step('lets labels through the status of a node', 'PATCH', nodes('/fidelity-a/status'), {
    type: MERGE,
    body: { metadata: { labels: { a: 'b' } }, spec: { unschedulable: true } },
  }),
  step('taints a node', 'PATCH', nodes('/fidelity-a'), {
    type: STRATEGIC,
    body: { spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } },
  }),
  step('refuses an unknown taint effect', 'PATCH', nodes('/fidelity-a'), {
    type: MERGE,
    body: { spec: { taints: [{ key: 'k', effect: 'Never' }] } },
  }),
  step('refuses another provider id', 'PATCH', nodes('/fidelity-a'), { type: MERGE, body: { spec: { providerID: 'digitalocean://2' } } }),
  step('cordons a node', 'PATCH', nodes('/fidelity-a'), { type: MERGE, body: { spec: { unschedulable: true } } }),
  step('annotates a node', 'PATCH', nodes('/fidelity-a'), {
    type: MERGE,
    body: { metadata: { annotations: { 'flipop.digitalocean.com/ipv4-reserved-ip': '192.0.2.1' } } },
  }),

  step('creates a pod, without its status', 'POST', core('pods'), {
    body: { ...pod('p', { nodeName: 'fidelity-a' }), status: { phase: 'Running' } },
  }),
  step('refuses a pod without containers', 'POST', core('pods'), { body: named('q', { spec: {} }) }),
  step('refuses a container without an image', 'POST', core('pods'), { body: named('q', { spec: { containers: [{ name: 'c' }] } }) }),
  step('writes a pod status', 'PATCH', core('pods', '/p/status'), {
    type: STRATEGIC,
    body: { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } },
  }),
  step('ignores a status sent to the pod itself', 'PATCH', core('pods', '/p'), { type: MERGE, body: { status: { phase: 'Failed' } } }),
  step('lists pods by node', 'GET', '/api/v1/pods?fieldSelector=spec.nodeName=fidelity-a,status.phase=Running'),
  step('refuses a change of a pod spec', 'PATCH', core('pods', '/p'), {
    type: MERGE,
    body: { spec: { nodeName: 'other' } },
  }),
  step('lets a pod on a node terminate', 'DELETE', core('pods', '/p')),
  step('forces its deletion', 'DELETE', core('pods', '/p'), { body: { gracePeriodSeconds: 0 } }),
  step('has no pod any more', 'GET', core('pods', '/p')),

  step('creates a service', 'POST', core('services'), {
    body: named('s', { spec: { ports: [{ port: 80 }], selector: { a: 'b' } } }),
  }),
  step('refuses a service name that begins with a digit', 'POST', core('services'), {
    body: named('1s', { spec: { ports: [{ port: 80 }] } }),
  }),
  step('writes a service status', 'PATCH', core('services', '/s/status'), {
    type: MERGE,
    body: { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } },
  }),

  step('creates a secret', 'POST', core('secrets'), { body: named('k', { data: { a: 'Yg==' } }) }),
  step('keeps a string of a secret as data', 'POST', core('secrets'), { body: named('l', { stringData: { a: 'b' } }) }),
  step('creates a service account', 'POST', core('serviceaccounts'), { body: named('sa') }),
  step('creates endpoints', 'POST', core('endpoints'), {
    body: named('e', { subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 80 }] }] }),
  }),

  step('creates a lease', 'POST', leases(), {
    body: named('l', { spec: { holderIdentity: 'a', leaseDurationSeconds: 15, renewTime: '2026-01-01T00:00:00.000000Z' } }),
  }),
  step('creates a lease by PUT', 'PUT', leases('/m'), { body: named('m', { spec: { holderIdentity: 'a' } }) }),
  step('refuses a lease update without a resourceVersion', 'PUT', leases('/l'), { body: named('l', { spec: { holderIdentity: 'b' } }) }),
  step('refuses a lease update with a stale one', 'PUT', leases('/l'), {
    body: { metadata: { name: 'l', resourceVersion: '1' }, spec: { holderIdentity: 'b' } },
  }),

  step('creates an event', 'POST', core('events'), {
    body: named('ev', {
      involvedObject: { kind: 'ConfigMap', name: 'cm', namespace: NS },
      reason: 'R',
      message: 'm',
      type: 'Normal',
      count: 1,
    }),
  }),
  step('shows it in events.k8s.io', 'GET', `/apis/events.k8s.io/v1/namespaces/${NS}/events/ev`),
  step('creates an event in events.k8s.io', 'POST', `/apis/events.k8s.io/v1/namespaces/${NS}/events`, {
    body: named('ew', {
      eventTime: '2026-01-01T00:00:00.000000Z',
      regarding: { kind: 'ConfigMap', name: 'cm', namespace: NS },
      reason: 'R',
      note: 'n',
      type: 'Normal',
      action: 'A',
      reportingController: 'example.com/c',
      reportingInstance: 'c-1',
    }),
  }),
  step('shows that in v1', 'GET', core('events', '/ew')),

  step('prints nodes', 'GET', nodes('?fieldSelector=metadata.name=fidelity-a'), { accept: TABLE }),
  step('prints leases', 'GET', leases(), { accept: TABLE }),
  step('prints services', 'GET', core('services'), { accept: TABLE }),
  step('prints events', 'GET', core('events'), { accept: TABLE }),
  step('prints secrets', 'GET', core('secrets', '?fieldSelector=metadata.name=k'), { accept: TABLE }),
];
