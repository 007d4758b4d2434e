import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type KubernetesSimulator, startKubernetes } from '../../simulator/kubernetes/server.ts';
import { type KubeObject, objectsInText, pathOf, type Server } from '../support/kube-apply.ts';
import { blocksOf } from '../support/markdown.ts';

const ROOT = join(import.meta.dirname, '../..');
const GROUPS = ['flipop.digitalocean.com', 'routedip.io', 'paas.org'];

/** What the pages tell readers to write of our own kinds. */
const manifests = ['README.md', ...globSync('docs/*.md', { cwd: ROOT })].flatMap((page) =>
  blocksOf(readFileSync(join(ROOT, page), 'utf8'), 'yaml')
    .flatMap(objectsInText)
    .filter(({ apiVersion }) => GROUPS.some((group) => apiVersion?.startsWith(`${group}/`)))
    .map((object) => ({ page, object })),
);

let simulator: KubernetesSimulator;

beforeAll(async () => {
  simulator = await startKubernetes({ crds: globSync('crds/{,legacy/}*.yaml', { cwd: ROOT }).map((path) => join(ROOT, path)) });
});

afterAll(() => simulator?.close());

const send: Server['send'] = async (path, { method = 'GET', body } = {}) => {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(simulator.url + path, { method, headers: { 'content-type': 'application/json' }, ...sent });
  return { status: response.status, body: await response.json() };
};

/** Creates it without keeping it; a field that the definition does not have is an error. */
async function dryRun(object: KubeObject): Promise<{ readonly status: number; readonly message: string }> {
  const path = `${dirname(await pathOf({ send }, object))}?dryRun=All&fieldValidation=Strict`;
  const { status, body } = await send(path, { method: 'POST', body: object });
  return { status, message: body.message ?? '' };
}

describe('a manifest in the documentation', () => {
  test('is there for each kind that people write', () => {
    const kinds = new Set(manifests.map(({ object }) => object.kind));
    expect([...kinds]).toEqual(
      expect.arrayContaining(['FloatingIPPool', 'NodeDNSRecordSet', 'RoutedIP', 'ClusterRoutedIPClass', 'IPGroup']),
    );
  });

  test.each(manifests.map(({ page, object }) => [`${object.kind} ${object.metadata.name} of ${page}`, object] as const))(
    'is accepted as it stands: %s',
    async (_, object) => expect(await dryRun(object)).toEqual({ status: 201, message: '' }),
  );

  test('would be refused with a field that its definition does not have', async () => {
    const object = { apiVersion: 'paas.org/v1', kind: 'IPGroup', metadata: { name: 'a' }, spec: { segment: '192.0.2.0/24', gateway: 'x' } };
    expect(await dryRun(object)).toEqual({ status: 400, message: expect.stringContaining('gateway') });
  });
});
