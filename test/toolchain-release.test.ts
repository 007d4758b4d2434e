import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { connectionOf, kubeClient } from '../simulator/kubernetes/client.ts';
import { startKubernetes } from '../simulator/kubernetes/server.ts';
import { build, publicationOf } from '../tools/release.ts';
import { changesIn, sectionOf } from '../tools/release-notes.ts';
import { krewManifest } from '../tools/release-plugin.ts';
import { disagreements, releaseProblems, saidVersions } from '../tools/release-versions.ts';

const ROOT = join(import.meta.dirname, '..');
const { version: VERSION } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string };
const TAG = `v${VERSION}`;

const temporary = (): string => mkdtempSync(join(tmpdir(), 'release-'));

describe('the version', () => {
  test('is the same wherever it stands', () => {
    const said = saidVersions(ROOT);
    const places = said.map(({ where }) => where);
    expect(places).toEqual(
      expect.arrayContaining([
        'package-lock.json',
        'appVersion in deploy/chart/Chart.yaml',
        'deploy/operator.yaml',
        'deploy/images.txt',
        'docker-compose.yml',
        'docs/install.md',
      ]),
    );
    expect(disagreements(said, VERSION)).toEqual([]);
  });

  /** A copy of what is looked at, as if it were about to be released. */
  const copy = (): string => {
    const folder = temporary();
    onTestFinished(() => rmSync(folder, { recursive: true }));
    for (const path of [
      'package.json',
      'package-lock.json',
      'deploy',
      'docs',
      'README.md',
      'CHANGELOG.md',
      'docker-compose.yml',
      'docker-compose.operator.yml',
    ])
      cpSync(join(ROOT, path), join(folder, path), { recursive: true });
    change(folder, 'CHANGELOG.md', new RegExp(`(\\[${RegExp.escape(VERSION)}\\] - ).*`), '$12026-11-24');
    return folder;
  };
  const change = (folder: string, path: string, from: string | RegExp, to: string): void => {
    const text = readFileSync(join(folder, path), 'utf8');
    const changed = text.replace(from, to);
    expect(changed).not.toBe(text);
    writeFileSync(join(folder, path), changed);
  };

  test('may be released when its changes have a date', () => expect(releaseProblems(copy(), TAG)).toEqual([]));

  test.each([
    ['package.json', `"version": "${VERSION}"`, '"version": "9.9.9"', 'package.json is 9.9.9'],
    ['package-lock.json', `"version": "${VERSION}"`, '"version": "9.9.9"', 'package-lock.json is 9.9.9'],
    ['deploy/chart/Chart.yaml', `\nversion: ${VERSION}`, '\nversion: 9.9.9', 'version in deploy/chart/Chart.yaml is 9.9.9'],
    ['deploy/chart/Chart.yaml', `appVersion: ${VERSION}`, 'appVersion: 9.9.9', 'appVersion in deploy/chart/Chart.yaml is 9.9.9'],
    ['deploy/operator.yaml', `routedip-operator:${VERSION}`, 'routedip-operator:9.9.9', 'deploy/operator.yaml is 9.9.9'],
    ['deploy/images.txt', `routedip-operator:${VERSION}`, 'r.example.com/routedip-operator:latest', 'deploy/images.txt is latest'],
    ['docker-compose.yml', `-demo:${VERSION}`, '-demo:9.9.9', 'docker-compose.yml is 9.9.9'],
    ['docs/kubectl-plugin.md', `-${VERSION}.tgz`, '-9.9.9.tgz', 'docs/kubectl-plugin.md is 9.9.9'],
    ['CHANGELOG.md', '2026-11-24', 'unreleased', `gives [${VERSION}] no date: unreleased`],
  ])('is not released when %s says something else (%s)', (path, from, to, problem) => {
    const folder = copy();
    change(folder, path, from, to);
    expect(releaseProblems(folder, TAG)).toEqual([expect.stringContaining(problem)]);
  });

  test('is not released under another tag, nor under one that is no version', () => {
    expect(releaseProblems(ROOT, 'v9.9.9').length).toBeGreaterThan(8);
    expect(releaseProblems(ROOT, VERSION)).toEqual([`${VERSION} is not a version such as v1.2.3 or v1.2.3-rc.1`]);
  });
});

describe('the changes of a version', () => {
  const CHANGELOG =
    '# Changelog\n\n## [1.1.0] - 2026-02-01\n\nIn short.\n\n### Added\n\n- One thing\n  in [two lines](docs/a.md).\n- Another.\n\n### Fixed\n\n- A bug.\n\n## [1.0.0] - 2026-01-01\n\nFirst.\n';

  test('are its section of the changelog', () => {
    expect(sectionOf(CHANGELOG, '1.0.0')).toEqual({ date: '2026-01-01', text: 'First.' });
    expect(sectionOf(CHANGELOG, '1.1.0')?.text).toMatch(/^In short\..*- A bug\.$/s);
    expect(sectionOf(CHANGELOG, '1.1')).toBeNull();
  });

  test('are told to Artifact Hub one by one', () => {
    expect(changesIn(sectionOf(CHANGELOG, '1.1.0')?.text ?? '')).toEqual([
      { kind: 'added', description: 'One thing in two lines.' },
      { kind: 'added', description: 'Another.' },
      { kind: 'fixed', description: 'A bug.' },
    ]);
    expect(() => changesIn('### Improved\n\n- All.')).toThrow('### Improved is none of Added');
  });
});

describe('the manifest for krew', () => {
  test('is refused when a name has no value, or a value no place', () => {
    expect(krewManifest('# Of the template.\na: <A>\n', { A: '1' })).toBe('a: 1\n');
    expect(() => krewManifest('a: <A>\n', {})).toThrow('asks for A');
    expect(() => krewManifest('a: 1\n', { A: '1' })).toThrow('no place for A');
  });
});

test.each([
  ['v0.1.0; rm', 'owner/repository'],
  ['v0.1.0/../../esc', 'owner/repository'],
  ['v01.1.0', 'owner/repository'],
  ['0.1.0', 'owner/repository'],
  ['v0.1.0', '/'],
  ['v0.1.0', 'Own;rm/x'],
])('a release of %s from %s is not built', (tag, repository) => {
  const folder = join(tmpdir(), 'routedip-no-release');
  const { status, stderr } = spawnSync(
    process.execPath,
    [join(import.meta.dirname, '../tools/release.ts'), 'build', tag, repository, folder],
    {
      encoding: 'utf8',
    },
  );
  expect([status, existsSync(folder)]).toEqual([2, false]);
  expect(stderr).toContain('Usage:');
});

describe('what a release consists of', () => {
  const publication = publicationOf(TAG, 'Example-Org/routedip');
  let folder: string;
  const asset = (name: string): string => readFileSync(join(folder, 'assets', name), 'utf8');
  const sumOf = (name: string): string =>
    createHash('sha256')
      .update(readFileSync(join(folder, 'assets', name)))
      .digest('hex');
  const ARCHIVE = `kubectl-routedip-${TAG}.tar.gz`;

  beforeAll(async () => {
    folder = temporary();
    await build(publication, folder);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test('is counted in SHA256SUMS', () => {
    const lines = asset('SHA256SUMS').trim().split('\n');
    expect(lines).toEqual(
      [ARCHIVE, 'bundle-webhook.yaml', 'bundle.yaml', 'crds.yaml', 'observer.yaml', 'routedip.yaml'].map(
        (name) => `${sumOf(name)}  ${name}`,
      ),
    );
  });

  test('is the same when it is built again', async () => {
    const again = temporary();
    onTestFinished(() => rmSync(again, { recursive: true }));
    await build(publication, again);
    expect(readFileSync(join(again, 'assets/SHA256SUMS'), 'utf8')).toBe(asset('SHA256SUMS'));
  });

  test('has the plugin, which runs by itself under the name that krew gives it', async () => {
    const place = temporary();
    onTestFinished(() => rmSync(place, { recursive: true }));
    for (const name of ['store', 'bin']) mkdirSync(join(place, name));
    execFileSync('tar', ['-xzf', join(folder, 'assets', ARCHIVE), '-C', join(place, 'store')]);
    const { bin } = parse(asset('routedip.yaml')).spec.platforms[0];
    expect(statSync(join(place, 'store', bin)).mode & 0o111).toBe(0o111);
    symlinkSync(join(place, 'store', bin), join(place, 'bin/kubectl-routedip'));
    const kubernetes = await startKubernetes({ crds: [join(ROOT, 'crds/floatingippools.yaml')] });
    onTestFinished(() => kubernetes.close());
    writeFileSync(join(place, 'kubeconfig'), kubernetes.kubeconfig(), { mode: 0o600 });
    const run = (...args: readonly string[]) => {
      const PATH = `${dirname(process.execPath)}:${process.env.PATH}`;
      const env = { ...process.env, PATH, KUBECONFIG: join(place, 'kubeconfig') };
      return promisify(execFile)(join(place, 'bin/kubectl-routedip'), args, { env, cwd: place });
    };
    expect(await run('--version')).toEqual({ stdout: `${VERSION}\n`, stderr: '' });
    const client = kubeClient(connectionOf(kubernetes.kubeconfig()));
    onTestFinished(() => client.close());
    const spec = { provider: 'digitalocean', region: 'nyc3', desiredIPs: 1, ips: ['203.0.113.1'], match: {} };
    const metadata = { name: 'ingress', namespace: 'default' };
    await client.create({ apiVersion: 'flipop.digitalocean.com/v1alpha1', kind: 'FloatingIPPool', metadata, spec });
    // No operator has looked at the pool yet: that needs a look.
    const needsALook = expect.objectContaining({ code: 3, stdout: expect.stringContaining('floatingippool/ingress') });
    await expect(run('status', '-A')).rejects.toEqual(needsALook);
    expect(readFileSync(join(place, 'store/THIRD-PARTY-LICENSES'), 'utf8')).toMatch(/^xstate \d.*MIT License/ms);
  });

  test('has a manifest for krew that krew takes', () => {
    const { apiVersion, kind, metadata, spec } = parse(asset('routedip.yaml'));
    expect({ apiVersion, kind, metadata }).toEqual({
      apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
      kind: 'Plugin',
      metadata: { name: 'routedip' },
    });
    expect(spec).toMatchObject({ version: TAG, homepage: 'https://github.com/Example-Org/routedip' });
    expect(spec.shortDescription).toMatch(/^[^\n.]{10,50}$/);
    for (const text of [spec.description, spec.caveats]) expect(text.trim().length).toBeGreaterThan(10);
    expect(spec.platforms).toEqual([
      {
        selector: { matchExpressions: [{ key: 'os', operator: 'In', values: ['darwin', 'linux'] }] },
        uri: `https://github.com/Example-Org/routedip/releases/download/${TAG}/${ARCHIVE}`,
        sha256: sumOf(ARCHIVE),
        bin: 'bin/kubectl-routedip.mjs',
      },
    ]);
  });

  test('has manifests and a chart that find the image where it is published', () => {
    const image = `ghcr.io/example-org/routedip-operator:${VERSION}`;
    for (const bundle of ['bundle.yaml', 'bundle-webhook.yaml'])
      expect(asset(bundle).match(/image: \S*routedip-operator:\S+/g)).toEqual([`image: ${image}`, `image: ${image}`]);
    expect(asset('observer.yaml').match(/image: \S+/g)).toEqual([`image: ${image}`]);
    const chart = (name: string): string => readFileSync(join(folder, 'chart/routedip-operator', name), 'utf8');
    expect(parse(chart('values.yaml')).image.registry).toBe('ghcr.io/example-org');
    const { home, annotations } = parse(chart('Chart.yaml'));
    expect(home).toBe('https://github.com/Example-Org/routedip');
    expect(parse(annotations['artifacthub.io/images']).map((each: { image: string }) => each.image)).toEqual([
      image,
      'docker.io/library/redis:7.2-bookworm',
    ]);
    expect(parse(annotations['artifacthub.io/changes']).length).toBeGreaterThan(0);
    expect(chart('README.md')).toContain(
      `helm install routedip-operator oci://ghcr.io/example-org/charts/routedip-operator --version ${VERSION} --namespace`,
    );
    expect(chart('README.md')).toContain('| `"ghcr.io/example-org"` |');
    expect(chart('README.md')).not.toMatch(/\]\(\.\.\//);
    expect(readFileSync(join(folder, 'notes.md'), 'utf8')).toContain('### Added');
  });
});
