import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const ROOT = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const page = read('docs/support.md');

/** The version that a go.mod pins of a module. */
const pinned = (folder: string, module: string): string => {
  const found = new RegExp(`${RegExp.escape(module)} v(\\S+)`).exec(read(`tools/${folder}/go.mod`))?.[1];
  if (found === undefined) throw new Error(`tools/${folder}/go.mod does not pin ${module}`);
  return found;
};

/** The row that begins with this cell. */
const row = (text: string, first: string): string =>
  text.split('\n').find((line) => line.startsWith(`| ${first} |`)) ?? `there is no row for ${first}`;
const minor = (version: string): string => version.split('.').slice(0, 2).join('.');

/** What does not stand on the page although a suite is pinned to it, as sentences. */
const wrongs = (text: string): readonly string[] => {
  const kubernetes = pinned('kubernetes', 'k8s.io/kubernetes');
  const helm = pinned('checks', 'helm.sh/helm/v3');
  const { engines, devDependencies } = JSON.parse(read('package.json')) as {
    readonly engines: { readonly node: string };
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  const described = JSON.parse(read('test/simulator/generated/digitalocean.json')) as {
    readonly repository: string;
    readonly commit: string;
  };
  const chart = parse(read('deploy/chart/Chart.yaml')) as { readonly kubeVersion: string };
  const image = /image: docker\.io\/library\/redis:([\d.]+)/.exec(read('deploy/redis.yaml'))?.[1] ?? '';
  const oldest = /OLDEST = \[(\d+), (\d+)\]/.exec(read('tools/redis-find.mjs'))?.slice(1).join('.') ?? '';
  const oldestKubernetes = minor(chart.kubeVersion.replace('>=', ''));
  const told: readonly (readonly [first: string, ...words: readonly string[]])[] = [
    [
      minor(kubernetes),
      `kube-apiserver ${kubernetes} `,
      `containerd ${pinned('kubernetes/containerd', 'github.com/containerd/containerd/v2')} `,
      `CoreDNS ${pinned('kubernetes/coredns', 'github.com/coredns/coredns')} `,
    ],
    [`${oldestKubernetes} to 1.${Number(kubernetes.split('.')[1]) - 1}`, `newer than ${oldestKubernetes}`],
    [`Redis ${image}`, 'the image that is installed'],
    [`Redis ${oldest}`, 'the oldest one'],
    [`before ${oldest}`, `came with ${oldest}`],
    [`Node.js ${engines.node.replace('>=', '')}`, 'needed'],
    ['kubectl 1.21 or newer', `${kubernetes} in`],
    ['Helm 3', `${helm}: lint`],
    ['Prometheus', `of ${pinned('checks', 'github.com/prometheus/prometheus')},`],
    ['Flux, and others that wait by kstatus', `cli-utils ${pinned('health', 'sigs.k8s.io/cli-utils')};`],
    [`DigitalOcean's OpenAPI description, commit ${described.commit.slice(0, 10)} of ${described.repository}`, 'by the schemas'],
    [`DigitalOcean's client in TypeScript, \`@digitalocean/dots\` ${devDependencies['@digitalocean/dots']}`, 'reads every answer'],
    [`DigitalOcean's client in Go, \`godo\` ${pinned('godo', 'github.com/digitalocean/godo')}`, 'reads every answer'],
    [`Cloudflare's client in TypeScript, \`cloudflare\` ${devDependencies.cloudflare}`, 'reads every answer'],
    ['Argo CD', `gopher-lua ${pinned('health', 'github.com/yuin/gopher-lua')},`],
  ];
  return told.flatMap(([first, ...words]) =>
    words.flatMap((each) => (row(text, first).includes(each) ? [] : [`${row(text, first)}: ${each}`])),
  );
};

describe('docs/support.md', () => {
  test('names the versions that the suites are pinned to', () => expect(wrongs(page)).toEqual([]));

  test.each([
    ['1.36.3 (`npm', '1.36.2 (`npm'],
    ['| 1.36 |', '| 1.35 |'],
    ['1.21 to 1.35', '1.21 to 1.34'],
    ['containerd 2.4', 'containerd 2.3'],
    ['CoreDNS 1.15', 'CoreDNS 1.14'],
    ['| Redis 7.2 |', '| Redis 7.4 |'],
    ['| Redis 6.2 |', '| Redis 6.0 |'],
    ['| Node.js 24.5 |', '| Node.js 22 |'],
    ['3.22.0: lint', '3.21.0: lint'],
    ['`promtool` of 0.316', '`promtool` of 0.315'],
    ['commit 7c1300c479', 'commit 7c1300c478'],
    ['`@digitalocean/dots` 1.19', '`@digitalocean/dots` 1.18'],
    ['`godo` 1.240', '`godo` 1.239'],
    ['`cloudflare` 7.3', '`cloudflare` 7.2'],
  ])('would be found wrong with %s as %s', (from, to) => {
    expect(page).toContain(from);
    expect(wrongs(page.replace(from, to)).length).toBeGreaterThan(0);
  });

  test('has servers tried by the command that the workflow runs', () => {
    const tried = /npm test -- (test\/.*)$/m;
    const [, command = ''] = tried.exec(page) ?? [];
    expect(read('.github/workflows/servers.yaml')).toContain(`run: npm test -- ${command}\n`);
    for (const path of command.split(' '))
      expect([path, globSync(`${path}{,*,/*}.test.ts`, { cwd: ROOT }).length > 0]).toEqual([path, true]);
  });

  test('names suites that there are', () => {
    const { scripts } = JSON.parse(read('package.json')) as { readonly scripts: object };
    const named = [...page.matchAll(/`npm run ([\w:]+)`/g)].map(([, name = '']) => name);
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });

  test('lists each provider that there is, with what it can do', () => {
    const providers = [
      ...read('composition/providers.ts').matchAll(/^ {2}(\w+): \{\n {4}facts: \{ addresses: (\w+), dns: (\w+), ipv6: (\w+)/gm),
    ];
    expect(providers.map(([, name]) => name)).toEqual(['digitalocean', 'cloudflare']);
    const yes = (cell: string | undefined): string => String(cell !== 'no');
    for (const [, name = '', addresses, dns, ipv6] of providers) {
      const line = page.split('\n').find((each) => each.toLowerCase().startsWith(`| ${name} |`)) ?? '';
      const [, , listed, six, , names] = line.split('|').map((cell) => cell.trim());
      expect([name, yes(listed), yes(names), yes(six)]).toEqual([name, addresses, dns, ipv6]);
    }
  });
});
