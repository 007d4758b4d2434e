import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { objectsIn } from '../support/kube-apply.ts';
import { freePorts } from '../support/kube-process.ts';
import type { OperatorOptions } from '../support/operator.ts';
import { ipNamed } from '../support/vip-admission.ts';
import type { Target } from './target.ts';
import { vipStage } from './vip-objects.ts';

const deploy = (file: string): string => join(import.meta.dirname, '../../deploy', file);
const OPERATOR = 'system:serviceaccount:routedip-operator:routedip-operator';

/** The policies, where the server evaluates them; the operator is told apart from the administrator by its token. */
const byPolicies = async ({ client, simulator }: Target): Promise<Partial<OperatorOptions>> => {
  for (const object of objectsIn(deploy('vip-admission-policies.yaml'))) await client.create(object as unknown as JsonObject);
  const folder = mkdtempSync(join(tmpdir(), 'routedip-judged-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, simulator?.kubeconfig(simulator.tokenFor('routedip-operator', 'routedip-operator')) ?? '', { mode: 0o600 });
  return { kubeconfig, flags: [] };
};

/** The webhook, called at the operator's own address: no Service leads anywhere on an API server alone. */
const byWebhook = async ({ client }: Target): Promise<Partial<OperatorOptions>> => {
  const [port = 0] = await freePorts(1);
  const url = `https://127.0.0.1:${port}`;
  const called = (webhook: { clientConfig: { service: { path: string } } }) => ({
    ...webhook,
    clientConfig: { url: `${url}${webhook.clientConfig.service.path}` },
  });
  for (const object of objectsIn(deploy('vip-admission-webhook.yaml'))) {
    const { webhooks } = object as { webhooks?: { clientConfig: { service: { path: string } } }[] };
    await client.create({ ...object, ...(webhooks && { webhooks: webhooks.map(called) }) } as unknown as JsonObject);
  }
  return { flags: [`--webhook-bind-addr=127.0.0.1:${port}`, `--webhook-url=${url}`] };
};

export const vipJudgedScenarios = () =>
  describe('an IP', () => {
    const { vips, target } = vipStage();

    test('is written by the operator alone, also while it is away', async () => {
      const world = vips();
      const { client, kind } = target();
      const { flags = [], ...options } = await (kind === 'simulator' ? byPolicies : byWebhook)(target());
      const started = { ...options, flags: ['--controllers=vip', ...flags] };
      const refusalOf = (write: Promise<unknown>): Promise<string> => write.then(() => 'allowed', String);
      const deletion = () => refusalOf(client.delete({ apiVersion: 'paas.org/v1', kind: 'IP', name: '1.1.1.1' }));
      await world.group('ipgroup-1', '1.1.1.0/29', ['1.1.1.0', '1.1.1.7']);

      const first = await world.stage.start(started);
      await first.ready();
      await world.service('web');
      await world.listing('web', '1.1.1.1');
      const allowed = new RegExp(`user \\w+ cannot delete ip objects, only ${OPERATOR} is allowed$`);
      expect(await deletion()).toMatch(allowed);
      expect(await refusalOf(client.create(ipNamed('1.1.1.2')))).toMatch(/cannot create ip objects/);
      expect(first.log.find(({ msg }) => msg === 'serves Services of type LoadBalancer')?.admission).toBe(
        kind === 'simulator' ? 'policy' : 'webhook',
      );
      expect(await first.stop()).toBe(0);

      expect(await deletion()).toMatch(kind === 'simulator' ? allowed : /failed calling webhook "vip\.kb\.io"/);
      await world.service('late');
      const second = await world.stage.start(started);
      await world.listing('late', '1.1.1.2');
      await world.remove('web');
      await world.until('the address is free', async () => Object.keys(await world.reserved()).join() === '1.1.1.2');
      expect([...first.log, ...second.log].filter(({ level }) => level === 'error')).toEqual([]);
      expect([...first.log, ...second.log].map((line) => JSON.stringify(line)).join('\n')).not.toContain('PRIVATE KEY');
    });
  });
