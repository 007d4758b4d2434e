import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startDigitalOcean } from '../../simulator/digitalocean/server.ts';
import { connectionOf, kubeClient } from '../../simulator/kubernetes/client.ts';
import { addNode } from '../../simulator/kubernetes/cluster.ts';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { startKubernetes } from '../../simulator/kubernetes/server.ts';
import { type Operator, startOperator } from '../support/operator.ts';
import { startTestRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

const CRDS = ['floatingippools', 'nodednsrecordsets', 'routedips', 'routedipissuers', 'clusterroutedipclasses'];
const GROUP = 'routedip.io/v1alpha1';
const REFUSED = 'dop_v1_refused_0123456789abcdef';
const TOKEN = 'dop_v1_accepted_0123456789abcdef';

const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex').slice(0, 16);
const secret = (namespace: string, token: string): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'do-token', namespace },
  data: { DIGITALOCEAN_ACCESS_TOKEN: Buffer.from(`${token}\n`).toString('base64') },
});
const issuer = (namespace: string): JsonObject => ({
  apiVersion: GROUP,
  kind: 'RoutedIPIssuer',
  metadata: { name: 'digitalocean', namespace },
  spec: { issuerClass: 'digitalocean', region: 'nyc3', fromSecretsRef: [{ name: 'do-token' }] },
});
const secretRef = (namespace: string) => ({ apiVersion: 'v1', kind: 'Secret', name: 'do-token', namespace });
const issuerRef = (namespace: string) => ({ apiVersion: GROUP, kind: 'RoutedIPIssuer', name: 'digitalocean', namespace });

/** A cluster with a RoutedIP that waits for its issuer's credentials, and an operator without any of its own. */
async function opened() {
  const simulator = await startKubernetes({ crds: CRDS.map((name) => `crds/${name}.yaml`) });
  const cloud = await startDigitalOcean({ token: TOKEN });
  const redis = await startTestRedis();
  const folder = mkdtempSync(join(tmpdir(), 'routedip-accounts-'));
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, simulator.kubeconfig(), { mode: 0o600 });
  const client = kubeClient(connectionOf(simulator.kubeconfig()));
  for (const name of ['web', 'shop', 'routedip-operator']) {
    await client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  const droplet = cloud.addDroplet({ name: 'a', region: 'nyc3' });
  await addNode(client, { name: 'a', dropletID: droplet.id, region: 'nyc3' });
  await client.create({
    apiVersion: GROUP,
    kind: 'RoutedIP',
    metadata: { name: 'ingress', namespace: 'web' },
    spec: { issuerRef: { name: 'digitalocean' }, serviceRef: { serviceName: 'ingress' } },
  });
  await client.create(issuer('web'));
  const operator = startOperator({
    kubeconfig,
    redisUrl: redis.url,
    digitaloceanUrl: cloud.url,
    token: null,
    flags: ['--debug', '--namespace=routedip-operator'],
  });
  onTestFinished(async () => {
    await operator.stop();
    client.close();
    await redis.stop();
    await cloud.close();
    await simulator.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await operator.ready();
  const ready = async () => {
    const { status } = await client.get({ apiVersion: GROUP, kind: 'RoutedIP', name: 'ingress', namespace: 'web' });
    const { conditions = [] } = (status ?? {}) as { readonly conditions?: readonly { readonly type: string; readonly message: string }[] };
    return JSON.stringify(conditions.find(({ type }) => type === 'Ready') ?? null);
  };
  /** The tokens whose budgets the metrics show. */
  const budgets = async (): Promise<readonly string[]> => {
    const { text } = await operator.metrics();
    return [...new Set([...text.matchAll(/^routedip_provider_budget_limit\{.*token="([^"]+)"/gm)].map(([, hash]) => hash ?? ''))].sort();
  };
  return { client, cloud, operator, ready, budgets };
}

const changesOf = ({ log }: Operator, key: string): readonly unknown[] =>
  log.filter(({ msg, provider }) => msg === 'the means of a provider have changed' && provider === key).map(({ message }) => message);

describe('a token in a Secret', () => {
  test('is used while an issuer asks for it, as it is at the time, and shown nowhere', { timeout: 120_000 }, async () => {
    const { client, cloud, operator, ready, budgets } = await opened();
    const listed = () => cloud.calls.all().filter(({ path, status }) => path.startsWith('/v2/reserved_ips') && status === 200);
    await waitFor('the Secret is missed', async () => (await ready()).includes('Secret web/do-token is not there'), 20_000);
    expect(await ready()).toContain('SecretNotFound');
    expect(await budgets()).toEqual([]);

    await client.create(secret('web', REFUSED));
    await waitFor('the token is refused', () => cloud.calls.all().some(({ status }) => status === 401), 20_000);
    await waitFor('its budget is shown', async () => (await budgets()).join() === hashOf(REFUSED), 20_000);
    expect(listed()).toEqual([]);

    await client.patch(secretRef('web'), { data: secret('web', TOKEN).data as JsonObject });
    await waitFor('the addresses are read', () => listed().length > 0, 20_000);
    await waitFor('the Secret is no trouble any more', async () => !(await ready()).includes('SecretNotFound'), 20_000);
    await waitFor('that of the former token is not any more', async () => (await budgets()).join() === hashOf(TOKEN), 20_000);

    await client.create(secret('shop', TOKEN));
    await client.create(issuer('shop'));
    await waitFor('the second account', () => changesOf(operator, 'digitalocean@shop.do-token').at(-1) === null, 20_000);
    expect(await budgets(), 'one token, one budget').toEqual([hashOf(TOKEN)]);

    await client.delete(secretRef('web'));
    await waitFor('the Secret is missed again', async () => (await ready()).includes('Secret web/do-token is not there'), 20_000);
    expect(await budgets(), 'the second account has it still').toEqual([hashOf(TOKEN)]);
    await client.delete(issuerRef('shop'));
    await waitFor('no account is left', async () => (await budgets()).length === 0, 20_000);

    const { text } = await operator.metrics();
    // Its log is whole once it has ended.
    expect(await operator.stop()).toBe(0);
    expect(changesOf(operator, 'digitalocean@web.do-token')).toEqual([
      'Secret web/do-token is not there',
      null,
      null,
      'Secret web/do-token is not there',
    ]);
    expect(operator.noise).toEqual([]);
    const status = JSON.stringify(await client.get({ apiVersion: GROUP, kind: 'RoutedIP', name: 'ingress', namespace: 'web' }));
    const shown = `${JSON.stringify(operator.log)}${text}${status}`;
    expect(shown.length).toBeGreaterThan(10_000);
    expect(shown).not.toMatch(/dop_v1_|ZG9wX3Yx/);
    expect(operator.log.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
