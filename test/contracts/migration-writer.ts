import { describe, expect, test } from 'vitest';
import { Fenced, ProviderError } from '../../actors/ports/errors.ts';
import type { LiveIP, LiveService, LiveVirtualIP, MigrationWriter } from '../../actors/ports/migration.ts';
import type { Address, ObjectRef } from '../../machines/model/types.ts';
import { CLONE_FINALIZER, IP_FINALIZER, MIGRATING_ANNOTATION, type VirtualIPStatus } from '../../machines/vip/virtualip.ts';
import { TestFence } from './vip-harness.ts';

/** A cluster as a test and the operator have it. All names are of the namespace `default`. */
export interface MigrationHarness {
  readonly writer: MigrationWriter;
  /** A Service of type LoadBalancer. */
  createService(name: string): Promise<void>;
  createVirtualIP(name: string, status: Partial<VirtualIPStatus>, finalizers: readonly string[]): Promise<ObjectRef>;
  annotate(name: string): Promise<void>;
  setMapping(name: string, spec: { readonly segment: string; readonly excludedIPs: readonly string[] }): Promise<void>;
  setGroup(name: string, spec: { readonly segment: string; readonly excludedIPs: readonly string[] }): Promise<void>;
  /** Somebody else writes to the object, whatever. */
  touch(kind: 'Service' | 'VirtualIP' | 'IP', name: string): Promise<void>;
  /** It is made anew under its name, by somebody else; or is gone. */
  remove(kind: 'Service' | 'VirtualIP' | 'IP', name: string): Promise<void>;
}

const ADDRESS = '1.1.2.2' as Address;
const WEB = { namespace: 'default', name: 'web' };
const CLONE = { namespace: 'default', name: 'vip-keepalived-clone' };
const SEGMENT = { segment: '1.1.2.0/29', excludedIPs: [] };
const SPEC = { ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 }], selector: { app: 'web' } };

const kindOf = async (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'done',
    (error: unknown) => (error instanceof ProviderError ? error.kind : String(error)),
  );

const present = <T>(object: T | null): T => {
  if (object === null) throw new Error('it is not there');
  return object;
};

interface Standing {
  readonly harness: MigrationHarness;
  readonly writer: MigrationWriter;
  readonly fence: TestFence;
  readonly ref: ObjectRef;
  readonly vip: LiveVirtualIP;
  readonly web: LiveService;
  readonly clone: LiveService;
  readonly ip: LiveIP;
}

/** What a `MigrationWriter` is to do, wherever it writes. */
export const migrationWriterContract = (open: () => Promise<MigrationHarness>): void => {
  /** VirtualIP `vip` of Service `web` with its copy and its IP, all made by the writer. */
  const standing = async (): Promise<Standing> => {
    const harness = await open();
    const { writer } = harness;
    const fence = new TestFence();
    await harness.createService('web');
    const status = { state: 'Valid', ip: ADDRESS, service: 'web' };
    const ref = await harness.createVirtualIP('vip', status, [IP_FINALIZER, CLONE_FINALIZER]);
    await writer.reserve(ADDRESS, 'keepalived-2', ref, fence);
    const spec = { ...SPEC, type: 'ClusterIP', externalIPs: [ADDRESS] };
    await writer.createClone({ ...CLONE, labels: { l: 'l1' }, annotations: {}, owner: ref, spec }, fence);
    const vip = present(await writer.virtualIP(ref));
    const [web, clone, ip] = [await writer.service(WEB), await writer.service(CLONE), await writer.ip(ADDRESS)];
    return { harness, writer, fence: new TestFence(), ref, vip, web: present(web), clone: present(clone), ip: present(ip) };
  };

  const WRITES: Readonly<Record<string, (from: Standing) => Promise<unknown>>> = {
    report: ({ writer, vip, fence }) => writer.report(vip, { state: 'Migrated' }, fence),
    reassociate: ({ writer, ip, fence }) => writer.reassociate(ip, 'g', WEB, fence),
    free: ({ writer, ip, fence }) => writer.free(ip, fence),
    syncClone: ({ writer, clone, fence }) => writer.syncClone(clone, { labels: { x: 'y' }, annotations: {}, spec: {} }, fence),
    deleteClone: ({ writer, clone, fence }) => writer.deleteClone(clone, fence),
    mark: ({ writer, web, fence }) => writer.mark(web, 'vip', fence),
    convert: ({ writer, web, fence }) => writer.convert(web, ADDRESS, fence),
    setIngress: ({ writer, web, fence }) => writer.setIngress(web, ADDRESS, fence),
  };

  describe('the writer of VirtualIPs', () => {
    test('reads back what it wrote', async () => {
      const { vip, clone, ip, writer, web } = await standing();
      expect(vip).toMatchObject({ asked: false, deleting: false, finalizers: [IP_FINALIZER, CLONE_FINALIZER], service: 'web' });
      expect(ip).toMatchObject({
        address: ADDRESS,
        owner: { namespace: 'default', name: 'vip' },
        legacy: true,
        gsm: 'keepalived-2',
        group: null,
      });
      expect(clone).toMatchObject({ labels: { l: 'l1' }, owners: [{ kind: 'VirtualIP', name: 'vip' }], ingress: [] });
      expect(clone.spec).toMatchObject({ type: 'ClusterIP', externalIPs: [ADDRESS], selector: { app: 'web' } });
      expect([web.spec.type, web.spec.loadBalancerIP]).toEqual(['LoadBalancer', undefined]);
      expect((await writer.virtualIPs())?.map(({ ref }) => ref)).toEqual([vip.ref]);
      expect((await writer.ips()).map(({ name }) => name)).toEqual([ADDRESS]);
      expect([await writer.virtualIP({ ...vip.ref, uid: 'another' }), await writer.service({ ...WEB, name: 'none' })]).toEqual([
        null,
        null,
      ]);
    });

    test('reads groups and mappings as they are', async () => {
      const harness = await open();
      await harness.setGroup('g', SEGMENT);
      await harness.setMapping('keepalived-2', SEGMENT);
      expect(await harness.writer.groups()).toMatchObject([{ name: 'g', spec: SEGMENT }]);
      expect(await harness.writer.mappings()).toMatchObject([{ name: 'keepalived-2', spec: SEGMENT }]);
    });

    test.each(Object.entries(WRITES))(
      'by %s is refused once somebody else has written, and does it on what stands then',
      async (_, write) => {
        const from = await standing();
        const { harness, writer } = from;
        await harness.touch('VirtualIP', 'vip');
        for (const name of ['web', CLONE.name]) await harness.touch('Service', name);
        await harness.touch('IP', ADDRESS);
        expect(await kindOf(write(from))).toBe('Unavailable');
        const vip = present(await writer.virtualIP(from.ref));
        const [web, clone, ip] = [await writer.service(WEB), await writer.service(CLONE), await writer.ip(ADDRESS)];
        expect([vip.status.state, web?.ingress, web?.annotations[MIGRATING_ANNOTATION], clone?.labels.x, ip?.legacy]).toEqual([
          'Valid',
          [],
          undefined,
          undefined,
          true,
        ]);
        expect(await kindOf(write({ ...from, vip, web: present(web), clone: present(clone), ip: present(ip) }))).toBe('done');
      },
    );

    test.each(Object.entries(WRITES))('by %s is sent only by who may still act', async (_, write) => {
      const from = await standing();
      from.fence.closed = new Fenced('another leads');
      await expect(write(from)).rejects.toBe(from.fence.closed);
      expect(from.fence.reads).toBe(1);
    });

    test('sends nothing where all stands as it is to be', async () => {
      const { writer, vip, web, clone, fence } = await standing();
      expect(await writer.hold(vip, 'ip', fence)).toEqual(vip);
      await writer.report(vip, { state: 'Valid' }, fence);
      await writer.mark(web, null, fence);
      await writer.settle(web, false, fence);
      await writer.syncClone(clone, { labels: clone.labels, annotations: {}, spec: {} }, fence);
      expect(fence.asserted).toBe(0);
    });

    test('converts a Service in one write, gives it its ingress, and settles it', async () => {
      const { writer, web, fence, harness } = await standing();
      await writer.mark(web, 'vip', fence);
      await writer.convert(present(await writer.service(WEB)), ADDRESS, fence);
      const converted = present(await writer.service(WEB));
      expect(converted.spec).toMatchObject({ type: 'LoadBalancer', loadBalancerIP: ADDRESS });
      const assigned = await writer.setIngress(converted, ADDRESS, fence);
      expect(assigned.ingress).toEqual([{ ip: ADDRESS }]);
      await writer.settle(assigned, true, fence);
      const pinned = present(await writer.service(WEB));
      expect([pinned.spec.loadBalancerIP, pinned.annotations[MIGRATING_ANNOTATION]]).toEqual([ADDRESS, undefined]);
      await writer.settle(pinned, false, fence);
      const settled = present(await writer.service(WEB));
      expect([settled.spec.loadBalancerIP, settled.ingress]).toEqual([undefined, [{ ip: ADDRESS }]]);
      await harness.annotate('vip');
      expect((await writer.virtualIPs())?.[0]?.asked).toBe(true);
    });

    test('takes finalizers off one by one, and the VirtualIP that is deleted goes with the last', async () => {
      const { writer, vip, ref, fence, harness } = await standing();
      await harness.remove('VirtualIP', 'vip');
      expect(await writer.virtualIP(ref)).toMatchObject({ deleting: true });
      await writer.letGo(ref, 'clone', fence);
      expect((await writer.virtualIP(ref))?.finalizers).toEqual([IP_FINALIZER]);
      expect(await kindOf(writer.hold(present(await writer.virtualIP(ref)), 'clone', fence))).toBe('Conflict');
      await writer.letGo(ref, 'ip', fence);
      expect(await writer.virtualIP(ref)).toBeNull();
      expect([await kindOf(writer.letGo(ref, 'ip', fence)), await kindOf(writer.report(vip, { state: 'x' }, fence))]).toEqual([
        'NotFound',
        'NotFound',
      ]);
    });

    test('of what is gone counts as done where it was to go, and is refused as Conflict for what is there', async () => {
      const { writer, clone, ip, ref, fence, harness } = await standing();
      expect(await kindOf(writer.reserve(ADDRESS, 'keepalived-2', ref, fence))).toBe('Conflict');
      const manifest = { ...CLONE, labels: {}, annotations: {}, owner: ref, spec: { ...SPEC, type: 'ClusterIP' } };
      expect(await kindOf(writer.createClone(manifest, fence))).toBe('Conflict');
      await harness.remove('Service', CLONE.name);
      await harness.remove('IP', ADDRESS);
      expect([await kindOf(writer.deleteClone(clone, fence)), await kindOf(writer.free(ip, fence))]).toEqual(['done', 'done']);
    });

    test('makes an IP the Service’s, of the group, and of no mapping any more', async () => {
      const { writer, ip, fence } = await standing();
      await writer.reassociate(ip, 'g', WEB, fence);
      const owner = { namespace: 'default', name: 'web', uid: null };
      expect(await writer.ip(ADDRESS)).toMatchObject({ uid: ip.uid, owner, group: 'g', legacy: false });
      expect((await writer.ip(ADDRESS))?.gsm).toBe('');
    });
  });
};
