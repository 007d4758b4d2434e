import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Board, createBoard } from '../../../adapters/bullmq/board.ts';
import { type BullQueues, bullQueues } from '../../../adapters/bullmq/queues.ts';
import { patientClient } from '../../../adapters/redis/client.ts';
import { type RedisLink, redisLink } from '../../../adapters/redis/link.ts';
import { systemClock } from '../../../adapters/system/clock.ts';
import { startTestRedis, type TestRedis } from '../../support/redis.ts';
import { PATIENCE_MS, waitFor } from '../../support/wait-for.ts';

const IPV6_JOB = 'pool/production/a-pool-with-quite-a-long-name/ip/2001%3Adb8%3A0%3A0%3A0%3A0%3A0%3A1.12.345.0';

describe('the job dashboard', () => {
  let redis: TestRedis;
  let link: RedisLink;
  let queues: BullQueues;
  const served: { readonly server: Server; readonly board: Board }[] = [];

  const names = ['digitalocean', 'timers'];

  const serve = async (writable: boolean): Promise<string> => {
    const board = await createBoard({ queues, names: () => names, path: '/jobs', writable });
    const server = createServer((request, response) => board.handle(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    served.push({ server, board });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };

  beforeAll(async () => {
    redis = await startTestRedis();
    link = redisLink({ url: redis.operatorUrl, commandTimeoutMs: PATIENCE_MS });
    queues = bullQueues({ link, connectPatient: () => patientClient({ url: redis.operatorUrl }), prefix: '{board}', clock: systemClock() });
    const queue = queues.queue('digitalocean');
    await queue.add([
      { id: IPV6_JOB, title: 'assign 2001:db8::1 → node-a', data: { node: 'node-a' }, delayMs: 3_600_000 },
      { id: 'a.1', title: 'fails', data: null },
    ]);
    queue.consume(async () => {
      throw new Error('no');
    }, 1);
    await waitFor('a job failed', async () => (await queue.counts()).failed === 1);
  });
  afterAll(async () => {
    for (const { server, board } of served) {
      server.closeAllConnections();
      server.close();
      await board.close();
    }
    await queues.close();
    await link.close();
    const refused = await redis.refused();
    await redis.stop();
    expect(refused).toEqual([]);
  });

  test('says of no queue that nobody works on it: one connection serves all of them', async () => {
    const url = await serve(false);
    const { queues: all } = (await (await fetch(`${url}/jobs/api/queues`)).json()) as {
      readonly queues: readonly { readonly hasWorkers: unknown }[];
    };
    expect(all.map(({ hasWorkers }) => hasWorkers)).toEqual([null, null]);
  });

  test('shows the queue of an account that comes, until it goes', async () => {
    const url = await serve(false);
    const shown = async (): Promise<readonly string[]> => {
      const { queues: all } = (await (await fetch(`${url}/jobs/api/queues`)).json()) as {
        readonly queues: readonly { readonly name: string }[];
      };
      return all.map(({ name }) => name).sort();
    };
    expect(await shown()).toEqual(['digitalocean', 'timers']);
    names.push('digitalocean@web.do-token');
    expect(await shown()).toEqual(['digitalocean', 'digitalocean@web.do-token', 'timers']);
    names.pop();
    expect(await shown()).toEqual(['digitalocean', 'timers']);
  });

  test('loads nothing from the internet, and the browser would not let it', async () => {
    const url = await serve(false);
    const answer = await fetch(`${url}/jobs`);
    const page = await answer.text();
    expect(answer.status).toBe(200);
    const sources = [...page.matchAll(/\b(?:src|href)="([^"]+)"/g)].map(([, source]) => source ?? '');
    expect(sources.length).toBeGreaterThan(3);
    expect(sources.filter((source) => /^(https?:)?\/\//.test(source))).toEqual([]);
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'self'");
    const [script = ''] = sources.filter((source) => source.endsWith('.js'));
    expect((await fetch(`${url}/jobs/${script}`)).status).toBe(200);
  });

  test('shows jobs by what they do', async () => {
    const url = await serve(false);
    const answer = await fetch(`${url}/jobs/api/queues?activeQueue=digitalocean&status=delayed&page=1`);
    const { queues: shown } = (await answer.json()) as { queues: { name: string; readOnlyMode: boolean; jobs: { name: string }[] }[] };
    expect(shown.map(({ name, readOnlyMode }) => [name, readOnlyMode])).toEqual([
      ['digitalocean', true],
      ['timers', true],
    ]);
    expect(shown[0]?.jobs.map(({ name }) => name)).toEqual(['assign 2001:db8::1 → node-a']);
  });

  test('finds a job of an IPv6 address by its long id, although the page asks for it with a colon', async () => {
    const url = await serve(false);
    for (const id of [IPV6_JOB, decodeURIComponent(IPV6_JOB)]) {
      const answer = await fetch(`${url}/jobs/api/queues/digitalocean/${encodeURIComponent(id)}`);
      expect(answer.status, id).toBe(200);
      expect(await answer.json()).toMatchObject({ job: { id: IPV6_JOB } });
      expect((await fetch(`${url}/jobs/api/queues/digitalocean/${encodeURIComponent(id)}/logs`)).status, id).toBe(200);
    }
  });

  test('changes nothing unless it was told that it may', async () => {
    const remove = '/jobs/api/queues/digitalocean/a.1/clean';
    const pause = '/jobs/api/queues/digitalocean/pause';
    const url = await serve(false);
    for (const path of [remove, pause]) expect((await fetch(url + path, { method: 'PUT' })).status, path).toBe(405);
    expect(await queues.queue('digitalocean').counts()).toMatchObject({ failed: 1, delayed: 1 });
    expect(await queues.bull('digitalocean').isPaused()).toBe(false);
    const writable = await serve(true);
    expect((await fetch(writable + remove, { method: 'PUT' })).status).toBe(204);
    expect(await queues.queue('digitalocean').counts()).toMatchObject({ failed: 0 });
    for (const [deed, isPaused] of [
      ['pause', true],
      ['resume', false],
    ] as const) {
      expect((await fetch(`${writable}/jobs/api/queues/digitalocean/${deed}`, { method: 'PUT' })).status, deed).toBe(200);
      expect(await queues.bull('digitalocean').isPaused()).toBe(isPaused);
    }
  });
});
