import { expect, onTestFinished, test } from 'vitest';
import { TIMINGS } from '../../../../adapters/kubernetes/cache/reflector.ts';
import { KubernetesNamespaces } from '../../../../adapters/kubernetes/source/namespaces.ts';
import { systemClock } from '../../../../adapters/system/clock.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { connected, simulated } from '../support.ts';

const named = (name: string, labels: Readonly<Record<string, string>>) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels },
});

test('labels of Namespaces are watched from when somebody asks for them', async () => {
  const server = await simulated();
  server.store.create(named('web', { team: 'shops' }));
  const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
  const connection = connected(server.kubeconfig());
  const namespaces = new KubernetesNamespaces({ connection, clock: systemClock(), log, random: Math.random, timings: TIMINGS });
  onTestFinished(() => namespaces.close());
  const changed: (string | null)[] = [];
  namespaces.onChange((name) => changed.push(name));
  expect(server.requests.filter(({ path }) => path.includes('/namespaces'))).toEqual([]);
  expect(namespaces.labelsOf('web')).toEqual({ kind: 'unknown', why: 'Namespaces are being read' });
  await waitFor('the first list', () => changed.includes(null));
  expect(namespaces.labelsOf('web')).toMatchObject({ kind: 'known', labels: { team: 'shops' } });
  expect(namespaces.labelsOf('gone')).toEqual({ kind: 'missing' });
  server.store.create(named('new', { team: 'others' }));
  await waitFor('the new Namespace', () => changed.includes('new'));
  expect(namespaces.labelsOf('new')).toMatchObject({ kind: 'known', labels: { team: 'others' } });
  server.store.delete({ apiVersion: 'v1', kind: 'Namespace', name: 'new' });
  await waitFor('its end', () => namespaces.labelsOf('new').kind === 'missing');
});
