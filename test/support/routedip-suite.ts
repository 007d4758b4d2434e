import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { DEFAULTS } from '../../crds/generated/clusterroutedipclass.ts';
import { DEFAULTS as ISSUER_DEFAULTS } from '../../crds/generated/routedipissuer.ts';
import { apply, createNamespace, type KubeObject, objectsIn, pathOf, type Server } from './kube-apply.ts';
import type { ApiResponse } from './kube-client.ts';
import { issuer, job, routedIP, routedIPClass, WRONG } from './routedip-manifests.ts';

const SAMPLES = join(import.meta.dirname, '../../crds/samples');
const AS_TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';

const named = (name: string, object: KubeObject): KubeObject => ({ ...object, metadata: { name } });

const condition = (type: string): unknown => ({
  type,
  status: 'True',
  reason: 'Assigned',
  message: 'as it should be',
  observedGeneration: 1,
  lastTransitionTime: '2026-01-02T03:04:05Z',
});

const AT = '2026-01-02T03:04:05.678Z';
const PENDING = { region: 'nyc3', knownAddresses: ['192.0.2.1'], startedAt: AT };

const ROUTED_IP_STATUS = {
  routedIP: '192.0.2.10',
  addressOrigin: 'IPGroup',
  class: { kind: 'ClusterRoutedIPClass', name: 'floating-ip' },
  state: 'FirewallOpening',
  error: 'assign 192.0.2.10: 503',
  electedNode: 'node-b',
  assignedNode: 'node-a',
  providerID: 'digitalocean://1',
  previousNode: 'node-c',
  previousNodes: ['node-c', 'node-d'],
  firewall: 'ingress',
  ports: [
    { port: 53, protocol: 'TCP' },
    { port: 53, protocol: 'UDP' },
  ],
  ownedRules: [
    { firewall: 'ingress', ports: [{ port: 53, protocol: 'UDP' }], nodes: ['digitalocean://1', 'digitalocean://2'] },
    { firewall: 'older', ports: [], nodes: ['digitalocean://1'] },
  ],
  epoch: 7,
  unconfirmed: true,
  attempts: 3,
  coolOffUntil: AT,
  inDoubt: true,
  notReadySince: AT,
  graceUntil: AT,
  lastAssignmentTime: AT,
  pendingCreate: { ...PENDING, provider: 'job.http' },
  observedGeneration: 1,
  term: 12,
  conditions: ['Ready', 'Progressing', 'Degraded', 'FirewallReady'].map(condition),
};

const CLASS_STATUS = {
  routedIPs: [
    { namespace: 'a', name: 'ingress' },
    { namespace: 'b', name: 'ingress' },
  ],
  error: 'secret a/b is not there',
  observedGeneration: 2,
  lastAssignmentTime: AT,
  term: 12,
  pendingCreate: { ...PENDING, routedIP: { namespace: 'a', name: 'ingress' } },
  conditions: ['Ready', 'InvalidSpec'].map(condition),
};

/** What the definitions of RoutedIP, RoutedIPIssuer and ClusterRoutedIPClass promise, held against a server that serves them; `running` is called once tests run. */
export const describeRoutedIPKinds = (running: () => Server): void => {
  let server: Server;

  const read = async (object: KubeObject): Promise<ApiResponse> => server.send(await pathOf(server, object));
  const writeStatus = async (object: KubeObject, status: unknown): Promise<ApiResponse> =>
    server.send(`${await pathOf(server, object)}/status`, { method: 'PATCH', body: { status } });
  const table = async (object: KubeObject): Promise<ApiResponse['body']> =>
    (await server.send(dirname(await pathOf(server, object)), { accept: AS_TABLE })).body;

  beforeAll(() => {
    server = running();
  });

  describe('a sample', () => {
    const files = readdirSync(SAMPLES).filter((file) => file.startsWith('routedip'));

    test('of a class, an issuer, an IPGroup and Jobs is there', () =>
      expect(files).toEqual(['routedip-class.yaml', 'routedip-digitalocean.yaml', 'routedip-ipgroup.yaml', 'routedip-jobs.yaml']));

    test.each(files)('%s is accepted whole and keeps every field', async (file) => {
      const namespace = await createNamespace(server, `sample-${file.replace('.yaml', '')}`);
      const objects = objectsIn(join(SAMPLES, file));
      expect(objects.map(({ kind }) => kind)).toContain('RoutedIP');
      for (const object of objects) {
        expect((await apply(server, object, namespace)).status).toBe(201);
        expect((await server.send(await pathOf(server, object, namespace))).body).toMatchObject(JSON.parse(JSON.stringify(object)));
      }
    });
  });

  describe.each(Object.entries(WRONG))('a wrong %s', (_kind, manifests) => {
    test.each(manifests)('with $title is refused', async ({ object, schema, rule }) => {
      const { status, body } = await apply(server, object);
      if (schema) expect(body.message).toMatch(schema);
      if (rule) expect(body.message).toContain(rule);
      expect(status).toBe(422);
    });
  });

  describe('a manifest without wishes', () => {
    test('gives a class every default', async () => {
      const { status, body } = await apply(server, named('defaults', routedIPClass()));
      expect(status).toBe(201);
      expect(body.spec).toEqual({ className: 'example.com/a', ...DEFAULTS });
    });

    test('gives an issuer every default', async () => {
      const { status, body } = await apply(server, named('defaults', issuer()));
      expect(status).toBe(201);
      expect(body.spec).toEqual({ issuerClass: 'digitalocean', ...ISSUER_DEFAULTS });
    });

    test('leaves a RoutedIP as it is, by whichever name it calls its class and its Service', async () => {
      const wishes = [
        { routedIP: '255.255.255.255', serviceRef: { name: 'web', namespace: 'other' } },
        { className: undefined, issuerRef: { name: 'a' } },
      ];
      for (const [index, spec] of wishes.entries()) {
        const object = named(`accepted-${index}`, routedIP(spec));
        const { status, body } = await apply(server, object);
        expect(body).toMatchObject({ spec: JSON.parse(JSON.stringify(object.spec)) });
        expect(status).toBe(201);
      }
    });
  });

  test('may have an empty address', async () => {
    expect((await apply(server, named('empty-address', routedIP({ routedIP: '' })))).status).toBe(201);
  });

  test.each(['1-65535', '30000-30000', '30000+0', '30000+35535', '65535+0'])('the range %s is accepted', async (nodePortRange) => {
    const object = routedIPClass({ nodePortRange });
    const { status, body } = await apply(server, object);
    expect(body.spec.nodePortRange).toBe(nodePortRange);
    expect(status).toBe(201);
    await server.send(await pathOf(server, object), { method: 'DELETE' });
  });

  test('ports are accepted with and without their protocol, alone and from one to another', async () => {
    const limits = { allowedPorts: ['22', '443-443', '8000-8999', 'tcp/65535', 'udp/1-65535'], maxPorts: 3 };
    const object = routedIPClass(limits);
    const { status, body } = await apply(server, object);
    expect(body.spec).toMatchObject(limits);
    expect(status).toBe(201);
    await server.send(await pathOf(server, object), { method: 'DELETE' });
  });

  test('a template keeps every field of a JobSpec, also those that are described nowhere', async () => {
    const pod = {
      restartPolicy: 'OnFailure',
      containers: [{ name: 'main', image: 'shell', env: [{ name: 'A', value: 'b' }], resources: { limits: { cpu: '1' } } }],
      initContainers: [{ name: 'first', image: 'shell' }],
    };
    const template = { metadata: { labels: { a: 'b' }, annotations: { c: 'd' } }, spec: pod };
    const spec = { completions: 1, parallelism: 1, suspend: false, backoffLimit: 0, completionMode: 'NonIndexed', template };
    const { status, body } = await apply(server, named('whole-job', routedIPClass({ updateRoutedIP: spec, updateFirewall: job() })));
    expect(status).toBe(201);
    expect(body.spec.updateRoutedIP).toEqual(spec);
    expect(body.spec.updateFirewall).toEqual(job());
  });

  describe('the address of a RoutedIP', () => {
    const bound = named('bound', routedIP({ routedIP: '192.0.2.10' }));
    const created = named('created', routedIP());
    const change = async (object: KubeObject, wish: string | null): Promise<ApiResponse> =>
      server.send(await pathOf(server, object), { method: 'PATCH', body: { spec: { routedIP: wish } } });

    test('may change until one is bound', async () => {
      await apply(server, named('bound', routedIP({ routedIP: '192.0.2.9' })));
      expect((await change(bound, '192.0.2.10')).status).toBe(200);
      expect((await apply(server, created)).status).toBe(201);
      for (const object of [bound, created]) expect((await writeStatus(object, { routedIP: '192.0.2.10' })).status).toBe(200);
    });

    test.each([
      ['changed', bound, '192.0.2.11'],
      ['left out', bound, null],
      ['set', created, '192.0.2.11'],
    ])('is not %s afterwards', async (_, object, wish) => {
      const before = (await read(object)).body;
      expect(before.status.routedIP).toBe('192.0.2.10');
      const { status, body } = await change(object, wish);
      expect(status).toBe(422);
      expect(body.message).toContain('spec.routedIP cannot change once an address is bound');
    });

    test('does not keep other fields from changing', async () => {
      const path = await pathOf(server, bound);
      const body = { metadata: { finalizers: ['routedip.io/finalizer'] }, spec: { serviceRef: { serviceName: 'other' } } };
      expect((await server.send(path, { method: 'PATCH', body })).status).toBe(200);
      expect((await writeStatus(bound, { routedIP: '192.0.2.12', state: 'Stable' })).status).toBe(200);
      expect((await server.send(path, { method: 'PATCH', body: { metadata: { finalizers: null } } })).status).toBe(200);
    });
  });

  test('the className of a class does not change', async () => {
    const object = named('steady', routedIPClass());
    expect((await apply(server, object)).status).toBe(201);
    const { status, body } = await apply(server, named('steady', routedIPClass({ className: 'example.com/b' })));
    expect(status).toBe(422);
    expect(body.message).toContain('className cannot change; create another ClusterRoutedIPClass');
    const other = { method: 'PATCH', body: { spec: { region: 'nyc3' } } } as const;
    expect((await server.send(await pathOf(server, object), other)).status).toBe(200);
  });

  describe('the status', () => {
    const kinds = [
      named('status', routedIP()),
      named('status', issuer({ region: 'nyc3', routedIPFirewallName: 'ingress' })),
      named('status', routedIPClass({ region: 'nyc3', routedIPFirewallName: 'ingress' })),
    ];
    beforeAll(async () => {
      for (const object of kinds) expect((await apply(server, object)).status).toBe(201);
    });

    test.each(kinds.map((object) => [object.kind, object, object.kind === 'RoutedIP' ? ROUTED_IP_STATUS : CLASS_STATUS] as const))(
      'of a %s keeps all that a rebuild needs',
      async (_kind, object, status) => {
        expect((await writeStatus(object, status)).status).toBe(200);
        expect((await read(object)).body.status).toEqual(status);
      },
    );

    test.each([
      ['a state that does not exist', { state: 'Lost' }, 'status.state: Unsupported value'],
      ['an origin that does not exist', { addressOrigin: 'Stolen' }, 'status.addressOrigin: Unsupported value'],
      ['an address that is none', { routedIP: '1.2.3' }, 'status.routedIP'],
      ['a port out of range', { ports: [{ port: 65536, protocol: 'TCP' }] }, 'should be less than or equal to 65535'],
    ])('of a RoutedIP is refused with %s', async (_title, status, message) => {
      const answer = await writeStatus(named('status', routedIP()), status);
      expect(answer.body.message).toContain(message);
      expect(answer.status).toBe(422);
    });
  });

  describe('the table', () => {
    const row = async (object: KubeObject): Promise<Readonly<Record<string, unknown>>> => {
      expect((await apply(server, object)).status).toBeLessThan(300);
      await writeStatus(object, object.kind === 'RoutedIP' ? ROUTED_IP_STATUS : CLASS_STATUS);
      const { columnDefinitions, rows } = await table(object);
      const found = rows.find(({ object: { metadata } }: { object: KubeObject }) => metadata.name === object.metadata.name);
      const cells = columnDefinitions.map(({ name, priority }: { name: string; priority: number }, index: number) => [
        priority > 0 ? `${name} (wide)` : name,
        found.cells[index],
      ]);
      return Object.fromEntries(cells);
    };

    test.each([[{ serviceName: 'web' }], [{ name: 'web' }]])(
      'of RoutedIPs shows class, address, node, state and the Service of %o',
      async (ref) => {
        const cells = await row(named(`row-${Object.keys(ref)[0]?.toLowerCase()}`, routedIP({ serviceRef: ref })));
        expect(cells).toMatchObject({ Class: 'floating-ip', IP: '192.0.2.10', Node: 'node-a', State: 'FirewallOpening', Service: 'web' });
        expect(cells).toMatchObject({ 'Elected (wide)': 'node-b', 'Firewall (wide)': 'ingress', Ready: 'True', Reason: 'Assigned' });
        expect(Object.keys(cells).filter((name) => !name.includes('wide'))).toEqual([
          'Name',
          'Class',
          'IP',
          'Node',
          'Ready',
          'State',
          'Reason',
          'Service',
          'Age',
        ]);
      },
    );

    const common = { Firewall: 'ingress', Reclaim: 'Retain', Ready: 'True', 'Region (wide)': 'nyc3', 'Limit (wide)': 1 };

    test('of issuers and classes shows what they are for and whether they are ready', async () => {
      const wishes = { region: 'nyc3', routedIPFirewallName: 'ingress' };
      expect(await row(named('row', issuer(wishes)))).toMatchObject({ Provider: 'digitalocean', ...common });
      expect(await row(named('row', routedIPClass(wishes)))).toMatchObject({ Class: 'example.com/a', ...common });
    });
  });
};
