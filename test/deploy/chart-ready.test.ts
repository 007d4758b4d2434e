import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../tools/free-ports.mjs';

const SCRIPT = join(import.meta.dirname, '../../deploy/chart/files/ready.mjs');

/** What each request for /readyz is answered with, in turn; the last answer for all that follow. Resolves with the port. */
const replica = async (...answers: readonly (readonly [status: number, text: string])[]): Promise<number> => {
  let asked = 0;
  const server = createServer((request, response) => {
    const [status, text] = answers[Math.min(asked, answers.length - 1)] ?? [500, ''];
    asked += 1;
    response.writeHead(request.url === '/readyz' ? status : 404).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
};

/** As the Pod of `helm test` runs it. */
const run = async (env: Readonly<Record<string, string>>) => {
  const options = { env: { ...process.env, SERVICE: '127.0.0.1', SECONDS: '0', ...env } };
  return promisify(execFile)(process.execPath, [SCRIPT], options).then(
    ({ stdout }) => ({ code: 0, stdout }),
    ({ code, stdout }: { readonly code: number; readonly stdout: string }) => ({ code, stdout }),
  );
};

describe('what helm test runs', () => {
  test('ends well when every replica is ready', async () => {
    const port = await replica([200, 'ok\n']);
    expect(await run({ PORT: `${port}` })).toEqual({ code: 0, stdout: '127.0.0.1: ok\n1 ready, 1 wanted\n' });
  });

  test('waits for one that is about to be', async () => {
    const port = await replica([503, 'redis: unreachable\n'], [200, 'ok\n']);
    expect(await run({ PORT: `${port}`, SECONDS: '60' })).toEqual({ code: 0, stdout: '127.0.0.1: ok\n1 ready, 1 wanted\n' });
  });

  test('fails with what the replica says', async () => {
    const port = await replica([503, 'redis: unreachable since 12 s\n']);
    expect(await run({ PORT: `${port}` })).toEqual({ code: 1, stdout: '127.0.0.1: redis: unreachable since 12 s\n0 ready, 1 wanted\n' });
  });

  test('fails when a replica is missing', async () => {
    const port = await replica([200, 'ok\n']);
    expect(await run({ PORT: `${port}`, REPLICAS: '2' })).toEqual({ code: 1, stdout: '127.0.0.1: ok\n1 ready, 2 wanted\n' });
  });

  test('fails when nobody answers, and when there is no such Service', async () => {
    expect(await run({ PORT: `${await freePort()}` })).toEqual({
      code: 1,
      stdout: expect.stringContaining('127.0.0.1: connect ECONNREFUSED'),
    });
    const { code, stdout } = await run({ SERVICE: 'no-such-service.invalid' });
    expect([code, stdout]).toEqual([1, expect.stringContaining('no replica is behind the Service no-such-service.invalid')]);
  });
});
