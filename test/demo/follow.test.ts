import { expect, onTestFinished, test } from 'vitest';
import { follow } from '../../demo/follow.ts';
import { simulated } from '../adapters/kubernetes/support.ts';
import { waitFor } from '../support/wait-for.ts';

const NONE = 'no IP could be allocated';

test('an Event that is told before the Service that it is about is shown with it', async () => {
  const simulator = await simulated();
  const namespace = 'default';
  const events = `/api/v1/namespaces/${namespace}/events`;
  let told = 0;
  const followed = follow(
    {
      apiUrl: simulator.url,
      poolPath: '/api/v1/pods',
      routedPath: '/api/v1/pods',
      servicesPath: `/api/v1/namespaces/${namespace}/services`,
      eventsPath: events,
      reservationsPath: '/api/v1/configmaps',
      look: () => followed.view,
    },
    () => {
      told += 1;
    },
  );
  onTestFinished(() => followed.close());
  await waitFor('the Events are watched', () => simulator.requests.some(({ path }) => path === events));
  const before = told;
  simulator.store.create({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'chat.1', namespace },
    type: 'Warning',
    reason: 'PoolExhausted',
    message: NONE,
    involvedObject: { apiVersion: 'v1', kind: 'Service', namespace, name: 'chat' },
  });
  await waitFor('the Event has come', () => told > before);
  expect(followed.view.services).toEqual([]);
  simulator.store.create({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'chat', namespace },
    spec: { type: 'LoadBalancer', ports: [] },
  });
  await waitFor('it is shown', () => followed.view.services.some(({ name, why }) => name === 'chat' && why === NONE));
});
