import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { CREATED, PLATFORM_TOKEN, type SamplePlatform, startPlatform } from '../support/sample-platform.ts';

const SAMPLE = join(import.meta.dirname, '../../crds/samples/routedip-jobs.yaml');
const ADDRESS = CREATED;

/** The script as the sample's ConfigMap holds it, which is what a Job of the class runs. */
const script = (): string => {
  const maps = parseAllDocuments(readFileSync(SAMPLE, 'utf8'))
    .map((document) => document.toJS())
    .filter(({ kind }) => kind === 'ConfigMap');
  expect(maps).toHaveLength(1);
  return maps[0].data['platform.sh'];
};

test('the sample gives the operator the rights that it needs where its Jobs run', () => {
  const read = (path: string) => parseAllDocuments(readFileSync(path, 'utf8')).map((document) => document.toJS());
  const sample = read(SAMPLE);
  const { jobNamespace } = sample.find(({ kind }) => kind === 'ClusterRoutedIPClass').spec;
  const roles = read(join(import.meta.dirname, '../../deploy/rbac.yaml'));
  const bindings = sample.filter(({ kind }) => kind === 'RoleBinding');
  expect(bindings.map(({ roleRef }) => roleRef.name).sort()).toEqual(['routedip-operator-jobs', 'routedip-operator-secrets']);
  for (const { metadata, roleRef, subjects } of bindings) {
    expect(metadata.namespace).toBe(jobNamespace);
    const shipped = roles.find((each) => each.kind === 'RoleBinding' && each.metadata.name === roleRef.name);
    expect({ roleRef, subjects }).toEqual({ roleRef: shipped.roleRef, subjects: shipped.subjects });
  }
});

interface Outcome {
  readonly code: number;
  /** The termination message; null when there was none. */
  readonly message: unknown;
}

let platform: SamplePlatform;
let folder: string;

beforeEach(async () => {
  platform = await startPlatform();
  folder = mkdtempSync(join(tmpdir(), 'job-sample-'));
});

afterEach(() => {
  platform.close();
  rmSync(folder, { recursive: true, force: true });
});

/** What a Job's container does with this request: the same script, its termination message in a file of the test's own. */
const run = (action: string, more: Readonly<Record<string, string>> = {}): Promise<Outcome> => {
  const log = join(folder, 'termination-log');
  const text = script();
  expect(text).toContain('/dev/termination-log');
  const env = {
    PATH: process.env.PATH ?? '',
    TMPDIR: folder,
    API_URL: platform.url,
    API_TOKEN: PLATFORM_TOKEN,
    PROVIDER_ID_PREFIX: 'example://',
    ROUTEDIP_CONTRACT: '1',
    ROUTEDIP_ACTION: action,
    ROUTEDIP_UID: 'uid-1',
    ROUTEDIP_REGION: 'here',
    ROUTEDIP_FIREWALL: 'ingress',
    ROUTEDIP_FIREWALL_MAP_FILE: join(folder, 'request.json'),
    ...more,
  };
  return new Promise((resolve, reject) => {
    execFile('sh', ['-c', text.replaceAll('/dev/termination-log', log)], { env, timeout: 10_000 }, (error, _stdout, stderr) => {
      if (error && typeof error.code !== 'number')
        return reject(new Error(`the script did not end by itself: ${stderr}`, { cause: error }));
      const message = existsSync(log) ? JSON.parse(readFileSync(log, 'utf8')) : null;
      resolve({ code: Number(error?.code ?? 0), message });
    });
  });
};

const TO_NODE = { ROUTEDIP_ADDRESS: ADDRESS, ROUTEDIP_NODE: 'a', ROUTEDIP_NODE_INSTANCE_ID: '7', ROUTEDIP_NODE_PROVIDER_ID: 'example://7' };

describe('a Job of the sample class that is to move addresses', () => {
  test('makes one address, however often it is asked', async () => {
    const created = { code: 0, message: { address: ADDRESS, message: '' } };
    expect(await run('create')).toEqual(created);
    expect(await run('create')).toEqual(created);
    expect([...platform.addresses.keys()]).toEqual([ADDRESS]);
  });

  test('says where an address is, and that it is nowhere', async () => {
    platform.addresses.set(ADDRESS, { server: null });
    expect(await run('find', { ROUTEDIP_ADDRESS: ADDRESS })).toEqual({ code: 0, message: { address: ADDRESS, message: '' } });
    platform.addresses.set(ADDRESS, { server: '9' });
    const found = await run('find', { ROUTEDIP_ADDRESS: ADDRESS });
    expect(found).toEqual({ code: 0, message: { address: ADDRESS, providerID: 'example://9', message: '' } });
  });

  test('says which address was made for the RoutedIP, and that none was, when it is told of none', async () => {
    expect(await run('find')).toEqual({ code: 0, message: { address: '' } });
    await run('create');
    expect(await run('find')).toEqual({ code: 0, message: { address: ADDRESS, message: '' } });
  });

  test('assigns an address and looks whether it is there', async () => {
    platform.addresses.set(ADDRESS, { server: '9' });
    const done = await run('assign', TO_NODE);
    expect(done).toEqual({ code: 0, message: { address: ADDRESS, providerID: 'example://7', message: '' } });
    expect(platform.addresses.get(ADDRESS)?.server).toBe('7');
    expect(platform.calls).toEqual([`PUT /addresses/${ADDRESS}`, `GET /addresses/${ADDRESS}`]);
  });

  test('deletes an address, and takes one that is gone for deleted', async () => {
    platform.addresses.set(ADDRESS, { server: null });
    for (let round = 0; round < 2; round++) expect((await run('delete', { ROUTEDIP_ADDRESS: ADDRESS })).code).toBe(0);
    expect(platform.addresses.size).toBe(0);
    expect(platform.calls).toHaveLength(2);
  });

  test.each([
    ['find', {}],
    ['assign', TO_NODE],
  ])('does not try again to %s an address that does not exist', async (action, more) => {
    const { code, message } = await run(action, { ROUTEDIP_ADDRESS: ADDRESS, ...more });
    expect(code).toBe(65);
    expect(message).toMatchObject({ message: `there is no address ${ADDRESS}` });
  });
});

describe('a Job of the sample class that is refused', () => {
  test.each([
    [503, 75],
    [429, 75],
    [409, 75],
    [422, 65],
    [403, 77],
  ])('with %i ends with %i and says which call it was', async (refuse, code) => {
    platform.refuse = refuse;
    const outcome = await run('assign', TO_NODE);
    expect(outcome).toEqual({ code, message: { address: ADDRESS, message: `PUT /addresses/${ADDRESS}: ${refuse}` } });
  });

  test('for its token ends with 77', async () => expect((await run('create', { API_TOKEN: 'other' })).code).toBe(77));

  test('by nobody, since nobody answers, ends with 75', async () => {
    expect((await run('create', { API_URL: 'http://127.0.0.1:1' })).code).toBe(75);
  });

  test('a contract or an action that it does not know ends it with 65', async () => {
    expect((await run('find', { ROUTEDIP_CONTRACT: '2' })).code).toBe(65);
    expect((await run('reboot')).code).toBe(65);
    expect(platform.calls).toEqual([]);
  });
});

describe('a Job of the sample class that is to work on the firewall', () => {
  const node = (id: string): unknown => ({ name: `node-${id}`, providerID: `example://${id}`, instanceID: id });
  const request = (ports: readonly unknown[], owned: unknown = []): void =>
    writeFileSync(join(folder, 'request.json'), JSON.stringify({ ports, addOnly: false, owned }));
  const http = { port: 80, protocol: 'TCP', nodes: [node('7'), node('8')] };
  const dns = { port: 53, protocol: 'UDP', nodes: [node('7')] };

  test('opens what is wanted and removes nothing', async () => {
    platform.rules.set('routedip-tcp-443-7', {});
    request([http, dns]);
    expect(await run('open')).toEqual({ code: 0, message: { message: '' } });
    expect([...platform.rules.keys()].sort()).toEqual([
      'routedip-tcp-443-7',
      'routedip-tcp-80-7',
      'routedip-tcp-80-8',
      'routedip-udp-53-7',
    ]);
    expect(platform.rules.get('routedip-udp-53-7')).toEqual({ protocol: 'udp', port: 53, server: '7' });
  });

  test('removes what is not wanted any more, and never what is not its own', async () => {
    for (const rule of ['routedip-tcp-80-7', 'routedip-tcp-80-8', 'routedip-udp-53-7', 'tcp-22-7']) platform.rules.set(rule, {});
    request([{ ...http, nodes: [node('8')] }], [{ ...dns, nodes: [node('7')] }]);
    expect((await run('prune')).code).toBe(0);
    expect([...platform.rules.keys()].sort()).toEqual(['routedip-tcp-80-8', 'tcp-22-7']);
  });

  test('removes all that is its own when nothing is wanted', async () => {
    for (const rule of ['routedip-tcp-80-7', 'tcp-22-7']) platform.rules.set(rule, {});
    request([]);
    expect((await run('prune')).code).toBe(0);
    expect([...platform.rules.keys()]).toEqual(['tcp-22-7']);
  });

  test('touches nothing when the request names no ports', async () => {
    platform.rules.set('routedip-tcp-80-7', {});
    writeFileSync(join(folder, 'request.json'), '{}');
    expect((await run('prune')).code).toBe(65);
    expect(platform.calls).toEqual([]);
  });

  test('does not try again without the firewall', async () => {
    request([http]);
    const { code, message } = await run('open', { ROUTEDIP_FIREWALL: 'other' });
    expect([code, message]).toEqual([65, { message: 'there is no firewall other' }]);
  });
});
