import { describe, expect, test } from 'vitest';
import { at, type JsonObject } from '../../simulator/kubernetes/objects.ts';
import { type Cluster, CONFIG_MAPS, configMap, MERGE, startCluster } from './kubernetes-support.ts';

const GROUP = '/apis/admissionregistration.k8s.io/v1';
const POLICIES = `${GROUP}/validatingadmissionpolicies`;
const BINDINGS = `${GROUP}/validatingadmissionpolicybindings`;

const policy = (spec: JsonObject, name = 'demo'): JsonObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name },
  spec: {
    matchConstraints: {
      resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE', 'DELETE'], resources: ['configmaps'] }],
    },
    ...spec,
  },
});

const binding = (actions: string[] = ['Deny'], name = 'demo'): JsonObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  metadata: { name: `${name}-bound` },
  spec: { policyName: name, validationActions: actions },
});

const governed = async (spec: JsonObject, actions?: string[]): Promise<Cluster> => {
  const cluster = await startCluster();
  await cluster.make(POLICIES, policy(spec));
  await cluster.make(BINDINGS, binding(actions));
  return cluster;
};

const rule = (expression: string, more: JsonObject = {}): JsonObject => ({ validations: [{ expression, ...more }] });
const JANE = { 'impersonate-user': 'jane' };

describe('a ValidatingAdmissionPolicy', () => {
  test('refuses what breaks it, in the words of the API server', async () => {
    const cluster = await governed(rule("has(object.data) && 'key' in object.data", { message: 'a key is needed', reason: 'Forbidden' }));
    expect((await cluster.send('POST', CONFIG_MAPS, configMap('a', { key: '1' }))).code).toBe(201);
    const { code, body } = await cluster.send('POST', CONFIG_MAPS, configMap('b'));
    expect(code).toBe(403);
    expect(body).toMatchObject({ kind: 'Status', status: 'Failure', reason: 'Forbidden' });
    expect(body.message).toBe(
      `configmaps "b" is forbidden: ValidatingAdmissionPolicy 'demo' with binding 'demo-bound' denied request: a key is needed`,
    );
    expect(body.details).toEqual({
      name: 'b',
      kind: 'configmaps',
      causes: [{ message: `ValidatingAdmissionPolicy 'demo' with binding 'demo-bound' denied request: a key is needed` }],
    });
    expect((await cluster.send('GET', `${CONFIG_MAPS}/b`)).code).toBe(404);
  });

  test('says Invalid and names its expression when it is told nothing else', async () => {
    const cluster = await governed(rule("object.metadata.name != 'b'"));
    const { code, body } = await cluster.send('POST', CONFIG_MAPS, configMap('b'));
    expect(code).toBe(422);
    expect(body.reason).toBe('Invalid');
    expect(body.message).toMatch(/failed expression: object\.metadata\.name != 'b'$/);
  });

  test('knows who asks, also by the token of a ServiceAccount', async () => {
    const cluster = await governed(
      rule("request.userInfo.username == 'jane'", { messageExpression: "'not ' + request.userInfo.username" }),
    );
    expect((await cluster.send('POST', CONFIG_MAPS, configMap('a'), JANE)).code).toBe(201);
    expect((await cluster.send('POST', CONFIG_MAPS, configMap('b'))).body.message).toMatch(/: not simulator$/);
    await cluster.make('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'robot' } });
    const { body } = await cluster.send('POST', '/api/v1/namespaces/default/serviceaccounts/robot/token', {});
    const headers = { authorization: `Bearer ${at(body, 'status', 'token')}` };
    const refused = await cluster.send('POST', CONFIG_MAPS, configMap('b'), headers);
    expect(refused.body.message).toMatch(/: not system:serviceaccount:default:robot$/);
    const review = await cluster.send('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {}, headers);
    expect(at(review.body, 'status', 'userInfo', 'username')).toBe('system:serviceaccount:default:robot');
    const asked = { spec: { token: headers.authorization.slice('Bearer '.length) } };
    const token = await cluster.send('POST', '/apis/authentication.k8s.io/v1/tokenreviews', asked);
    expect(at(token.body, 'status', 'user', 'username')).toBe('system:serviceaccount:default:robot');
  });

  test('is asked about creation, every kind of change, and deletion, with the object of before', async () => {
    const cluster = await governed({
      variables: [
        { name: 'before', expression: "oldObject == null ? 'none' : oldObject.metadata.name" },
        { name: 'after', expression: "object == null ? 'none' : object.metadata.name" },
      ],
      validations: [
        {
          expression: "request.userInfo.username != 'jane'",
          messageExpression: "request.operation + ' ' + variables.before + ' ' + variables.after",
        },
      ],
    });
    await cluster.make(CONFIG_MAPS, configMap('a'));
    const told = async (method: string, path: string, body?: JsonObject, headers = {}) =>
      String((await cluster.send(method, path, body, { ...JANE, ...headers })).body.message).replace(/^.*request: /, '');
    expect(await told('POST', CONFIG_MAPS, configMap('b'))).toBe('CREATE none b');
    expect(await told('PUT', `${CONFIG_MAPS}/a`, configMap('a', { x: '1' }))).toBe('UPDATE a a');
    expect(await told('PATCH', `${CONFIG_MAPS}/a`, { data: { x: '1' } }, MERGE)).toBe('UPDATE a a');
    const apply = { 'content-type': 'application/apply-patch+yaml' };
    expect(await told('PATCH', `${CONFIG_MAPS}/a?fieldManager=x`, configMap('a'), apply)).toBe('UPDATE a a');
    expect(await told('PATCH', `${CONFIG_MAPS}/c?fieldManager=x`, configMap('c'), apply)).toBe('CREATE none c');
    expect(await told('DELETE', `${CONFIG_MAPS}/a`)).toBe('DELETE a none');
    expect(await told('DELETE', CONFIG_MAPS)).toBe('DELETE a none');
    expect(await told('POST', `${CONFIG_MAPS}?dryRun=All`, configMap('b'))).toBe('CREATE none b');
    expect((await cluster.send('GET', `${CONFIG_MAPS}/a`)).body.data).toEqual({});
  });

  test('tells the first rule that is broken', async () => {
    const cluster = await governed({
      validations: [
        { expression: 'true', message: 'never' },
        { expression: 'false', message: 'first' },
        { expression: 'false', message: 'second' },
      ],
    });
    expect((await cluster.send('POST', CONFIG_MAPS, configMap('a'))).body.message).toMatch(/request: first$/);
  });

  test('warns instead when it is bound so', async () => {
    const cluster = await governed(rule('false', { message: 'better not' }), ['Warn', 'Audit']);
    const { code, headers } = await cluster.send('POST', CONFIG_MAPS, configMap('a'));
    expect(code).toBe(201);
    expect(headers.get('warning')).toContain(
      `Validation failed for ValidatingAdmissionPolicy 'demo' with binding 'demo-bound': better not`,
    );
    expect((await cluster.send('DELETE', `${CONFIG_MAPS}/a`)).headers.get('warning')).toContain('better not');
  });

  test.each([
    ['Fail', 422],
    ['Ignore', 201],
  ])('that fails to evaluate follows its failurePolicy %s', async (failurePolicy, expected) => {
    const cluster = await governed({ ...rule("object.data.missing == 'x'"), failurePolicy });
    const { code, body } = await cluster.send('POST', CONFIG_MAPS, configMap('a'));
    expect(code).toBe(expected);
    if (expected === 422) expect(body.message).toMatch(/expression 'object\.data\.missing == 'x'' resulted in error: /);
  });

  test('does nothing before it is bound, for other resources, or where its conditions do not hold', async () => {
    const cluster = await startCluster();
    await cluster.make(
      POLICIES,
      policy({ ...rule('false'), matchConditions: [{ name: 'jane', expression: "request.userInfo.username == 'jane'" }] }),
    );
    expect((await cluster.send('POST', CONFIG_MAPS, configMap('a'), JANE)).code).toBe(201);
    await cluster.make(BINDINGS, binding());
    expect((await cluster.send('POST', CONFIG_MAPS, configMap('b'))).code).toBe(201);
    expect((await cluster.send('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'x' } }, JANE)).code).toBe(201);
    expect((await cluster.send('POST', CONFIG_MAPS, configMap('c'), JANE)).code).toBe(422);
    await cluster.send('DELETE', `${BINDINGS}/demo-bound`);
    expect((await cluster.send('POST', CONFIG_MAPS, configMap('c'), JANE)).code).toBe(201);
  });

  test.each<[string, JsonObject, string]>([
    ['an unknown name', rule('nothing == 1'), 'spec.validations[0].expression'],
    ['an unknown field of the request', rule("request.nothing == ''"), 'spec.validations[0].expression'],
    ['an unknown variable', rule('variables.nothing'), 'spec.validations[0].expression'],
    ['an unknown function', rule('object.metadata.name.nothing()'), 'spec.validations[0].expression'],
    ['an expression that is no claim', rule("'text'"), 'spec.validations[0].expression'],
    ['a message that is no text', rule('true', { messageExpression: '1 + 1' }), 'spec.validations[0].messageExpression'],
    ['broken syntax', rule('object.'), 'spec.validations[0].expression'],
    ['an unknown reason', rule('true', { reason: 'Because' }), 'spec.validations[0].reason'],
    ['parameters, which are not known here', { ...rule('true'), paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } }, 'spec.paramKind'],
    ['no validations', {}, 'spec.validations'],
    ['nothing that it is about', { ...rule('true'), matchConstraints: {} }, 'spec.matchConstraints.resourceRules'],
  ])('is refused with %s', async (_, spec, field) => {
    const cluster = await startCluster();
    const { code, body } = await cluster.send('POST', POLICIES, policy(spec));
    expect(code).toBe(422);
    expect(at(body, 'details', 'causes', 0, 'field')).toBe(field);
  });
});
