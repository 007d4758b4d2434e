import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { apply, type KubeObject, objectsIn, pathOf, type Server } from './kube-apply.ts';

const SAMPLES = join(import.meta.dirname, '../../crds/samples/vip');
const AS_TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const API = '/apis/paas.org/v1';
const MOST = Number.MAX_SAFE_INTEGER;

const samplesIn = (folder: string): readonly string[] => readdirSync(folder).filter((name) => name.endsWith('.yaml'));

/** Those of the legacy kinds come with a Service of their own. */
const FILES = [...samplesIn(SAMPLES), ...samplesIn(join(SAMPLES, 'legacy')).map((name) => `legacy/${name}`)];

const group = (name: string, spec?: unknown): KubeObject => ({
  apiVersion: 'paas.org/v1',
  kind: 'IPGroup',
  metadata: { name },
  ...(spec === undefined ? {} : { spec }),
});

/** The definitions of the VIP allocator, and of the kinds before it, on a server that has both and the namespace of the samples. */
export const describeVipKinds = (serverOf: () => Server): void => {
  const create = async (object: KubeObject) => {
    const server = serverOf();
    return server.send(dirname(await pathOf(server, object)), { method: 'POST', body: object });
  };

  describe('an IPGroup', () => {
    test.each([
      ['without a spec', undefined],
      ['of a segment that is none', { segment: 'banana', excludedIPs: [] }],
      ['of an address', { segment: '1.1.1.0', excludedIPs: [] }],
      ['of a prefix that is too long', { segment: '1.1.1.0/33', excludedIPs: [] }],
      ['with bits beyond its prefix', { segment: '1.1.1.5/29', excludedIPs: [] }],
      ['of a large segment', { segment: '10.0.0.0/8', excludedIPs: [] }],
      ['of a prefix that ends with 0', { segment: '2001:db8::/100', excludedIPs: [] }],
      ['with exclusions of any text, twice', { segment: '1.1.1.0/29', excludedIPs: ['1.1.1.01', '9.9.9.9', '1.1.1.1', '1.1.1.1'] }],
    ])('%s is accepted, as it always was, and kept as it is', async (which, spec) => {
      const name = which.replaceAll(/\W+/g, '-');
      const { status, body } = await create(group(name, spec));
      expect([status, body.message]).toEqual([201, undefined]);
      expect(body.spec).toEqual(spec);
    });

    test.each([
      ['without excludedIPs', { segment: '1.1.1.0/29' }, 'excludedIPs'],
      ['without a segment', { excludedIPs: [] }, 'segment'],
      ['with a number among its exclusions', { segment: '1.1.1.0/29', excludedIPs: [1] }, 'excludedIPs'],
      ['of all IPv4 addresses', { segment: '0.0.0.0/0', excludedIPs: [] }, 'spec.segment'],
      ['of all IPv6 addresses', { segment: '::/0', excludedIPs: [] }, 'spec.segment'],
      ['of a prefix of some zeros', { segment: '10.0.0.0/00', excludedIPs: [] }, 'spec.segment'],
    ])('%s is refused', async (_which, spec, named) => {
      const { status, body } = await create(group('refused', spec));
      expect(status).toBe(422);
      expect(body.message).toContain(named);
    });

    test('has a name that can be the value of a label', async () => {
      const spec = { segment: '1.1.1.0/29', excludedIPs: [] };
      expect((await create(group('n'.repeat(63), spec))).status).toBe(201);
      const { status, body } = await create(group('n'.repeat(64), spec));
      expect(status).toBe(422);
      expect(body.message).toContain('metadata.name');
    });

    test('has a status of its own, with counts that every program can read', async () => {
      expect((await create(group('counted', { segment: '2001:db8::/64', excludedIPs: [] }))).status).toBe(201);
      const condition = {
        type: 'Ready',
        status: 'True',
        reason: 'Ready',
        message: 'as it should be',
        lastTransitionTime: '2026-01-02T03:04:05Z',
      };
      const status = { capacity: MOST, allocated: 1, available: MOST, observedGeneration: 1, conditions: [condition] };
      const patch = (body: unknown) => serverOf().send(`${API}/ipgroups/counted/status`, { method: 'PATCH', body: { status: body } });
      const patched = await patch({ ...status, unheardOf: 1 });
      expect([patched.body.message, patched.body.status]).toEqual([undefined, status]);
      expect((await patch({ available: -1 })).status).toBe(422);
      expect((await patch({ available: MOST + 1 })).status).toBe(422);
      const spec = await serverOf().send(`${API}/ipgroups/counted`, { method: 'PATCH', body: { status: { allocated: 2 } } });
      expect(spec.body.status).toEqual(status);
      const table = await serverOf().send(`${API}/ipgroups/counted`, { accept: AS_TABLE });
      const [name, segment, , capacity, allocated, available, ready] = table.body.rows[0].cells;
      expect([name, segment, capacity, allocated, available, ready]).toEqual(['counted', '2001:db8::/64', MOST, 1, MOST, 'True']);
    });
  });

  test('an IP has no fields but its metadata', async () => {
    const metadata = { name: '192.0.2.77', labels: { ipgroup: 'a' }, annotations: { 'virtualips.paas.il/owner': 'web/shop' } };
    const { status, body } = await create({ apiVersion: 'paas.org/v1', kind: 'IP', metadata, spec: { foo: 'bar' } } as KubeObject);
    expect(status).toBe(201);
    expect(body.spec).toEqual({});
    const table = await serverOf().send(`${API}/ips/192.0.2.77`, { accept: AS_TABLE });
    expect(table.body.rows[0].cells.slice(0, 3)).toEqual(['192.0.2.77', 'a', 'web/shop']);
  });

  test.each([
    ['ipgroups', ['ipg'], false, ['Name', 'Segment', 'AGE', 'Capacity', 'Allocated', 'Available', 'Ready']],
    ['ips', [], false, ['Name', 'IPGroup', 'Owner', 'AGE']],
    ['virtualips', ['vip'], true, ['Name', 'Service', 'IP', 'State', 'AGE']],
    ['groupsegmentmappings', ['gsm'], false, ['Name', 'Keepalived Group', 'Segment', 'AGE']],
  ])('%s have the names and the columns of before', async (plural, shortNames, namespaced, columns) => {
    const { body } = await serverOf().send(API);
    const found = body.resources.find(({ name }: { name: string }) => name === plural);
    expect([found.shortNames ?? [], found.namespaced]).toEqual([shortNames, namespaced]);
    const table = await serverOf().send(`${API}/${plural}`, { accept: AS_TABLE });
    const shown = table.body.columnDefinitions.filter(({ priority }: { priority: number }) => priority === 0);
    expect(shown.map(({ name }: { name: string }) => name)).toEqual(columns);
  });

  describe('the samples of the VIP allocator', () => {
    test('are there, for both the present kinds and the former ones', () => {
      expect(FILES).toEqual(expect.arrayContaining(['ipgroups.yaml', 'valid-any-ip.yaml', 'legacy/virtualip.yaml']));
    });

    test.each(FILES)('in %s are accepted and keep every field', async (file) => {
      const objects = objectsIn(join(SAMPLES, file));
      expect(objects.length).toBeGreaterThan(0);
      for (const object of objects) {
        const { status, body } = await apply(serverOf(), object);
        const refusal = String(body.message ?? '');
        if (file === 'valid-two-protocols.yaml' && status === 422) expect(refusal).toContain('more than 1 protocol');
        else {
          expect(refusal).toBe('');
          expect(body).toMatchObject(object);
        }
      }
    });
  });
};
