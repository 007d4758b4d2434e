import { expect, test } from 'vitest';
import { vipJobBodies } from '../../../actors/jobs/vip.ts';
import { virtualClock } from '../../../adapters/memory/clock.ts';
import { memoryVipCluster } from '../../../adapters/memory/vip-cluster.ts';

const fence = { read: async () => {}, assertFresh: () => {} };

/** A Service that was, and its heir of the same name, which lists what is reserved for it. */
const heir = () => {
  const cluster = memoryVipCluster({ clock: virtualClock() });
  const former = cluster.setService({ name: 'web' });
  cluster.deleteService(former);
  const ref = cluster.setService({ name: 'web' });
  const ownerOf = ({ namespace, name, uid }: typeof ref) => ({ namespace, name, uid });
  const its = cluster.setIP({ name: '1.1.1.1', owner: ownerOf(ref), group: 'g' });
  const left = cluster.setIP({ name: '1.1.1.2', owner: ownerOf(former), group: 'g' });
  cluster.setIngress(ref, [{ ip: '1.1.1.1' }]);
  return { cluster, vips: cluster.process(), former, ref, its, left };
};

test('whoever lets a former Service go leaves its heir what that has, and what it lists', async () => {
  const { cluster, vips, former, its, left } = heir();
  const input = { provider: 'vip', service: former, ips: [its, left], clears: true, isThere: true };
  const answer = await vipJobBodies.releaseVip({ input, vips, fence });
  expect(answer).toMatchObject({ output: { kept: false, freed: [left.uid] } });
  expect(cluster.ips()).toEqual([its]);
  expect(cluster.service('default', 'web')?.ingress).toEqual([{ ip: '1.1.1.1' }]);
});

test('whoever frees for a Service that is another one by now frees nothing', async () => {
  const { cluster, vips, former, its, left } = heir();
  const input = { provider: 'vip', service: former, ips: [its, left], clears: true };
  await expect(vipJobBodies.freeVips({ input, vips, fence })).rejects.toMatchObject({ kind: 'NotFound' });
  expect(cluster.ips()).toEqual([its, left]);
});

test('what a Service lists still, as the API server says, is not freed', async () => {
  const { cluster, vips, ref, its } = heir();
  const input = { provider: 'vip', service: ref, ips: [its], clears: false };
  await expect(vipJobBodies.freeVips({ input, vips, fence })).rejects.toMatchObject({ kind: 'Conflict' });
  expect(cluster.ips()).toHaveLength(2);
});

test('whoever wants an address again, as the API server says, is not let go', async () => {
  const { cluster, vips, ref, its } = heir();
  const input = { provider: 'vip', service: ref, ips: [its], clears: true, isThere: true };
  await expect(vipJobBodies.releaseVip({ input, vips, fence })).rejects.toMatchObject({ kind: 'Conflict' });
  expect(await vipJobBodies.releaseVip({ input: { ...input, isThere: false }, vips, fence })).toMatchObject({ output: { kept: true } });
  expect(cluster.ips()).toHaveLength(2);
});
