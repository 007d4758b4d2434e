import { describe, expect, onTestFinished, test } from 'vitest';
import type { SecretReading, SecretUse } from '../../../../actors/ports/secrets.ts';
import { refusal, ServerUnreachable } from '../../../../adapters/kubernetes/client/api-error.ts';
import type { Connection, WatchHandlers } from '../../../../adapters/kubernetes/client/connection.ts';
import { KubernetesSecrets } from '../../../../adapters/kubernetes/source/secrets.ts';
import { systemClock } from '../../../../adapters/system/clock.ts';
import type { KubernetesSimulator } from '../../../../simulator/kubernetes/server.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { connected, QUICK, type RecordedLog, recordedLog, simulated, watchesOf } from '../support.ts';

const REF = { namespace: 'default', name: 'do-token' };
const TOKEN = 'dop_v1_0123456789abcdef';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const secret = (token: string, name = REF.name) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: REF.namespace },
  data: { token: base64(token) },
});
const refOf = (name: string) => ({ apiVersion: 'v1', kind: 'Secret', name, namespace: REF.namespace });

const secretsOn = (connection: Connection): { readonly secrets: KubernetesSecrets; readonly log: RecordedLog } => {
  const log = recordedLog();
  const secrets = new KubernetesSecrets({ connection, clock: systemClock(), random: () => 0.5, log, timings: QUICK });
  onTestFinished(() => secrets.close());
  return { secrets, log };
};

/** A use of the Secret, with what was read after each change. */
const reader = (secrets: KubernetesSecrets, ref = REF) => {
  const told: SecretReading[] = [];
  const use: SecretUse = secrets.use(ref, () => told.push(use.reading()));
  return { use, told, last: () => told.at(-1) };
};

const opened = async (prepare: (simulator: KubernetesSimulator) => void = () => undefined) => {
  const simulator = await simulated();
  prepare(simulator);
  const { secrets, log } = secretsOn(connected(simulator.kubeconfig()));
  return { simulator, secrets, log };
};

const present = (token: string): SecretReading => ({ kind: 'present', values: { token } });

describe('a Secret by reference', () => {
  test('is read as text, and again whenever a value of it changes, and no other one is asked for', async () => {
    const { simulator, secrets } = await opened((cluster) => {
      cluster.store.create(secret(TOKEN));
      cluster.store.create(secret('of somebody else', 'other'));
    });
    const { use, told, last } = reader(secrets);
    expect(use.reading()).toEqual({ kind: 'unread' });
    await waitFor('the first reading', () => told.length > 0);
    expect(told).toEqual([present(TOKEN)]);
    simulator.store.patch(refOf('other'), { data: { token: base64('changed') } });
    simulator.store.patch(refOf(REF.name), { metadata: { labels: { touched: 'yes' } } });
    simulator.store.patch(refOf(REF.name), { data: { token: base64('another') } });
    await waitFor('the change', () => told.length > 1);
    expect(told).toEqual([present(TOKEN), present('another')]);
    expect(last()).toEqual(use.reading());
    const asked = simulator.requests.filter(({ path }) => path.includes('/secrets'));
    expect(asked.length).toBeGreaterThan(1);
    for (const { query } of asked) expect(decodeURIComponent(query)).toContain('fieldSelector=metadata.name=do-token');
  });

  test('that is not there says so, comes, and goes', async () => {
    const { simulator, secrets } = await opened();
    const { told, last } = reader(secrets);
    const absent = { kind: 'missing', why: 'Secret default/do-token is not there' };
    await waitFor('the first reading', () => told.length > 0);
    expect(last()).toEqual(absent);
    simulator.store.create(secret(TOKEN));
    await waitFor('the Secret', () => told.length > 1);
    expect(last()).toEqual(present(TOKEN));
    simulator.store.delete(refOf(REF.name));
    await waitFor('its end', () => told.length > 2);
    expect(last()).toEqual(absent);
  });

  test('is watched once for all its users, until the last one has left', async () => {
    const { simulator, secrets } = await opened((cluster) => cluster.store.create(secret(TOKEN)));
    const first = reader(secrets);
    const second = reader(secrets);
    await waitFor('both readings', () => first.told.length > 0 && second.told.length > 0);
    await waitFor('the watch', () => watchesOf(simulator, 'secrets') === 1);
    first.use.release();
    first.use.release();
    simulator.store.patch(refOf(REF.name), { data: { token: base64('another') } });
    await waitFor('the change', () => second.told.length > 1);
    expect(first.told).toHaveLength(1);
    expect(watchesOf(simulator, 'secrets')).toBe(1);
    second.use.release();
    await waitFor('no watch', () => watchesOf(simulator, 'secrets') === 0);
  });

  test('that no server could have is missing, and never asked for', async () => {
    const { simulator, secrets } = await opened();
    const { use } = reader(secrets, { namespace: 'default', name: 'a,metadata.name!=b' });
    const { use: path } = reader(secrets, { namespace: '../kube-system', name: 'b' });
    expect(use.reading()).toMatchObject({ kind: 'missing', why: expect.stringContaining('no Secret may be named so') });
    expect(path.reading()).toMatchObject({ kind: 'missing' });
    expect(simulator.requests.filter(({ path: asked }) => asked.includes('secrets'))).toEqual([]);
  });
});

/** A server that answers as `answer` says. */
const scripted = (answer: () => unknown) => {
  const watching = new Set<WatchHandlers>();
  const connection: Connection = {
    send: async () => answer(),
    list: async (_request, item) => {
      const { items, ...list } = answer() as { readonly items: readonly unknown[] };
      for (const one of items) item(one);
      return { ...list, items: [] };
    },
    watch: (_options, handlers) => {
      watching.add(handlers);
      handlers.opened();
      return () => void watching.delete(handlers);
    },
    close: async () => undefined,
  };
  const cut = (error: Error): void => {
    for (const handlers of [...watching]) {
      watching.delete(handlers);
      handlers.done(error);
    }
  };
  return { connection, cut };
};

const list = (...items: readonly unknown[]) => ({ metadata: { resourceVersion: '7' }, items });
const outage = new ServerUnreachable('list secrets: no answer');

describe('while the server', () => {
  test('refuses, the reading says which right is lacking; it is read as soon as the right is there', async () => {
    const target = { verb: 'list', path: '/api/v1/namespaces/default/secrets' };
    const state = { allowed: false };
    const { connection } = scripted(() => {
      if (!state.allowed) throw refusal(target, 403, 'User "operator" cannot do that');
      return list({ ...secret(TOKEN), metadata: { ...REF, uid: 'u', resourceVersion: '7' } });
    });
    const { secrets } = secretsOn(connection);
    const { told, last, use } = reader(secrets);
    await waitFor('the refusal', () => told.length > 0);
    expect(last()).toEqual({
      kind: 'missing',
      why: 'Secret default/do-token cannot be read: the ServiceAccount may not list secrets in namespace default: User "operator" cannot do that',
    });
    state.allowed = true;
    await waitFor('the right', () => told.length > 1);
    expect(told.slice(1)).toEqual([present(TOKEN)]);
    use.release();
  });

  test('is away, what was read stands; what changed meanwhile is told afterwards', async () => {
    const state = { away: false, token: TOKEN };
    const { connection, cut } = scripted(() => {
      if (state.away) throw outage;
      return list({ ...secret(state.token), metadata: { ...REF, uid: 'u', resourceVersion: '7' } });
    });
    const { secrets, log } = secretsOn(connection);
    const { told, use } = reader(secrets);
    await waitFor('the first reading', () => told.length > 0);
    state.away = true;
    state.token = 'another';
    cut(refusal({ verb: 'watch', path: '/api/v1/namespaces/default/secrets' }, 410, 'too old'));
    await waitFor('the outage to be noticed', () => log.lines.some((line) => line.includes('watch interrupted')));
    expect(told).toEqual([present(TOKEN)]);
    expect(use.reading()).toEqual(present(TOKEN));
    state.away = false;
    await waitFor('the change', () => told.length > 1);
    expect(told).toEqual([present(TOKEN), present('another')]);
    use.release();
    expect(log.lines.length).toBeGreaterThan(0);
    expect(log.lines.join('\n')).not.toMatch(/dop_v1|another|ZG9w/);
  });

  test('has not answered yet, nothing is said to be missing', async () => {
    const state = { away: true };
    const { connection } = scripted(() => {
      if (state.away) throw outage;
      return list();
    });
    const { secrets, log } = secretsOn(connection);
    const { told, use } = reader(secrets);
    await waitFor('the outage to be noticed', () => log.lines.some((line) => line.includes('watch interrupted')));
    expect(told).toEqual([]);
    expect(use.reading()).toEqual({ kind: 'unread' });
    state.away = false;
    await waitFor('the first reading', () => told.length > 0);
    expect(told).toEqual([{ kind: 'missing', why: 'Secret default/do-token is not there' }]);
    use.release();
  });
});
