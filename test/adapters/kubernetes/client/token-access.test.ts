import { describe, expect, test } from 'vitest';
import { ApiError } from '../../../../adapters/kubernetes/client/api-error.ts';
import type { Connection, Request } from '../../../../adapters/kubernetes/client/connection.ts';
import { tokenAccess } from '../../../../adapters/kubernetes/client/token-access.ts';
import { connected, simulated } from '../support.ts';

interface World {
  /** Tokens that are known, and whether their bearer has the right. */
  readonly bearers: Map<string, boolean>;
  now: number;
  failure: Error | null;
}

/** An API server with one bearer `prometheus` who has the right and one `guest` who has not. */
const opened = () => {
  const world: World = { bearers: new Map(Object.entries({ prometheus: true, guest: false })), now: 0, failure: null };
  const asked: Request[] = [];
  const troubles: string[] = [];
  const statusOf = (spec: Readonly<Record<string, unknown>>): object => {
    if (!('token' in spec)) return { allowed: world.bearers.get(String(spec.user)) ?? false };
    const name = String(spec.token);
    return world.bearers.has(name)
      ? { authenticated: true, user: { username: name, uid: 'u', groups: ['system:authenticated'], extra: { pod: ['p'] } } }
      : { user: {}, error: 'invalid bearer token' };
  };
  const send = async (request: Request) => {
    asked.push(request);
    if (world.failure) throw world.failure;
    return { status: statusOf((request.body as { readonly spec: Readonly<Record<string, unknown>> }).spec) };
  };
  const access = tokenAccess({
    connection: { send } as Connection,
    clock: { monotonic: () => world.now },
    path: '/metrics',
    onTrouble: (message) => troubles.push(message),
  });
  const by = async (token: string) => (await access(`Bearer ${token}`))?.status ?? 200;
  return { world, asked, troubles, access, by };
};

describe('who may get /metrics', () => {
  test('is whoever bears a token that the API server knows, and has the right', async () => {
    const { access, asked, by } = opened();
    expect([await by('prometheus'), await by('guest'), await by('nobody')]).toEqual([200, 403, 401]);
    expect((await access('Bearer guest'))?.message).toBe(
      'guest may not get /metrics: bind a ClusterRole with nonResourceURLs: [/metrics] and verbs: [get].',
    );
    expect(asked.map(({ path }) => path.split('/').at(-1))).toEqual([
      ...['tokenreviews', 'subjectaccessreviews'],
      ...['tokenreviews', 'subjectaccessreviews'],
      'tokenreviews',
    ]);
    expect(asked[1]?.body).toEqual({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        user: 'prometheus',
        uid: 'u',
        groups: ['system:authenticated'],
        extra: { pod: ['p'] },
        nonResourceAttributes: { path: '/metrics', verb: 'get' },
      },
    });
  });

  test.each([undefined, '', 'Bearer', 'Bearer ', 'Basic cHJvbWV0aGV1czp4', 'prometheus'])(
    'is nobody who shows no token, and the API server is not asked: %j',
    async (authorization) => {
      const { access, asked } = opened();
      expect(await access(authorization)).toEqual({
        status: 401,
        message: '/metrics asks for a token of the cluster, as "Authorization: Bearer …".',
      });
      expect(asked).toEqual([]);
    },
  );

  test('is asked once a minute for a token that is good, also of many requests at once', async () => {
    const { world, asked, by } = opened();
    expect(await Promise.all([by('prometheus'), by('prometheus'), by('prometheus')])).toEqual([200, 200, 200]);
    world.now = 59_999;
    expect([await by('prometheus'), asked.length]).toEqual([200, 2]);
    world.bearers.delete('prometheus');
    world.now = 60_000;
    expect([await by('prometheus'), asked.length]).toEqual([401, 3]);
  });

  test('is asked again after a few seconds for one that was refused, since the right may have come', async () => {
    const { world, asked, by } = opened();
    expect([await by('guest'), await by('guest'), asked.length]).toEqual([403, 403, 2]);
    world.bearers.set('guest', true);
    world.now = 5_000;
    expect(await by('guest')).toBe(200);
  });

  test('is asked once a minute about a token that nobody knows', async () => {
    const { world, asked, by } = opened();
    expect(await by('made-up')).toBe(401);
    world.now = 59_999;
    expect([await by('made-up'), asked.length]).toEqual([401, 1]);
    world.now = 60_000;
    expect([await by('made-up'), asked.length]).toEqual([401, 2]);
  });

  test('is told at once to whoever had the right, however many tokens are made up meanwhile', async () => {
    const { world, asked, by } = opened();
    expect(await by('prometheus')).toBe(200);
    world.now = 60_000;
    const strangers = Array.from({ length: 100 }, (_, index) => by(`made-up-${index}`));
    expect(await by('prometheus')).toBe(200);
    const answers = await Promise.all(strangers);
    expect([answers.filter((status) => status === 401).length, answers.filter((status) => status === 503).length]).toEqual([16, 84]);
    expect(asked.length).toBe(2 + 2 + 16);
  });

  test('is nobody while the API server cannot be asked, which is told and not remembered', async () => {
    const { world, troubles, access, by } = opened();
    world.failure = new ApiError('Forbidden', 403, 'the ServiceAccount may not create tokenreviews');
    expect(await access('Bearer prometheus')).toEqual({
      status: 503,
      message: 'Who asks cannot be told now: the ServiceAccount may not create tokenreviews',
    });
    expect(troubles).toEqual(['the ServiceAccount may not create tokenreviews']);
    world.failure = null;
    expect(await by('prometheus')).toBe(200);
  });

  test('is remembered of a limited number of tokens, the newest; those without the right push out nobody who has it', async () => {
    const { asked, by } = opened();
    expect(await by('prometheus')).toBe(200);
    for (let index = 0; index < 257; index += 1) expect(await by(`made-up-${index}`)).toBe(401);
    const before = asked.length;
    expect([await by('prometheus'), await by('made-up-256'), asked.length]).toEqual([200, 401, before]);
    expect([await by('made-up-0'), asked.length]).toEqual([401, before + 1]);
  });

  test('is told by an API server', async () => {
    const server = await simulated();
    server.store.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'prometheus', namespace: 'default' } });
    const connection = connected(server.kubeconfig());
    const access = tokenAccess({ connection, clock: { monotonic: () => 0 }, path: '/metrics', onTrouble: () => undefined });
    expect(await access(`Bearer ${server.tokenFor('default', 'prometheus')}`)).toBeNull();
    expect(await access('Bearer made-up')).toMatchObject({ status: 401 });
  });
});
