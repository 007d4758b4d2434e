import { expect, test, vi } from 'vitest';
import type { JobContext } from '../../../actors/jobs/job.ts';
import { bodyOf } from '../../../actors/jobs/registry.ts';
import type { ClusterWriter } from '../../../actors/ports/cluster.ts';
import { Fenced } from '../../../actors/ports/errors.ts';
import type { JobDriver } from '../../../actors/ports/job-driver.ts';
import type { ProviderJobName } from '../../../machines/jobs.ts';

const owner = (kind: string) => ({ kind, namespace: 'web', name: 'shop', uid: 'uid-1' });
const JOBS = { jobs: { addresses: true, firewalls: true } as JobDriver };
const API = {};

const WRITES: readonly (readonly [ProviderJobName, typeof JOBS | typeof API, object])[] = [
  ['elect', API, { node: { name: 'a', providerID: 'cloud://a' }, effect: 'NoSchedule' }],
  ['intendCreate', API, { provider: 'cloud', region: 'r', owner: owner('FloatingIPPool') }],
  ['intendCreate', JOBS, { provider: 'cloud', region: 'r', owner: owner('RoutedIP') }],
  ['publish', API, { owner: owner('FloatingIPPool'), address: '203.0.113.7' }],
  ['publish', API, { owner: owner('RoutedIP'), address: '203.0.113.7' }],
  ['publish', JOBS, { owner: owner('RoutedIP'), address: '203.0.113.7' }],
];

test.for(WRITES)('%s that is not waited for any more writes nothing to the cluster', async ([job, provider, input]) => {
  const called = vi.fn(async () => ({}));
  const writer = new Proxy({}, { get: () => called }) as ClusterWriter;
  const fence = { read: () => Promise.reject(new Fenced('another command is waited for')), assertFresh: () => undefined };
  const listed = { ...provider, listRoutedIPs: async () => [] };
  const context = { input, writer, fence, provider: listed, clock: { now: () => 0 }, term: 1 } as unknown as JobContext<ProviderJobName>;
  await expect(bodyOf(job, provider)(context)).rejects.toThrow(Fenced);
  expect(called).not.toHaveBeenCalled();
});
