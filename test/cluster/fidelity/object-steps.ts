import { core, JSON_PATCH, MERGE, NS, named, nodes, STRATEGIC, type Step, step } from './step.ts';

/** What is the same for all kinds: names, conflicts, patches, lists, deletion. The first one creates the namespace of all the others. */
export const OBJECT_STEPS: readonly Step[] = [
  step('creates a namespace', 'POST', '/api/v1/namespaces', { body: named(NS) }),
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
  }),
  step('refuses another apiVersion', 'POST', core('configmaps'), {
    body: { apiVersion: 'v2', kind: 'ConfigMap', metadata: { name: 'x' } },
  }),
  step('refuses a resourceVersion on create', 'POST', core('configmaps'), { body: { metadata: { name: 'x', resourceVersion: '5' } } }),
  step('refuses a body that is a list', 'POST', core('configmaps'), {
    body: [],
  }),
  step('refuses a value of a wrong type', 'POST', core('configmaps'), {
    body: named('x', { data: { a: 1 } }),
  }),
  step('refuses a create of one name', 'POST', core('configmaps', '/cm'), { body: named('cm') }),
  step('does not find what is not there', 'GET', core('configmaps', '/none')),
  step('does not know an unknown resource', 'GET', core('nothings')),
  step('does not know an unknown group', 'GET', '/apis/nothing.example/v1'),
  step('does not know an unknown path', 'GET', '/nothing'),
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
  step('refuses a malformed label selector', 'GET', core('configmaps', '?labelSelector=a in (')),
  step('refuses a malformed label value', 'GET', core('configmaps', '?labelSelector=a=b c')),
  step('refuses a malformed field selector', 'GET', core('configmaps', '?fieldSelector=abc')),
  step('refuses a malformed continue token', 'GET', core('configmaps', '?limit=1&continue=abc')),
  step('refuses a malformed label selector for a watch', 'GET', core('configmaps', '?watch=1&labelSelector=a in (')),

  step('deletes', 'DELETE', core('configmaps', '/cn')),
  step('does not delete what is not there', 'DELETE', core('configmaps', '/cn')),
  step('refuses a deletion for another uid', 'DELETE', core('configmaps', '/cm'), { body: { preconditions: { uid: 'another' } } }),
  step('sets a finalizer', 'PATCH', core('configmaps', '/cm'), { type: MERGE, body: { metadata: { finalizers: ['example.com/hold'] } } }),
  step('marks as deleted what has a finalizer', 'DELETE', core('configmaps', '/cm')),
  step('refuses a new finalizer on it', 'PATCH', core('configmaps', '/cm'), {
    type: MERGE,
    body: { metadata: { finalizers: ['example.com/hold', 'example.com/more'] } },
  }),
  step('ends it with its last finalizer', 'PATCH', core('configmaps', '/cm'), { type: MERGE, body: { metadata: { finalizers: [] } } }),
  step('does not have it any more', 'GET', core('configmaps', '/cm')),
];
