import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { KubernetesSecrets } from '../../../../adapters/kubernetes/source/secrets.ts';
import { systemClock } from '../../../../adapters/system/clock.ts';
import type { Secured, Tls } from '../../../../simulator/kubernetes/secured.ts';
import type { KubernetesSimulator } from '../../../../simulator/kubernetes/server.ts';
import { createPki } from '../../../support/kube-pki.ts';
import { startProxy } from '../../../support/proxy.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { addNode, connected, nodeRef, poolObject, QUICK, Recorder, recordedLog, setReady, simulated, sourceOn } from '../support.ts';

const folder = mkdtempSync(join(tmpdir(), 'http2-'));
const tls: { made: Tls | null } = { made: null };

beforeAll(() => {
  const pki = createPki(folder);
  const { crt, key } = pki.certificate('apiserver');
  const text = (path: string): string => readFileSync(path, 'utf8');
  tls.made = { ca: text(pki.ca), cert: text(crt), key: text(key) };
});
afterAll(() => rmSync(folder, { recursive: true }));

const served = async (http2 = true): Promise<{ readonly simulator: KubernetesSimulator; readonly secured: Secured }> => {
  if (tls.made === null) throw new Error('there is no certificate');
  const simulator = await simulated({ tls: { ...tls.made, http2 } });
  if (simulator.secured === null) throw new Error('it is not served over TLS');
  return { simulator, secured: simulator.secured };
};

const secretOf = (index: number, value: string) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: `s${index}`, namespace: 'default' },
  data: { token: Buffer.from(value).toString('base64') },
});

/** As many Secrets, each watched; `read` answers the value of one. */
const watched = async (count: number, simulator: KubernetesSimulator, kubeconfig: string, timings: Partial<typeof QUICK> = {}) => {
  for (let index = 0; index < count; index += 1) simulator.store.create(secretOf(index, 'old'));
  const connection = connected(kubeconfig, 5_000, 1_000);
  const log = recordedLog();
  const world = { connection, clock: systemClock(), random: () => 0.5, log, timings: { ...QUICK, ...timings } };
  const secrets = new KubernetesSecrets(world);
  onTestFinished(() => secrets.close());
  const uses = Array.from({ length: count }, (_, index) => secrets.use({ namespace: 'default', name: `s${index}` }, () => undefined));
  const read = (index: number): string | undefined => {
    const reading = uses[index]?.reading();
    return reading?.kind === 'present' ? reading.values.token : undefined;
  };
  await waitFor('all are read', () => uses.every((_, index) => read(index) === 'old'));
  await waitFor('all are watched', () => openWatches(simulator) === count);
  const change = (index: number, value: string): void => {
    simulator.store.patch(
      { apiVersion: 'v1', kind: 'Secret', name: `s${index}`, namespace: 'default' },
      { data: secretOf(index, value).data },
    );
  };
  return { connection, read, change, log };
};

const openWatches = ({ requests }: KubernetesSimulator): number =>
  requests.filter(({ query, code }) => query.includes('watch=true') && code === undefined).length;

describe('watches over HTTP/2', () => {
  test('share a few connections from the first moment on, and each tells what changes', async () => {
    const { simulator, secured } = await served();
    const { read, change } = await watched(300, simulator, secured.kubeconfig());
    // Six where nothing else runs; one that does not answer in time on a busy machine is replaced.
    expect(secured.most()).toBeLessThanOrEqual(20);
    for (const index of [0, 150, 299]) change(index, 'new');
    await waitFor('the changes', () => [0, 150, 299].every((index) => read(index) === 'new'));
    expect(read(1)).toBe('old');
  });

  test('go on when the server sends its clients elsewhere', async () => {
    const { simulator, secured } = await served();
    const { read, change } = await watched(150, simulator, secured.kubeconfig());
    secured.goAway();
    for (const index of [0, 149]) change(index, 'new');
    await waitFor('the changes', () => read(0) === 'new' && read(149) === 'new');
    simulator.faults.cutWatches();
    await waitFor('new watches', () => openWatches(simulator) === 150);
    for (const index of [0, 149]) change(index, 'newer');
    await waitFor('the later changes', () => read(0) === 'newer' && read(149) === 'newer');
    expect(secured.connections()).toBeLessThanOrEqual(8);
  });

  test('are taken up on other connections when theirs are dead, though nobody has said so', async () => {
    const { simulator, secured } = await served();
    const proxy = await startProxy(Number(new URL(secured.url).port));
    onTestFinished(() => proxy.close());
    const through = secured.kubeconfig().replace(secured.url, `https://127.0.0.1:${proxy.port}`);
    const { read, change } = await watched(20, simulator, through, { watchSeconds: 1, quietMarginMs: 500, connectMs: 3_000 });
    proxy.strand();
    change(7, 'new');
    await waitFor('the change', () => read(7) === 'new');
  });

  test('that are reset begin anew, and so does all when the server was away', async () => {
    const { simulator, secured } = await served();
    const { read, change } = await watched(20, simulator, secured.kubeconfig());
    simulator.faults.resetWatches();
    change(3, 'new');
    await waitFor('the change', () => read(3) === 'new');
    simulator.faults.outage('reset');
    change(4, 'new');
    simulator.faults.endOutage();
    await waitFor('the change meanwhile', () => read(4) === 'new');
  });

  test('do not hold up what is sent, which shares connections of its own, nor what is urgent', async () => {
    const { simulator, secured } = await served();
    const { connection } = await watched(20, simulator, secured.kubeconfig());
    const before = secured.connections();
    const path = '/api/v1/namespaces/kube-system';
    await Promise.all(Array.from({ length: 300 }, () => connection.send({ method: 'GET', path })));
    const shared = secured.connections();
    expect(shared - before).toBeLessThanOrEqual(6);
    await connection.send({ method: 'GET', path, isUrgent: true });
    expect(secured.connections()).toBe(shared + 1);
  });

  test('are a source like any other', async () => {
    const { simulator, secured } = await served();
    addNode(simulator, 'a');
    simulator.store.create(poolObject('pool', {}));
    const seen = new Recorder();
    await sourceOn(connected(secured.kubeconfig())).start(seen);
    expect(seen.nodes()).toEqual(['a']);
    setReady(simulator, 'a', false);
    await waitFor('it is not ready', () => seen.nodes()?.join() === '!a');
    simulator.store.delete(nodeRef('a'));
    await waitFor('it is gone', () => seen.nodes()?.length === 0);
  });
});

test('a server that speaks HTTP/1.1 alone is watched with a connection for each', async () => {
  const { simulator, secured } = await served(false);
  const { read, change } = await watched(30, simulator, secured.kubeconfig());
  expect(secured.connections()).toBeGreaterThanOrEqual(30);
  change(29, 'new');
  await waitFor('the change', () => read(29) === 'new');
});

test('a server that speaks HTTP/1.1 alone is sent much at a time over no more than a hundred connections', async () => {
  const { secured } = await served(false);
  const connection = connected(secured.kubeconfig());
  const path = '/api/v1/namespaces/kube-system';
  await Promise.all(Array.from({ length: 400 }, () => connection.send({ method: 'GET', path })));
  expect(secured.most()).toBeLessThanOrEqual(100);
});
