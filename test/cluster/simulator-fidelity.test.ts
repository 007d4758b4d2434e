import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { connectionOf, type RawClient, rawClient } from '../../simulator/kubernetes/client.ts';
import { at, isObject, type Json, type JsonObject } from '../../simulator/kubernetes/objects.ts';
import { type KubernetesSimulator, startKubernetes } from '../../simulator/kubernetes/server.ts';
import { type Cluster, startCluster } from '../support/kube.ts';
import { waitFor } from '../support/wait-for.ts';
import { APPLY_STEPS } from './fidelity-apply-steps.ts';
import { KIND_STEPS } from './fidelity-kind-steps.ts';
import { LAST_STEPS } from './fidelity-last-steps.ts';
import { OBJECT_STEPS } from './fidelity-object-steps.ts';
import { POOL_STEPS } from './fidelity-pool-steps.ts';
import { SERVICE_STEPS } from './fidelity-service-steps.ts';
import { sliceSteps } from './fidelity-slice-steps.ts';
import type { Step } from './fidelity-step.ts';

/** In this order: later steps meet what earlier ones left. */
const STEPS = [...OBJECT_STEPS, ...KIND_STEPS, ...SERVICE_STEPS, ...POOL_STEPS, ...APPLY_STEPS, ...LAST_STEPS];

const CRD = fileURLToPath(new URL('../../crds/floatingippools.yaml', import.meta.url));

/** What differs from server to server and from write to write. */
const VARYING = ['uid', 'resourceVersion', 'creationTimestamp', 'deletionTimestamp', 'remainingItemCount', 'continue'];
/** Bookkeeping that the simulator does not do, and a field that newer servers no longer have. */
const LEFT_OUT = ['managedFields', 'selfLink'];

const AGE = /^\d+[smhd](\d+[smhd])?$/;
const UID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** Go writes zero values where others leave a member out: to a client of typed APIs both say the same. */
const isZero = (value: Json | undefined): boolean =>
  value === undefined || value === null || value === '' || value === 0 || value === false;

const shown = (path: string, value: Json): Json => {
  if (VARYING.includes(path.split('.').at(-1) ?? '')) return '(any)';
  return typeof value === 'string' ? value.replace(UID, '(uid)').replace(AGE, '(age)') : value;
};

/** Every value that is not zero, by its path. */
const leaves = (value: Json | undefined, path = ''): [string, Json][] => {
  if (!isObject(value) && !Array.isArray(value)) return isZero(value) ? [] : [[path, shown(path, value ?? null)]];
  return Object.entries(value).flatMap(([key, item]) => (LEFT_OUT.includes(key) ? [] : leaves(item, path === '' ? key : `${path}.${key}`)));
};

const parsed = (text: string): Json => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return { text };
  }
};

const comparable = (step: Step, reply: { code: number; text: string }): Record<string, Json> => {
  const excepted = Object.keys(step.except ?? {});
  const kept = leaves(parsed(reply.text)).filter(([path]) => !excepted.some((one) => path.startsWith(one)));
  return { 'the status code': reply.code, ...Object.fromEntries(kept) };
};

describe('the simulator answers as a real API server', () => {
  let started: Cluster | undefined;
  let simulator: KubernetesSimulator;
  let real: RawClient;
  let simulated: RawClient;
  /** The versions of EndpointSlices that the real server has. */
  let slices: string[];

  beforeAll(async () => {
    const given = process.env.TEST_KUBECONFIG;
    if (!given) started = await startCluster();
    real = rawClient(connectionOf(readFileSync(given ?? started?.kubeconfig ?? '', 'utf8')));
    const { text } = await real.send('GET', '/apis/discovery.k8s.io');
    slices = [at(parsed(text), 'versions')].flat().map((each) => String(at(each, 'version')));
    const version = String(at(parsed((await real.send('GET', '/version')).text), 'gitVersion'));
    simulator = await startKubernetes({
      version,
      apiVersions: Object.fromEntries(['v1', 'v1beta1'].map((version) => [`discovery.k8s.io/${version}`, slices.includes(version)])),
    });
    simulated = rawClient({ url: simulator.url });
    const definition = parse(readFileSync(CRD, 'utf8')) as JsonObject;
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    for (const client of [simulated, real]) {
      const { code } = await client.send('POST', path, { body: definition });
      expect([201, 409]).toContain(code);
      await waitFor('FloatingIPPools are served', async () => {
        const { text } = await client.send('GET', '/apis/flipop.digitalocean.com/v1alpha1/floatingippools');
        return Array.isArray(at(parsed(text), 'items'));
      });
    }
  });

  afterAll(async () => {
    simulated?.close();
    real?.close();
    await simulator?.close();
    await started?.stop();
  });

  const compare = async (step: Step): Promise<void> => {
    const request = { body: step.body, type: step.type, accept: step.accept };
    const path = encodeURI(step.path);
    const [ours, theirs] = [await simulated.send(step.method, path, request), await real.send(step.method, path, request)];
    expect(comparable(step, ours)).toEqual(comparable(step, theirs));
    if (step.both === undefined) return;
    for (const { text } of [ours, theirs]) expect(at(parsed(text), 'message')).toContain(step.both);
  };

  test.each(STEPS)('when it $title', compare);

  test('when it is asked for endpoint slices, of the version that it has', async () => {
    expect(slices).toHaveLength(1);
    for (const step of sliceSteps(slices[0] ?? '')) await compare(step);
  });

  test('when the same writes are watched, also through a selector', async () => {
    const seen = async (client: RawClient): Promise<string[][]> => {
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
    const ours = await seen(simulated);
    expect(ours[1]).toEqual(['ADDED ConfigMap 2', 'MODIFIED ConfigMap 3', 'DELETED ConfigMap 3']);
    expect(ours).toEqual(await seen(real));
  });
});
