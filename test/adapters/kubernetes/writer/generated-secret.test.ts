import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { addGenerateSecret } from '../../../../adapters/cli/generate-secret.ts';
import { parseCommandLine } from '../../../../adapters/cli/options.ts';
import { ApiError } from '../../../../adapters/kubernetes/client/api-error.ts';
import type { Connection } from '../../../../adapters/kubernetes/client/connection.ts';
import { ensureSecret } from '../../../../adapters/kubernetes/writer/generated-secret.ts';
import type { KubernetesSimulator } from '../../../../simulator/kubernetes/server.ts';
import { entryOf } from '../../../support/entry.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { connected, simulated } from '../support.ts';

const WANTED = { namespace: 'default', name: 'redis', key: 'REDIS_PASSWORD' };

const opened = async (): Promise<{ readonly server: KubernetesSimulator; readonly connection: Connection }> => {
  const server = await simulated();
  return { server, connection: connected(server.kubeconfig()) };
};

/** What the Secret holds, decoded. */
const valueIn = (server: KubernetesSimulator): string => {
  const { data } = server.store.get({ apiVersion: 'v1', kind: 'Secret', ...WANTED }) as {
    readonly data?: Readonly<Record<string, string>>;
  };
  return Buffer.from(data?.[WANTED.key] ?? '', 'base64').toString();
};

const secret = (data: Readonly<Record<string, string>>) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: WANTED.name, namespace: WANTED.namespace },
  data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
});

const posts = (server: KubernetesSimulator): readonly (number | undefined)[] =>
  server.requests.flatMap(({ method, code }) => (method === 'POST' ? [code] : []));

describe('a Secret that is to be there', () => {
  test('is made, and not touched afterwards', async () => {
    const { server, connection } = await opened();
    expect(await ensureSecret(connection, WANTED, () => 'first')).toBe('made');
    expect(await ensureSecret(connection, WANTED, () => 'second')).toBe('found');
    expect([valueIn(server), posts(server)]).toEqual(['first', [201]]);
  });

  test('is left as somebody made it', async () => {
    const { server, connection } = await opened();
    server.store.create(secret({ REDIS_PASSWORD: 'mine', other: 'x' }));
    expect(await ensureSecret(connection, WANTED, () => 'ours')).toBe('found');
    expect([valueIn(server), posts(server)]).toEqual(['mine', []]);
  });

  test('has one value for all who make it at once', async () => {
    const { server } = await opened();
    const made = await Promise.all(['a', 'b', 'c', 'd'].map((value) => ensureSecret(connected(server.kubeconfig()), WANTED, () => value)));
    expect(made.filter((what) => what === 'made')).toHaveLength(1);
    expect(['a', 'b', 'c', 'd']).toContain(valueIn(server));
  });

  test('is taken from the faster one when both saw none', async () => {
    const { server, connection } = await opened();
    const slow: Connection = {
      ...connection,
      send: (request) => {
        if (request.method === 'POST') server.store.create(secret({ REDIS_PASSWORD: 'of the other replica' }));
        return connection.send(request);
      },
    };
    expect(await ensureSecret(slow, WANTED, () => 'ours')).toBe('found');
    expect([valueIn(server), posts(server)]).toEqual(['of the other replica', [409]]);
  });

  test.each([{}, { REDIS_PASSWORD: '' }, { password: 'x' }])(
    'is an error with nothing under the key: %j',
    async (data: Record<string, string>) => {
      const { server, connection } = await opened();
      server.store.create(secret(data));
      await expect(ensureSecret(connection, WANTED, () => 'ours')).rejects.toThrow(
        'the Secret default/redis has nothing under the key REDIS_PASSWORD: add it, or delete the Secret',
      );
      expect(posts(server)).toEqual([]);
    },
  );

  test('is an error without the right to make it', async () => {
    const { connection } = await opened();
    const refused = new ApiError('Forbidden', 403, 'the ServiceAccount may not create secrets in namespace default');
    const powerless: Connection = {
      ...connection,
      send: async (request) => {
        if (request.method === 'POST') throw refused;
        return connection.send(request);
      },
    };
    await expect(ensureSecret(powerless, WANTED, () => 'ours')).rejects.toBe(refused);
  });
});

/** `routedip-operator generate-secret …`; what it says grows as it runs. */
const started = (server: KubernetesSimulator, ...args: readonly string[]) => {
  const folder = mkdtempSync(join(tmpdir(), 'secret-'));
  writeFileSync(join(folder, 'config'), server.kubeconfig());
  const child = spawn(process.execPath, [entryOf('routedip-operator'), 'generate-secret', ...args], {
    env: { PATH: '', KUBECONFIG: join(folder, 'config') },
  });
  const said = { out: '', problems: '' };
  child.stdout.on('data', (data) => {
    said.out += data;
  });
  child.stderr.on('data', (data) => {
    said.problems += data;
  });
  const ended = new Promise((resolve) => child.on('close', resolve));
  onTestFinished(() => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true });
  });
  return { said, ended };
};

const ARGS = ['--secret=redis', '--key=REDIS_PASSWORD'];

describe('routedip-operator generate-secret', () => {
  test('makes 64 random hexadecimal digits, waits for an API server that is away, and tells no secret', async () => {
    const { server } = await opened();
    server.faults.outage('reset');
    const { said, ended } = started(server, ...ARGS);
    await waitFor('it says what it waits for', () => said.problems.includes('waits for the API server: '), 30_000);
    server.faults.endOutage();
    expect(await ended).toBe(0);
    expect(said.out).toBe('Secret default/redis was made, with the key REDIS_PASSWORD\n');
    expect(valueIn(server)).toMatch(/^[0-9a-f]{64}$/);
    expect(said.problems).not.toContain(valueIn(server));
    const made = server.requests.find(({ method }) => method === 'POST');
    expect(made?.userAgent).toMatch(/^routedip-operator\/[\d.]+ \(\w+\/\w+\) generate-secret$/);
    expect(new URLSearchParams(made?.query).get('fieldManager')).toBe('routedip-operator-generate-secret');
  });

  test('ends with 1 and the reason for a Secret without the key', async () => {
    const { server } = await opened();
    server.store.create(secret({ password: 'x' }));
    const { said, ended } = started(server, ...ARGS, '--namespace=default');
    expect([await ended, said.out]).toEqual([1, '']);
    expect(said.problems).toContain('the Secret redis cannot be made sure of: the Secret default/redis has nothing under the key');
  });

  test.each([
    ['--secret', ['--key=x']],
    ['--key', ['--secret=x']],
  ])('ends with 2 without %s', (flag, args) => {
    onTestFinished(() => {
      vi.restoreAllMocks();
      process.exitCode = undefined;
    });
    const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    let asked = 0;
    const parsed = parseCommandLine(['generate-secret', ...args], {}, '0.0.0', (program) =>
      addGenerateSecret(program, () => {
        asked += 1;
      }),
    );
    expect([parsed, process.exitCode, asked]).toEqual([null, 2, 0]);
    expect(stderr.mock.calls.join()).toContain(flag);
  });
});
