import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { told } from '../../demo/playground/account.ts';
import { imagesOf, manifestsIn } from '../../tools/manifests.ts';
import { findKubectl } from '../support/kubectl.ts';

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = join(ROOT, 'demo/playground');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

interface Rule {
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

interface Container {
  readonly image: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
}

type Shipped = ReturnType<typeof manifestsIn>[number] & {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: { readonly providerID?: string; readonly template?: { readonly spec: { readonly containers: readonly [Container] } } };
  readonly rules?: readonly Rule[];
};

describe('the playground', () => {
  const objects = manifestsIn(
    execFileSync(findKubectl(), ['kustomize', FOLDER], { encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 }),
  ) as readonly Shipped[];
  const named = (kind: string, name: string) => objects.find((object) => object.kind === kind && object.metadata.name === name);
  const nodes = objects.filter(({ kind }) => kind === 'Node');

  test('has Nodes with droplets of their own, all of the pool of docs/getting-started.md', () => {
    expect(nodes.map(({ metadata }) => metadata.name)).toEqual(['play-a', 'play-b', 'play-c']);
    expect(new Set(nodes.map(({ spec }) => spec?.providerID)).size).toBe(3);
    const [, label = ''] = /nodeLabel: (\S+)/.exec(read('docs/getting-started.md')) ?? [];
    const [key = '', value] = label.split('=');
    expect(nodes.map(({ metadata }) => metadata.labels?.[key])).toEqual([value, value, value]);
  });

  test('may write the status of these Nodes alone', () => {
    const { rules = [] } = named('ClusterRole', 'routedip-operator-playground') ?? {};
    const written = rules.filter(({ verbs }) => verbs.some((verb) => !['get', 'list', 'watch'].includes(verb)));
    expect(written.map(({ resources, resourceNames }) => [resources, resourceNames])).toEqual([
      [['nodes/status'], nodes.map(({ metadata }) => metadata.name)],
    ]);
  });

  test('is what the operator calls, with dashboards and journal', () => {
    const operator = named('Deployment', 'routedip-operator')?.spec?.template?.spec.containers[0];
    const url = operator?.env?.find(({ name }) => name === 'DIGITALOCEAN_API_URL')?.value ?? '';
    expect(named('Service', new URL(url).hostname)).toBeDefined();
    expect(operator?.args).toEqual(expect.arrayContaining(['--dashboard-bind-addr=:8081', '--journal-bind-addr=:8084']));
  });

  test('runs images that the page builds', () => {
    const built = [...read('docs/getting-started.md').matchAll(/^docker build -t (\S+)/gm)].map(([, name]) => name);
    expect(imagesOf(objects).filter((image) => !image.includes('/'))).toEqual([...built].sort());
  });

  test.each([
    ['/v2/reserved_ips/203.0.113.1/actions', { type: 'assign', droplet_id: 101 }, 'assign 203.0.113.1 to play-a: 201'],
    ['/v2/reserved_ips/203.0.113.1/actions', { type: 'unassign' }, 'unassign 203.0.113.1: 201'],
    ['/v2/reserved_ips', { region: 'nyc3' }, 'create an address in nyc3: 201'],
    ['/v2/domains', { name: 'example.com' }, 'POST /v2/domains: 201'],
  ])('tells of %s %j', (path, body, line) => {
    const nameOf = (droplet: number) => (droplet === 101 ? 'play-a' : 'nobody');
    const call = { n: 1, at: 0, method: 'POST', path, body, tokenHash: '', status: 201, outcome: null, latencyMs: null, faults: [] };
    expect(told(call, { nameOf })).toBe(line);
  });
});
