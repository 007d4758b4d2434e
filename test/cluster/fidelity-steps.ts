import type { Json, JsonObject } from '../../simulator/kubernetes/objects.ts';

/** One request; the same one goes to the simulator and to a real API server, and the replies are compared. */
export interface Step {
  /** What it shows, as a sentence without its subject. */
  title: string;
  method: string;
  path: string;
  body?: Json;
  /** Content type; JSON when absent. */
  type?: string;
  accept?: string;
  /** Paths within the reply, dots between, whose values (and all below) may differ; with the reason. */
  except?: Readonly<Record<string, string>>;
  /** What the messages of both have in them, where they may differ otherwise. */
  both?: string;
}

const MERGE = 'application/merge-patch+json';
const STRATEGIC = 'application/strategic-merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';

const NEWER = 'servers after 1.20 do it as the simulator does';
const CEL = 'servers that know CEL add that its rules were not checked';
const GO = 'the rest tells of the inside of the Go decoder';
const TWICE = 'the real server says the same twice';

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const TABLE_EXCEPT = { columnDefinitions: 'descriptions are for people; the names are compared by their cells' };

const OWNER = 'the real server knows who created it, the simulator from the first apply on';
const APPLY = 'application/apply-patch+yaml';

const NS = 'fidelity';
const core = (plural: string, rest = ''): string => `/api/v1/namespaces/${NS}/${plural}${rest}`;
const pools = (rest = ''): string => `/apis/flipop.digitalocean.com/v1alpha1/namespaces/${NS}/floatingippools${rest}`;
const nodes = (rest = ''): string => `/api/v1/nodes${rest}`;
const leases = (rest = ''): string => `/apis/coordination.k8s.io/v1/namespaces/${NS}/leases${rest}`;

const named = (name: string, more: JsonObject = {}): JsonObject => ({ metadata: { name }, ...more });
const pool = (name: string, spec: JsonObject): JsonObject => ({
  apiVersion: 'flipop.digitalocean.com/v1alpha1',
  kind: 'FloatingIPPool',
  metadata: { name },
  spec,
});
const pod = (name: string, spec: JsonObject = {}): JsonObject =>
  named(name, { spec: { containers: [{ name: 'c', image: 'i:1' }], ...spec } });

const applied = (data: JsonObject): JsonObject => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'applied' }, data });
const reporting = (type: string): JsonObject => {
  const { spec: _spec, ...head } = pool('applied', {});
  const condition = { type, status: 'True', reason: 'R', message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' };
  return { ...head, status: { conditions: [condition] } };
};

const step = (title: string, method: string, path: string, more: Partial<Step> = {}): Step => ({ title, method, path, ...more });

export const STEPS: readonly Step[] = [
  step('creates a namespace', 'POST', '/api/v1/namespaces', { body: named(NS), except: { 'metadata.labels': NEWER } }),
  step('refuses a second one of that name', 'POST', '/api/v1/namespaces', { body: named(NS) }),
  step('refuses a namespace with dots', 'POST', '/api/v1/namespaces', { body: named('a.b') }),

  step('creates a config map', 'POST', core('configmaps'), { body: named('cm', { data: { a: '1' } }) }),
  step('reads it', 'GET', core('configmaps', '/cm')),
  step('refuses a second one of that name', 'POST', core('configmaps'), { body: named('cm') }),
  step('refuses a name with capitals', 'POST', core('configmaps'), { body: named('CM') }),
  step('refuses an object without a name', 'POST', core('configmaps'), { body: { metadata: {} } }),
  step('refuses a bad label', 'POST', core('configmaps'), { body: { metadata: { name: 'x', labels: { a: 'b c' } } } }),
  step('refuses a bad label key', 'POST', core('configmaps'), { body: { metadata: { name: 'x', labels: { 'a b': 'c' } } } }),
  step('refuses a bad annotation key', 'POST', core('configmaps'), { body: { metadata: { name: 'x', annotations: { 'a b': 'c' } } } }),
  step('refuses a finalizer without a domain', 'POST', core('configmaps'), { body: { metadata: { name: 'x', finalizers: ['hold'] } } }),
  step('refuses a missing namespace', 'POST', '/api/v1/namespaces/nowhere/configmaps', { body: named('cm') }),
  step('refuses a namespace other than that of the path', 'POST', core('configmaps'), {
    body: { metadata: { name: 'x', namespace: 'other' } },
  }),
  step('refuses another kind', 'POST', core('configmaps'), {
    body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' } },
    except: { message: GO },
    both: 'Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (',
  }),
  step('refuses another apiVersion', 'POST', core('configmaps'), {
    body: { apiVersion: 'v2', kind: 'ConfigMap', metadata: { name: 'x' } },
    except: { message: GO },
    both: 'ConfigMap in version "v2" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "v2"',
  }),
  step('refuses a resourceVersion on create', 'POST', core('configmaps'), { body: { metadata: { name: 'x', resourceVersion: '5' } } }),
  step('refuses a body that is a list', 'POST', core('configmaps'), {
    body: [],
    except: { message: GO },
    both: 'the object provided is unrecognized (must be of type ConfigMap)',
  }),
  step('refuses a value of a wrong type', 'POST', core('configmaps'), {
    body: named('x', { data: { a: 1 } }),
    except: { message: GO },
    both: 'ConfigMap in version "v1" cannot be handled as a ConfigMap: ',
  }),
  step('refuses a create of one name', 'POST', core('configmaps', '/cm'), { body: named('cm') }),
  step('does not find what is not there', 'GET', core('configmaps', '/none')),
  step('does not know an unknown resource', 'GET', core('nothings')),
  step('does not know an unknown group', 'GET', '/apis/nothing.example/v1'),
  step('does not know an unknown path', 'GET', '/nothing', {
    except: { paths: 'the real server lists what it has', text: 'the real server lists what it has' },
  }),
  step('does not know a subresource of a config map', 'GET', core('configmaps', '/cm/status')),

  step('refuses an update with a stale resourceVersion', 'PUT', core('configmaps', '/cm'), {
    body: { metadata: { name: 'cm', resourceVersion: '1' } },
  }),
  step('refuses an update under another name', 'PUT', core('configmaps', '/cm'), { body: named('other') }),
  step('refuses an update of what is not there', 'PUT', core('configmaps', '/none'), { body: named('none') }),
  step('refuses an update for another uid', 'PUT', core('configmaps', '/cm'), { body: { metadata: { name: 'cm', uid: 'another' } } }),
  step('takes an update without a resourceVersion', 'PUT', core('configmaps', '/cm'), { body: named('cm', { data: { a: '2' } }) }),

  step('takes a merge patch', 'PATCH', core('configmaps', '/cm'), {
    type: MERGE,
    body: { data: { b: '3' }, metadata: { labels: { x: 'y' } } },
  }),
  step('refuses a merge patch with a stale resourceVersion', 'PATCH', core('configmaps', '/cm'), {
    type: MERGE,
    body: { metadata: { resourceVersion: '1' } },
  }),
  step('refuses a patch of what is not there', 'PATCH', core('configmaps', '/none'), { type: MERGE, body: {} }),
  step('refuses a patch of an unknown type', 'PATCH', core('configmaps', '/cm'), {
    type: 'application/json',
    body: {},
    except: { message: '1.20 says less' },
  }),
  step('takes a JSON patch', 'PATCH', core('configmaps', '/cm'), {
    type: JSON_PATCH,
    body: [{ op: 'replace', path: '/data/b', value: '4' }],
  }),
  step('refuses a JSON patch whose test fails', 'PATCH', core('configmaps', '/cm'), {
    type: JSON_PATCH,
    body: [{ op: 'test', path: '/data/b', value: 'x' }],
  }),
  step('refuses a JSON patch of a missing path', 'PATCH', core('configmaps', '/cm'), {
    type: JSON_PATCH,
    body: [{ op: 'remove', path: '/data/none' }],
  }),
  step('refuses a JSON patch that is an object', 'PATCH', core('configmaps', '/cm'), { type: JSON_PATCH, body: {} }),
  step('refuses a patch to another name', 'PATCH', core('configmaps', '/cm'), { type: MERGE, body: named('other') }),
  step('takes a strategic merge patch', 'PATCH', core('configmaps', '/cm'), { type: STRATEGIC, body: { data: { a: null } } }),
  step('takes a dry run', 'PATCH', `${core('configmaps', '/cm')}?dryRun=All`, { type: MERGE, body: { data: { dry: 'run' } } }),

  step('creates a second config map', 'POST', core('configmaps'), { body: { metadata: { name: 'cn', labels: { x: 'z' } } } }),
  step('lists', 'GET', core('configmaps', '?fieldSelector=metadata.name!=kube-root-ca.crt')),
  step('lists a first page', 'GET', `${nodes()}?limit=1`),
  step('lists by labels', 'GET', core('configmaps', '?labelSelector=x in (y,w)')),
  step('lists by a missing label', 'GET', core('configmaps', '?labelSelector=!x&fieldSelector=metadata.name!=kube-root-ca.crt')),
  step('lists by name', 'GET', core('configmaps', '?fieldSelector=metadata.name=cm')),
  step('refuses an unknown field selector', 'GET', core('configmaps', '?fieldSelector=data.a=1')),
  step('refuses a malformed label selector', 'GET', core('configmaps', '?labelSelector=a in ('), {
    except: { message: 'the parsers stop at different places' },
  }),
  step('refuses a malformed label value', 'GET', core('configmaps', '?labelSelector=a=b c'), {
    except: { message: 'the parsers stop at different places' },
  }),
  step('refuses a malformed field selector', 'GET', core('configmaps', '?fieldSelector=abc')),
  step('refuses a malformed continue token', 'GET', core('configmaps', '?limit=1&continue=abc'), {
    except: { message: GO },
    both: 'continue key is not valid',
  }),
  step('refuses a malformed label selector for a watch', 'GET', core('configmaps', '?watch=1&labelSelector=a in ('), {
    except: { message: 'the parsers stop at different places' },
  }),

  step('deletes', 'DELETE', core('configmaps', '/cn')),
  step('does not delete what is not there', 'DELETE', core('configmaps', '/cn')),
  step('refuses a deletion for another uid', 'DELETE', core('configmaps', '/cm'), { body: { preconditions: { uid: 'another' } } }),
  step('sets a finalizer', 'PATCH', core('configmaps', '/cm'), { type: MERGE, body: { metadata: { finalizers: ['example.com/hold'] } } }),
  step('marks as deleted what has a finalizer', 'DELETE', core('configmaps', '/cm')),
  step('refuses a new finalizer on it', 'PATCH', core('configmaps', '/cm'), {
    type: MERGE,
    body: { metadata: { finalizers: ['example.com/hold', 'example.com/more'] } },
    except: { 'details.causes.1': TWICE },
  }),
  step('ends it with its last finalizer', 'PATCH', core('configmaps', '/cm'), { type: MERGE, body: { metadata: { finalizers: [] } } }),
  step('does not have it any more', 'GET', core('configmaps', '/cm')),

  step('creates a node, with its status', 'POST', nodes(), {
    body: named('fidelity-a', {
      spec: { providerID: 'digitalocean://1' },
      status: { conditions: [{ type: 'Ready', status: 'True' }], addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] },
    }),
    except: {
      'spec.taints': 'a real server taints new nodes as not ready until a controller finds that they are',
    },
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
    except: { 'details.causes.1': TWICE },
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
    except: { message: 'the real server appends the difference', 'details.causes.0.message': 'the real server appends the difference' },
    both: 'spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`',
  }),
  step('lets a pod on a node terminate', 'DELETE', core('pods', '/p'), { except: { 'metadata.deletionTimestamp': 'a time' } }),
  step('forces its deletion', 'DELETE', core('pods', '/p'), { body: { gracePeriodSeconds: 0 } }),
  step('has no pod any more', 'GET', core('pods', '/p')),

  step('creates a service', 'POST', core('services'), {
    body: named('s', { spec: { ports: [{ port: 80 }], selector: { a: 'b' } } }),
    except: { 'spec.clusterIP': 'a free address', 'spec.internalTrafficPolicy': NEWER, 'spec.ipFamil': NEWER },
  }),
  step('refuses a service name that begins with a digit', 'POST', core('services'), {
    body: named('1s', { spec: { ports: [{ port: 80 }] } }),
  }),
  step('writes a service status', 'PATCH', core('services', '/s/status'), {
    type: MERGE,
    body: { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } },
    except: { 'spec.clusterIP': 'a free address', 'spec.internalTrafficPolicy': NEWER, 'spec.ipFamil': NEWER },
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

  step('creates a pool', 'POST', pools(), { body: pool('x', { provider: 'digitalocean', desiredIPs: 2 }) }),
  step('drops the status of a new pool', 'POST', pools(), {
    body: { ...pool('y', { provider: 'a', ips: ['192.0.2.1'] }), status: { activeIPs: 1 } },
  }),
  step('drops unknown fields of a pool', 'POST', pools(), {
    body: pool('z', { provider: 'a', desiredIPs: 1, colour: 'red', match: { tint: 1 } }),
  }),
  step('refuses a pool without a provider', 'POST', pools(), {
    body: pool('w', { desiredIPs: 1 }),
    except: { message: CEL, 'details.causes.1': CEL },
    both: 'spec.provider: Required value',
  }),
  step('refuses a wrong type', 'POST', pools(), {
    body: pool('w', { provider: 1, desiredIPs: 1 }),
    except: { message: CEL, 'details.causes.0.reason': NEWER, 'details.causes.1': CEL },
    both: 'spec.provider: Invalid value: "integer": spec.provider in body must be of type string: "integer"',
  }),
  step('refuses a negative number', 'POST', pools(), { body: pool('w', { provider: 'a', ips: ['192.0.2.1'], desiredIPs: -1 }) }),
  step('refuses a fraction', 'POST', pools(), {
    body: pool('w', { provider: 'a', ips: ['192.0.2.1'], desiredIPs: 1.5 }),
    except: { message: CEL, 'details.causes.0.reason': NEWER, 'details.causes.1': CEL },
    both: 'spec.desiredIPs: Invalid value: "number": spec.desiredIPs in body must be of type integer: "number"',
  }),
  step('refuses an address twice', 'POST', pools(), { body: pool('w', { provider: 'a', ips: ['192.0.2.1', '192.0.2.1'] }) }),
  step('refuses what is no address', 'POST', pools(), {
    body: pool('w', { provider: 'a', ips: ['999.1.1.1'] }),
    except: { message: NEWER, 'details.causes.0': NEWER },
    both: "in body should match '^(((25[0-5]|",
  }),
  step('refuses a spec that is a list', 'POST', pools(), {
    body: { ...pool('w', {}), spec: [] },
    except: { message: CEL, 'details.causes.0.reason': NEWER, 'details.causes.1': CEL },
    both: 'spec: Invalid value: "array": spec in body must be of type object: "array"',
  }),
  step('refuses another kind of pool', 'POST', pools(), { body: { ...pool('w', { provider: 'a' }), kind: 'Other' } }),
  step('refuses a pool of no kind', 'POST', pools(), {
    body: { metadata: { name: 'w' }, spec: { provider: 'a', desiredIPs: 1 } },
    except: { message: 'the real server quotes the place in the body' },
    both: "Object 'Kind' is missing in '",
  }),
  step('refuses an update of a pool without a resourceVersion', 'PUT', pools('/x'), { body: pool('x', { provider: 'a', desiredIPs: 2 }) }),
  step('bumps the generation of a pool', 'PATCH', pools('/x'), { type: MERGE, body: { spec: { desiredIPs: 3 } } }),
  step('changes nothing by an equal patch', 'PATCH', pools('/x'), { type: MERGE, body: { spec: { desiredIPs: 3 } } }),
  step('ignores the status in a patch of the pool', 'PATCH', pools('/x'), { type: MERGE, body: { status: { activeIPs: 1 } } }),
  step('writes the status of a pool', 'PATCH', pools('/x/status'), {
    type: MERGE,
    body: {
      status: { activeIPs: 1, ips: { '192.0.2.1': { state: 'active' } } },
      spec: { desiredIPs: 9 },
      metadata: { labels: { a: 'b' } },
    },
  }),
  step('refuses an unknown state', 'PATCH', pools('/x/status'), {
    type: MERGE,
    body: { status: { ips: { '192.0.2.1': { state: 'lost' } } } },
    except: { message: CEL, 'details.causes.1': CEL },
    both: 'Unsupported value: "lost": supported values: "active"',
  }),
  step('refuses a stale status patch', 'PATCH', pools('/x/status'), {
    type: MERGE,
    body: { metadata: { resourceVersion: '1' }, status: { activeIPs: 2 } },
  }),
  step('refuses a strategic patch of a pool', 'PATCH', pools('/x'), { type: STRATEGIC, body: {} }),
  step('reads the status of a pool', 'GET', pools('/x/status')),
  step('lists pools', 'GET', pools()),
  step('prints a pool', 'GET', pools('/z'), { accept: TABLE, except: TABLE_EXCEPT }),
  step('deletes a pool', 'DELETE', pools('/y')),
  step('deletes the others as a collection', 'DELETE', pools()),
  step('has no pools any more', 'GET', pools()),

  step('prints nodes', 'GET', nodes('?fieldSelector=metadata.name=fidelity-a'), { accept: TABLE, except: TABLE_EXCEPT }),
  step('prints leases', 'GET', leases(), { accept: TABLE, except: TABLE_EXCEPT }),
  step('prints services', 'GET', core('services'), { accept: TABLE, except: { ...TABLE_EXCEPT, 'rows.0.cells.2': 'a free address' } }),
  step('prints events', 'GET', core('events'), { accept: TABLE, except: TABLE_EXCEPT }),
  step('prints secrets', 'GET', core('secrets', '?fieldSelector=metadata.name=k'), { accept: TABLE, except: TABLE_EXCEPT }),

  step('creates what is applied', 'PATCH', core('configmaps', '/applied?fieldManager=one'), {
    type: APPLY,
    body: applied({ a: '1', b: '2' }),
  }),
  step('removes what its manager no longer applies', 'PATCH', core('configmaps', '/applied?fieldManager=one'), {
    type: APPLY,
    body: applied({ a: '1' }),
  }),
  step('shares a field that another applies with the same value', 'PATCH', core('configmaps', '/applied?fieldManager=two'), {
    type: APPLY,
    body: applied({ a: '1', c: '3' }),
  }),
  step('refuses to change a field of another manager', 'PATCH', core('configmaps', '/applied?fieldManager=two'), {
    type: APPLY,
    body: applied({ a: '5', c: '3' }),
  }),
  step('changes it by force', 'PATCH', core('configmaps', '/applied?fieldManager=two&force=true'), {
    type: APPLY,
    body: applied({ a: '5', c: '3' }),
  }),
  step('keeps what another manager has when one lets go', 'PATCH', core('configmaps', '/applied?fieldManager=one'), {
    type: APPLY,
    body: applied({}),
  }),
  step('removes all that a manager has when it applies nothing', 'PATCH', core('configmaps', '/emptied?fieldManager=one'), {
    type: APPLY,
    body: { ...applied({ a: '1' }), metadata: { name: 'emptied' } },
  }),
  step('leaves nothing of it', 'PATCH', core('configmaps', '/emptied?fieldManager=one'), {
    type: APPLY,
    body: { ...applied({}), metadata: { name: 'emptied' } },
  }),
  step('lets a plain patch take a field', 'PATCH', core('configmaps', '/applied?fieldManager=three'), {
    type: MERGE,
    body: { data: { c: '9' } },
  }),
  step('refuses to take it back', 'PATCH', core('configmaps', '/applied?fieldManager=two'), {
    type: APPLY,
    body: applied({ a: '5', c: '3' }),
  }),
  step('refuses to apply without a manager', 'PATCH', core('configmaps', '/applied'), { type: APPLY, body: applied({}) }),
  step('refuses an applied change of what was created plainly', 'PATCH', core('secrets', '/k?fieldManager=one'), {
    type: APPLY,
    body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'k' }, data: { a: 'Yw==' } },
    except: { message: OWNER, 'details.causes.0.message': OWNER },
    both: 'Apply failed with 1 conflict: conflict with "',
  }),
  step('applies a pool', 'PATCH', pools('/applied?fieldManager=one'), {
    type: APPLY,
    body: pool('applied', { provider: 'a', ips: ['192.0.2.1'] }),
  }),
  step('merges a set of addresses', 'PATCH', pools('/applied?fieldManager=two'), {
    type: APPLY,
    body: pool('applied', { provider: 'a', ips: ['192.0.2.2'] }),
  }),
  step('applies a condition to its status', 'PATCH', pools('/applied/status?fieldManager=one'), { type: APPLY, body: reporting('Ready') }),
  step('merges conditions of two managers', 'PATCH', pools('/applied/status?fieldManager=two'), {
    type: APPLY,
    body: reporting('Degraded'),
  }),
  step('removes one condition', 'PATCH', pools('/applied/status?fieldManager=one'), {
    type: APPLY,
    body: { ...pool('applied', {}), status: {} },
  }),
  step('deletes the applied pool', 'DELETE', pools('/applied')),

  step('answers who may do what', 'POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
    body: { spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } },
    except: { 'status.reason': 'it depends on who asks' },
  }),
  step('deletes a node', 'DELETE', nodes('/fidelity-a')),
  step('lets a namespace terminate', 'DELETE', `/api/v1/namespaces/${NS}`, { except: { 'metadata.labels': NEWER } }),
];
