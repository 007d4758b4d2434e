import { describe, expect, test } from 'vitest';
import { runVipJob, type VipMeans } from '../../../../actors/jobs/vip-queue.ts';
import { Overtaken, VirtualIPNotFound } from '../../../../actors/ports/errors.ts';
import type { Request } from '../../../../adapters/kubernetes/client/connection.ts';
import { KubernetesMigrationWriter } from '../../../../adapters/kubernetes/writer/migration-writer.ts';
import { CLONE_FINALIZER, IP_FINALIZER } from '../../../../machines/vip/virtualip.ts';
import { TestFence } from '../../../contracts/vip-harness.ts';
import { connected } from '../support.ts';
import { Actor, type LegacyCluster, legacyCluster, validVirtualIP } from './migration-support.ts';

const ADDRESS = '1.1.2.2';
const KINDS: Readonly<Record<string, string>> = { virtualips: 'VirtualIP', services: 'Service', ips: 'IP' };
const MEDDLED = 'example.com/meddled';

/** What a path is about; null for a list, as what is created is sent to. */
const objectOf = (path: string): { readonly kind: string; readonly name: string } | null => {
  const [, plural = '', name = ''] = /\/(virtualips|services|ips)\/([^/]+)/.exec(path) ?? [];
  const kind = KINDS[plural];
  return kind === undefined ? null : { kind, name };
};

/** A request that has changed something, without what may differ from one run to the next. */
const asDone = ({ method, path, body }: Request): string => {
  const told = JSON.stringify(body ?? {}, (key, value) => (['resourceVersion', 'uid', MEDDLED].includes(key) ? undefined : value));
  return `${method} ${path.replace(/^.*\/v1\//, '')} ${told.replace(',"annotations":{}', '')}`;
};

/** Somebody else writes to an object: nothing that a VirtualIP goes by. */
const meddle = (cluster: LegacyCluster, { kind, name }: { readonly kind: string; readonly name: string }, time: number): void => {
  const found = cluster.find(kind, name);
  // Labels and annotations of the Service are those of its copy.
  const finalizers = [...(found?.metadata.finalizers ?? []).filter((each) => !each.startsWith(MEDDLED)), `${MEDDLED}-${time}`];
  const change = name === 'web' ? { finalizers } : { annotations: { [MEDDLED]: String(time) } };
  cluster.patch(kind, name, { metadata: change });
};

/** From the VirtualIP's first moment until it is migrated. */
const life = async (actor: Actor, cluster: LegacyCluster): Promise<void> => {
  cluster.addService('web');
  cluster.addVirtualIP('vip');
  await actor.settle();
  cluster.patch('Service', 'web', { metadata: { labels: { other: 'x' } } });
  await actor.settle();
  cluster.annotate('vip');
  await actor.settle();
};

/** From the VirtualIP's first moment until it is deleted while it serves. */
const end = async (actor: Actor, cluster: LegacyCluster): Promise<void> => {
  cluster.addService('web');
  cluster.addVirtualIP('vip');
  await actor.settle();
  cluster.remove('VirtualIP', 'vip');
  await actor.settle();
};

/** What a VirtualIP has changed, and how often somebody else was faster: `before` each of its writes, once. */
async function played(play: typeof life, isMeddled: boolean) {
  const cluster = await legacyCluster();
  const connection = connected(cluster.simulator.kubeconfig());
  const done: string[] = [];
  let [overtaken, meddled] = [0, ''];
  const actor = new Actor(cluster);
  actor.isQueued = true;
  actor.writer = new KubernetesMigrationWriter({
    ...connection,
    send: async (request) => {
      const about = objectOf(request.path);
      if (request.method === 'GET') return connection.send(request);
      if (isMeddled && about !== null && meddled !== asDone(request)) {
        overtaken += 1;
        meddled = asDone(request);
        meddle(cluster, about, overtaken);
      }
      const answer = await connection.send(request);
      done.push(asDone(request));
      meddled = '';
      return answer;
    },
  });
  await play(actor, cluster);
  return { done, overtaken, ran: actor.ran, cluster };
}

describe('a VirtualIP before each of whose writes somebody else writes', () => {
  test.each([
    ['is migrated', life, 12],
    ['is deleted', end, 6],
  ] as const)('%s by the same writes, each done once, in the same order, and by the same jobs', async (_, play, writes) => {
    const quiet = await played(play, false);
    const busy = await played(play, true);
    expect(quiet.done.length).toBeGreaterThanOrEqual(writes);
    expect([quiet.overtaken, busy.overtaken]).toEqual([0, quiet.done.filter((done) => !done.startsWith('POST')).length]);
    expect(busy.done).toEqual(quiet.done);
    expect(busy.ran).toEqual(quiet.ran);
    expect(busy.ran.filter((job) => job.startsWith('!'))).toEqual([]);
    expect(Object.keys(busy.cluster.ips())).toEqual(play === life ? [ADDRESS] : []);
  });
});

describe('a job of a VirtualIP', () => {
  test('that fails for what stands, and not because somebody has written, looks once', async () => {
    const { cluster, actor, annotate, patch, simulator } = await validVirtualIP();
    actor.isQueued = true;
    const begun: (readonly [string, number])[] = [];
    actor.before = (job) => {
      begun.push([job, simulator.requests.length]);
      const isFirst = begun.filter(([each]) => each === 'removeClone').length === 1;
      if (job === 'removeClone' && isFirst) patch('Service', 'web', { status: { loadBalancer: { ingress: null } } }, 'status');
    };
    annotate('vip');
    await actor.settle();
    expect(actor.ran).toContain('!removeClone');
    const at = begun.findIndex(([job]) => job === 'removeClone');
    const [from, to] = [begun[at]?.[1], begun[at + 1]?.[1] ?? simulator.requests.length];
    const looks = simulator.requests.slice(from, to).filter(({ method, path }) => method === 'GET' && path.endsWith('/services/web'));
    expect([looks.length, cluster.service('vip-keepalived-clone')]).toEqual([1, null]);
  });
});

describe('a migration that has begun before its VirtualIP was shown as it is', () => {
  test.each([
    ['which Service is served by now', { service: 'web' }],
    ['its address', { service: null, ip: null }],
  ])('says %s with its first stage: who remembers nothing goes on with that', async (_, behind) => {
    const { cluster, actor, annotate, patch, addService, service } = await validVirtualIP();
    addService('other');
    patch('VirtualIP', 'vip', { spec: { service: 'other' } });
    await actor.settle();
    annotate('vip');
    patch('VirtualIP', 'vip', { status: behind }, 'status');
    const vip = actor.context.ref;
    if (!vip) throw new Error('there is no VirtualIP');
    const input = { vip, service: 'other', address: ADDRESS } as never;
    const means = { virtualIPs: { writer: cluster.writer } } as unknown as VipMeans;
    await runVipJob('claimService', { input, fence: new TestFence() }, means);
    await actor.forget().settle();
    expect(cluster.find('VirtualIP', 'vip')?.status).toMatchObject({ state: 'Migrated', service: 'other', ip: ADDRESS });
    expect([service('other')?.ingress, service('web')?.ingress]).toEqual([[{ ip: ADDRESS }], []]);
    expect(service('web')?.annotations).toEqual({});
  });
});

describe('letting go of a finalizer', () => {
  /** A VirtualIP with both finalizers, and a writer before each of whose patches `before` runs, told which one it is. */
  async function held(before: (cluster: LegacyCluster, patches: number) => void) {
    const { cluster, writer, actor } = await validVirtualIP();
    const vip = actor.context.ref && (await writer.virtualIP(actor.context.ref));
    if (!vip) throw new Error('there is no VirtualIP');
    expect(vip.finalizers).toEqual([IP_FINALIZER, CLONE_FINALIZER]);
    let patches = 0;
    const meddled = cluster.meddled((method) => {
      if (method !== 'PATCH') return;
      patches += 1;
      before(cluster, patches);
    });
    const answers = (status: number): number =>
      cluster.simulator.requests.filter((request) => request.method === 'PATCH' && request.code === status).length;
    const before409 = answers(409);
    const finalizers = (): unknown => cluster.find('VirtualIP', 'vip')?.metadata.finalizers;
    return {
      vip,
      letGo: () => meddled.letGo(vip.ref, 'ip', new TestFence()),
      patches: () => patches,
      conflicts: () => answers(409) - before409,
      finalizers,
    };
  }

  test('looks again after each conflict, and takes off its own one only', async () => {
    const { letGo, patches, conflicts, finalizers } = await held((cluster, patch) => {
      if (patch === 1) cluster.patch('VirtualIP', 'vip', { metadata: { finalizers: [IP_FINALIZER, CLONE_FINALIZER, 'example.com/late'] } });
      if (patch === 2) meddle(cluster, { kind: 'VirtualIP', name: 'vip' }, patch);
    });
    await letGo();
    expect([patches(), conflicts(), finalizers()]).toEqual([3, 2, [CLONE_FINALIZER, 'example.com/late']]);
  });

  test('is over when somebody else has taken it off meanwhile', async () => {
    const { letGo, patches, conflicts, finalizers } = await held((cluster) =>
      cluster.patch('VirtualIP', 'vip', { metadata: { finalizers: [CLONE_FINALIZER] } }),
    );
    await letGo();
    expect([patches(), conflicts(), finalizers()]).toEqual([1, 1, [CLONE_FINALIZER]]);
  });

  test('is told of a VirtualIP that has gone meanwhile, also where another one has its name', async () => {
    const { letGo, patches, finalizers } = await held((cluster) => {
      cluster.patch('VirtualIP', 'vip', { metadata: { finalizers: [] } });
      cluster.remove('VirtualIP', 'vip');
      cluster.addVirtualIP('vip', { service: 'web' }, { finalizers: [IP_FINALIZER] });
    });
    await expect(letGo()).rejects.toBeInstanceOf(VirtualIPNotFound);
    expect([patches(), finalizers()]).toEqual([1, [IP_FINALIZER]]);
  });

  test('is given up after six conflicts in a row, and has changed nothing', async () => {
    const { letGo, patches, conflicts, finalizers } = await held((cluster, patch) =>
      meddle(cluster, { kind: 'VirtualIP', name: 'vip' }, patch),
    );
    await expect(letGo()).rejects.toBeInstanceOf(Overtaken);
    expect([patches(), conflicts(), finalizers()]).toEqual([6, 6, [IP_FINALIZER, CLONE_FINALIZER]]);
  });
});
