import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RawClient } from '../../simulator/kubernetes/client.ts';
import { at, type JsonObject } from '../../simulator/kubernetes/objects.ts';
import { type RecordingProxy, recordingProxy } from '../support/recording-proxy.ts';
import { waitFor } from '../support/wait-for.ts';
import { ALLOWED } from './fidelity/allowed.ts';
import { answerLeaves, parsed } from './fidelity/answer.ts';
import { APPLY_STEPS } from './fidelity/apply-steps.ts';
import { Judge } from './fidelity/differences.ts';
import { KIND_STEPS } from './fidelity/kind-steps.ts';
import { ran } from './fidelity/kubectl-run.ts';
import { COMMANDS } from './fidelity/kubectl-steps.ts';
import { LAST_STEPS } from './fidelity/last-steps.ts';
import { OBJECT_STEPS } from './fidelity/object-steps.ts';
import { POOL_STEPS } from './fidelity/pool-steps.ts';
import { type Servers, startServers } from './fidelity/servers.ts';
import { SERVICE_STEPS } from './fidelity/service-steps.ts';
import { SLICE_STEPS } from './fidelity/slice-steps.ts';
import type { Step } from './fidelity/step.ts';

/** In this order: later steps meet what earlier ones left. */
const STEPS = [...OBJECT_STEPS, ...KIND_STEPS, ...SERVICE_STEPS, ...POOL_STEPS, ...APPLY_STEPS, ...SLICE_STEPS, ...LAST_STEPS];

describe('the simulator answers as a real API server', () => {
  let servers: Servers;
  let proxies: readonly [RecordingProxy, RecordingProxy];
  const judge = new Judge(ALLOWED);
  let compared = 0;

  beforeAll(async () => {
    servers = await startServers();
    proxies = [await recordingProxy(servers.ours.connection), await recordingProxy(servers.theirs.connection)];
  });

  afterAll(async () => {
    for (const proxy of proxies ?? []) await proxy.close();
    await servers?.close();
  });

  test.each(STEPS)('when it $title', async ({ title, method, path, body, type, accept }: Step) => {
    const asked = ({ client }: Servers['ours']) => client.send(method, encodeURI(path), { body, type, accept });
    const [ours, theirs] = [answerLeaves(await asked(servers.ours)), answerLeaves(await asked(servers.theirs))];
    const defects = judge.defects(`${title}: ${method} ${path}`, ours, theirs);
    expect(defects).toEqual([]);
  });

  test('when the same writes are watched, also through a selector', async () => {
    const seen = async ({ client }: { readonly client: RawClient }): Promise<string[][]> => {
      const collection = '/api/v1/namespaces/default/configmaps';
      const { text } = await client.send('GET', collection);
      const from = String(at(parsed(text), 'metadata', 'resourceVersion'));
      const streams: string[][] = [[], []];
      const take = (events: string[] | undefined, line: string): void => {
        const event = parsed(line);
        const name = at(event, 'object', 'metadata', 'name');
        if (name === 'watched')
          events?.push(`${at(event, 'type')} ${at(event, 'object', 'kind')} ${at(event, 'object', 'data', 'turn') ?? ''}`);
      };
      const watch = `${collection}?watch=1&resourceVersion=${from}`;
      await client.stream(watch, (line) => take(streams[0], line));
      await client.stream(`${watch}&labelSelector=chosen%3Dyes`, (line) => take(streams[1], line));
      const object = (turn: string, chosen: string): JsonObject => ({ metadata: { name: 'watched', labels: { chosen } }, data: { turn } });
      await client.send('POST', collection, { body: object('1', 'no') });
      for (const [turn, chosen] of [
        ['2', 'yes'],
        ['3', 'yes'],
        ['3', 'yes'],
        ['4', 'no'],
      ] as const) {
        await client.send('PUT', `${collection}/watched`, { body: object(turn, chosen) });
      }
      await client.send('DELETE', `${collection}/watched`);
      // Each is told by a connection of its own.
      await waitFor('the deletion is heard of', () => streams.every((events) => events.at(-1)?.startsWith('DELETED') === true));
      return streams;
    };
    const ours = await seen(servers.ours);
    expect(ours[1]).toEqual(['ADDED ConfigMap 2', 'MODIFIED ConfigMap 3', 'DELETED ConfigMap 3']);
    expect(ours).toEqual(await seen(servers.theirs));
  });

  test.each(COMMANDS.map((command, index) => ({ title: `${index + 1}: kubectl ${command.args.join(' ')}`, command })))(
    'to $title',
    async ({ title, command }) => {
      const [ours, theirs] = await Promise.all([ran(proxies[0], command), ran(proxies[1], command)]);
      const defects = judge.defects(title, ours.leaves, theirs.leaves);
      expect(defects).toEqual([]);
      compared += theirs.requests;
      expect(theirs.code).toBe(command.code ?? 0);
    },
  );

  test('and differs no more than is allowed: each reason is still needed', () => expect(judge.unmet()).toEqual([]));

  test('in some hundred requests', () => expect(STEPS.length + compared).toBeGreaterThan(400));
});
