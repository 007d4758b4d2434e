import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { failFastClient, patientClient } from '../../../adapters/redis/client.ts';
import { startTestRedis, type TestRedis } from '../../support/redis.ts';
import { waitFor } from '../../support/wait-for.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startTestRedis();
});
afterAll(() => redis.stop());

/** A way to Redis on which something else can be said to all who take it. */
async function openWay(): Promise<{ readonly url: string; say(bytes: string): void }> {
  const clients = new Set<Socket>();
  const server = createServer((client) => {
    const behind = connect(Number(new URL(redis.url).port), '127.0.0.1');
    clients.add(client);
    for (const socket of [client, behind]) socket.on('error', () => undefined);
    client.pipe(behind).pipe(client);
    client.on('close', () => clients.delete(client));
    behind.on('close', () => client.destroy());
    client.on('close', () => behind.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    for (const client of clients) client.destroy();
  });
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    say: (bytes) => {
      for (const client of clients) client.write(bytes, 'latin1');
    },
  };
}

const SAID: Readonly<Record<string, string>> = {
  'a null': '_\r\n',
  'a text that is none': '$-1\r\n',
  'a list that is none': '*-1\r\n',
  'a number': ':1\r\n',
  'a list with a null': '*1\r\n_\r\n',
  'a message of a null': '>1\r\n_\r\n',
  'a message of nulls': '>2\r\n_\r\n_\r\n',
  'a map of nulls': '%1\r\n_\r\n_\r\n',
  'an error without words': '-\r\n',
  'no reply': '?',
  'a list that is never complete': '*999999999\r\n',
  'lists within lists': '*1\r\n'.repeat(100_000),
};

test.each(Object.entries(SAID))(
  '%s that nobody asked for ends no process, and the connection is made anew where it must be',
  { timeout: 30_000 },
  async (_, bytes) => {
    const way = await openWay();
    const thrown: unknown[] = [];
    const note = (error: unknown): void => void thrown.push(error);
    process.on('uncaughtException', note);
    const clients = [failFastClient({ url: way.url }), patientClient({ url: way.url })];
    onTestFinished(() => {
      process.off('uncaughtException', note);
      for (const client of clients) client.disconnect();
    });
    const answers = async (): Promise<boolean> => {
      const said = await Promise.all(clients.map((client) => client.get('x').catch(() => 'nothing')));
      return said.every((each) => each === null);
    };
    await waitFor('both answer', answers);
    way.say(bytes);
    await sleep(100);
    await waitFor('both answer again', answers, 20_000);
    expect(thrown).toEqual([]);
  },
);
