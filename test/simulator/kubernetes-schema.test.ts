import { describe, expect, test } from 'vitest';
import { at, type Json, type JsonObject } from '../../simulator/kubernetes/objects.ts';
import { type Cluster, MERGE, PODS, POOLS, pod, pool, type Reply, startCluster } from './kubernetes-support.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const THINGS = '/apis/example.com/v1/namespaces/default/things';

/** A kind `Thing` whose spec has this schema. */
const definition = (spec: JsonObject): JsonObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { kind: 'Thing', plural: 'things', singular: 'thing', shortNames: ['tg'] },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: { type: 'object', properties: { spec, status: { type: 'object', properties: { n: { type: 'integer' } } } } },
        },
      },
    ],
  },
});

const withThings = async (spec: JsonObject): Promise<Cluster> => startCluster({ crds: [definition(spec)] });

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'object', properties, ...more });

const thing = (spec: Json, name = 't'): JsonObject => ({ apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name }, spec });

const refusal = async (properties: JsonObject, spec: JsonObject): Promise<Reply> => {
  const cluster = await withThings(object(properties));
  return cluster.send('POST', THINGS, thing(spec));
};

describe('a custom resource', () => {
  const address = '^[0-9.]+$';
  test.each<[string, JsonObject, JsonObject, string]>([
    [
      'of a wrong type',
      { a: { type: 'integer' } },
      { a: 'x' },
      'spec.a: Invalid value: "string": spec.a in body must be of type integer: "string"',
    ],
    [
      'with a fraction',
      { a: { type: 'integer' } },
      { a: 1.5 },
      'spec.a: Invalid value: "number": spec.a in body must be of type integer: "number"',
    ],
    [
      'below the minimum',
      { a: { type: 'integer', minimum: 0 } },
      { a: -1 },
      'spec.a: Invalid value: -1: spec.a in body should be greater than or equal to 0',
    ],
    [
      'above the maximum',
      { a: { type: 'number', maximum: 5 } },
      { a: 7 },
      'spec.a: Invalid value: 7: spec.a in body should be less than or equal to 5',
    ],
    [
      'not of the enum',
      { a: { type: 'string', enum: ['x', 'y'] } },
      { a: 'z' },
      'spec.a: Unsupported value: "z": supported values: "x", "y"',
    ],
    [
      'against the pattern',
      { a: { type: 'string', pattern: address } },
      { a: 'z' },
      `spec.a: Invalid value: "z": spec.a in body should match '${address}'`,
    ],
    [
      'not of the format',
      { a: { type: 'string', format: 'ipv4' } },
      { a: '1.2.3' },
      'spec.a: Invalid value: "1.2.3": spec.a in body must be of type ipv4: "1.2.3"',
    ],
    [
      'too short',
      { a: { type: 'string', minLength: 2 } },
      { a: 'z' },
      'spec.a: Invalid value: "z": spec.a in body should be at least 2 chars long',
    ],
    ['too long', { a: { type: 'string', maxLength: 2 } }, { a: 'xyz' }, 'spec.a: Too long: may not be more than 2 bytes'],
    [
      'with too many items',
      { a: { type: 'array', maxItems: 1, items: { type: 'string' } } },
      { a: ['x', 'y'] },
      'spec.a: Too many: 2: must have at most 1 items',
    ],
    [
      'with a wrong item',
      { a: { type: 'array', items: { type: 'string' } } },
      { a: ['x', 1] },
      'spec.a[1]: Invalid value: "integer": spec.a[1] in body must be of type string: "integer"',
    ],
    [
      'with a value twice in a set',
      { a: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } } },
      { a: ['x', 'y', 'x'] },
      'spec.a[2]: Duplicate value: "x"',
    ],
    [
      'with a key twice in a map list',
      {
        a: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['k'],
          items: object({ k: { type: 'string' }, v: { type: 'string' } }),
        },
      },
      {
        a: [
          { k: 'x', v: '1' },
          { k: 'x', v: '2' },
        ],
      },
      'spec.a[1]: Duplicate value: {"k":"x"}',
    ],
    ['neither integer nor string', { a: { 'x-kubernetes-int-or-string': true } }, { a: true }, 'must be of type integer,string: "boolean"'],
    [
      'in a map of wrong values',
      { a: { type: 'object', additionalProperties: { type: 'integer' } } },
      { a: { k: 'x' } },
      'spec.a.k: Invalid value: "string": spec.a.k in body must be of type integer: "string"',
    ],
  ])('%s is refused in the words of the server', async (_what, properties, spec, message) => {
    const { code, body } = await refusal(properties, spec);
    expect(code).toBe(422);
    expect(body.reason).toBe('Invalid');
    expect(body.message).toContain('Thing.example.com "t" is invalid: ');
    expect(body.message).toContain(message);
    expect(body.details).toMatchObject({ name: 't', group: 'example.com', kind: 'Thing' });
  });

  test('without a required field is refused with a cause for it', async () => {
    const cluster = await startCluster();
    const { code, body } = await cluster.send('POST', POOLS, pool('x', {}));
    expect(code).toBe(422);
    expect(body.message).toContain('spec.provider: Required value');
    expect(at(body, 'details', 'causes', 0)).toEqual({ reason: 'FieldValueRequired', message: 'Required value', field: 'spec.provider' });
  });

  test('that breaks a CEL rule is refused with its message', async () => {
    const cluster = await startCluster();
    const { code, body } = await cluster.send('POST', POOLS, pool('x', { provider: 'digitalocean' }));
    expect(code).toBe(422);
    expect(body.message).toBe(
      'FloatingIPPool.flipop.digitalocean.com "x" is invalid: spec: Invalid value: ips or desiredIPs must be provided',
    );
    expect((await cluster.send('POST', POOLS, pool('x', { provider: 'digitalocean', ips: ['192.0.2.1'] }))).code).toBe(201);
  });

  test('loses fields that its schema does not have, and the reply warns', async () => {
    const cluster = await startCluster();
    const { code, body, headers } = await cluster.send('POST', POOLS, pool('x', { provider: 'a', desiredIPs: 1, colour: 'red' }));
    expect(code).toBe(201);
    expect(body.spec).toEqual({ provider: 'a', desiredIPs: 1 });
    expect(headers.get('warning')).toContain('unknown field \\"spec.colour\\"');
  });

  test('with unknown fields is refused when validation is strict', async () => {
    const cluster = await startCluster();
    const { code, body } = await cluster.send(
      'POST',
      `${POOLS}?fieldValidation=Strict`,
      pool('x', { provider: 'a', match: { x: 1 }, colour: 'red' }),
    );
    expect(code).toBe(400);
    expect(body.message).toBe(
      'FloatingIPPool in version "v1alpha1" cannot be handled as a FloatingIPPool: strict decoding error: unknown field "spec.colour", unknown field "spec.match.x"',
    );
  });

  test('keeps unknown fields where its schema says so', async () => {
    const cluster = await withThings(object({ free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }));
    const { body } = await cluster.send('POST', THINGS, thing({ free: { any: { thing: [1] } }, other: 1 }));
    expect(body.spec).toEqual({ free: { any: { thing: [1] } } });
  });

  test('gets defaults, inside objects that are there', async () => {
    const inner = object({ b: { type: 'integer', default: 5 } });
    const cluster = await withThings(
      object({ a: { type: 'string', default: 'x' }, in: inner, absent: inner, none: { type: 'string', default: 'y' } }),
    );
    const { body } = await cluster.send('POST', THINGS, thing({ in: {}, none: null }));
    expect(body.spec).toEqual({ a: 'x', in: { b: 5 }, none: 'y' });
  });
});

describe('an update of a custom resource', () => {
  const FROZEN = { 'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'is immutable' }] };

  test('is held to transition rules, a creation is not', async () => {
    const cluster = await withThings(object({ a: { type: 'string', ...FROZEN }, b: { type: 'string' } }));
    expect((await cluster.send('POST', THINGS, thing({ a: 'x' }))).code).toBe(201);
    expect((await cluster.send('PATCH', `${THINGS}/t`, { spec: { b: 'y' } }, MERGE)).code).toBe(200);
    const { code, body } = await cluster.send('PATCH', `${THINGS}/t`, { spec: { a: 'z' } }, MERGE);
    expect(code).toBe(422);
    expect(body.message).toBe('Thing.example.com "t" is invalid: spec.a: Invalid value: "z": is immutable');
  });

  test('may leave a value that no longer conforms, as long as it is unchanged', async () => {
    const cluster = await withThings(object({ a: { type: 'integer' }, b: { type: 'integer' } }));
    await cluster.send('POST', THINGS, thing({ a: 50 }));
    const path = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/a/maximum';
    const narrowed = await cluster.send('PATCH', `${CRDS}/things.example.com`, [{ op: 'add', path, value: 10 }], {
      'content-type': 'application/json-patch+json',
    });
    expect(narrowed.code).toBe(200);
    expect((await cluster.send('PATCH', `${THINGS}/t`, { spec: { b: 1 } }, MERGE)).code).toBe(200);
    expect((await cluster.send('PATCH', `${THINGS}/t`, { spec: { a: 51 } }, MERGE)).code).toBe(422);
  });

  test('of status is validated too', async () => {
    const cluster = await startCluster();
    await cluster.make(POOLS, pool('x'));
    const { code, body } = await cluster.send('PATCH', `${POOLS}/x/status`, { status: { activeIPs: -1 } }, MERGE);
    expect(code).toBe(422);
    expect(body.message).toContain('status.activeIPs');
  });
});

describe('a rule', () => {
  test('can compute its message', async () => {
    const rule = { rule: 'self.a <= self.b', messageExpression: '"a is " + string(self.a) + ", above " + string(self.b)' };
    const cluster = await withThings(object({ a: { type: 'integer' }, b: { type: 'integer' } }, { 'x-kubernetes-validations': [rule] }));
    const { body } = await cluster.send('POST', THINGS, thing({ a: 3, b: 2 }));
    expect(body.message).toContain('spec: Invalid value: a is 3, above 2');
  });

  test('that reads a missing field fails the object, and says which rule', async () => {
    const rule = { rule: 'self.missing > 0' };
    const cluster = await withThings(
      object({ a: { type: 'integer' }, missing: { type: 'integer' } }, { 'x-kubernetes-validations': [rule] }),
    );
    const { code, body } = await cluster.send('POST', THINGS, thing({ a: 3 }));
    expect(code).toBe(422);
    expect(body.message).toContain('evaluating rule: self.missing > 0');
  });

  test('is not asked while the object has a wrong type, and the refusal says so', async () => {
    const rule = { rule: 'self.a > 0', message: 'must be positive' };
    const cluster = await withThings(object({ a: { type: 'integer' } }, { 'x-kubernetes-validations': [rule] }));
    const { body } = await cluster.send('POST', THINGS, thing({ a: 'x' }));
    expect(body.message).toContain('some validation rules were not checked');
    expect(body.message).not.toContain('must be positive');
  });
});

describe('a definition created by API', () => {
  test('is established at once and its kind served until it is deleted', async () => {
    const cluster = await startCluster();
    expect((await cluster.send('GET', THINGS)).code).toBe(404);
    await cluster.make(CRDS, definition(object({ a: { type: 'string' } })));
    const { body } = await cluster.send('GET', `${CRDS}/things.example.com`);
    expect(at(body, 'status', 'acceptedNames', 'kind')).toBe('Thing');
    const conditions = at(body, 'status', 'conditions') as JsonObject[];
    expect(conditions.map(({ type, status }) => `${type} ${status}`)).toEqual(['NamesAccepted True', 'Established True']);
    await cluster.make(THINGS, thing({ a: 'x' }));
    await cluster.send('DELETE', `${CRDS}/things.example.com`);
    expect((await cluster.send('GET', THINGS)).code).toBe(404);
  });

  test('is refused when its name does not follow from its kind, or a rule cannot be read', async () => {
    const cluster = await startCluster();
    const misnamed = await cluster.send('POST', CRDS, { ...definition(object({})), metadata: { name: 'other.example.com' } });
    expect(misnamed.code).toBe(422);
    expect(misnamed.body.message).toContain('metadata.name: Invalid value: "other.example.com": must be spec.names.plural+"."+spec.group');
    const unreadable = definition(object({}, { 'x-kubernetes-validations': [{ rule: 'self.a >' }] }));
    const { code, body } = await cluster.send('POST', CRDS, unreadable);
    expect(code).toBe(422);
    expect(body.message).toContain('x-kubernetes-validations[0].rule: Invalid value: "self.a >": compilation failed');
  });
});

describe('a built-in object', () => {
  test('with a misspelt field is refused when validation is strict, else the field is dropped', async () => {
    const cluster = await startCluster();
    const misspelt: JsonObject = { ...pod('p', 'a'), spec: { nodeNam: 'a', containers: [{ name: 'c', image: 'i' }] } };
    const { code, body } = await cluster.send('POST', `${PODS}?fieldValidation=Strict`, misspelt);
    expect(code).toBe(400);
    expect(body.message).toBe('Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.nodeNam"');
    expect(at((await cluster.make(PODS, misspelt)) as JsonObject, 'spec', 'nodeNam')).toBeUndefined();
  });

  test('with a value of a wrong type is refused', async () => {
    const cluster = await startCluster();
    const wrong: JsonObject = { ...pod('p', 'a'), spec: { nodeName: 5, containers: [] } };
    const { code, body } = await cluster.send('POST', PODS, wrong);
    expect(code).toBe(400);
    expect(body.message).toContain('Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field');
  });

  test('without what its kind needs is refused', async () => {
    const cluster = await startCluster();
    const { code, body } = await cluster.send('POST', PODS, { metadata: { name: 'p' }, spec: {} });
    expect(code).toBe(422);
    expect(body.message).toBe('Pod "p" is invalid: spec.containers: Required value');
  });
});
