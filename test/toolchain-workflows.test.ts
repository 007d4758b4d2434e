import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const ROOT = join(import.meta.dirname, '..');
const FOLDER = join(ROOT, '.github/workflows');

interface Job {
  readonly uses?: string;
  readonly needs?: string | readonly string[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps?: readonly { readonly uses?: string; readonly run?: string; readonly with?: Readonly<Record<string, unknown>> }[];
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const texts = Object.fromEntries(readdirSync(FOLDER).map((name) => [name, readFileSync(join(FOLDER, name), 'utf8')]));
const workflow = (name: string): Workflow => parse(texts[name] ?? '');
const jobs = Object.keys(texts).flatMap((name) =>
  Object.entries(workflow(name).jobs).map(([job, body]) => ({ name: `${name}: ${job}`, body })),
);

/** Lines that use an action, with what stands behind it. */
const USES = /uses: (\S+?)(?:@(\S+))?(?: +# (\S+))?$/gm;
const uses = Object.values(texts).flatMap((text) =>
  [...text.matchAll(USES)].map(([, action = '', ref = '', version = '']) => ({ action, ref, version })),
);

describe('every workflow', () => {
  test('takes actions by their commit, and says the version; the same everywhere', () => {
    const foreign = uses.filter(({ action }) => !action.startsWith('./'));
    expect(foreign.length).toBeGreaterThan(15);
    for (const { action, ref, version } of foreign)
      expect([action, ref, version]).toEqual([action, expect.stringMatching(/^[0-9a-f]{40}$/), expect.stringMatching(/^v\d+\.\d+\.\d+$/)]);
    const pins = new Set(foreign.map(({ action, ref, version }) => `${action} ${ref} ${version}`));
    expect(pins.size).toBe(new Set(foreign.map(({ action }) => action)).size);
  });

  test('uses workflows and scripts that are there', () => {
    for (const { action } of uses.filter((each) => each.action.startsWith('./')))
      expect([action, existsSync(join(ROOT, action))]).toEqual([action, true]);
    const scripts = Object.values(texts).flatMap((text) => [...text.matchAll(/\b(tools\/[\w./-]+)/g)].map(([, path = '']) => path));
    expect(scripts).toContain('tools/release.ts');
    expect(scripts.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  test('may read the code at most, where a job does not ask for more, and leaves no token behind', () => {
    for (const name of Object.keys(texts)) expect(['{}', '{"contents":"read"}']).toContain(JSON.stringify(workflow(name).permissions));
    const checkouts = jobs.flatMap(({ body }) => body.steps?.filter((step) => step.uses?.startsWith('actions/checkout@')) ?? []);
    expect(checkouts.length).toBeGreaterThan(4);
    for (const step of checkouts) expect(step.with).toEqual({ 'persist-credentials': false });
  });

  test('names no input of others in a script, which could bring its own commands', () => {
    const scripts = jobs.flatMap(({ body }) => body.steps?.flatMap(({ run }) => run ?? []) ?? []);
    expect(scripts.length).toBeGreaterThan(15);
    for (const script of scripts) expect(script).not.toContain('$' + '{{');
  });
});

describe('the release', () => {
  const { jobs: release } = workflow('release.yaml');
  const job = (name: string): Job => release[name] ?? {};
  const needs = (name: string): readonly string[] => [job(name).needs ?? []].flat().flatMap((each) => [each, ...needs(each)]);
  const ran = (name: string): string =>
    job(name)
      .steps?.flatMap((step) => step.run ?? step.uses ?? [])
      .join('\n') ?? '';
  const publishing = Object.keys(release).filter((name) => Object.values(job(name).permissions ?? {}).includes('write'));

  test('publishes nothing before the tests have passed and the versions agree', () => {
    expect(publishing.sort()).toEqual(['chart', 'image', 'image-index', 'npm', 'release']);
    for (const name of publishing) expect(needs(name)).toEqual(expect.arrayContaining(['test', 'build']));
    expect(ran('build')).toContain('tools/release.ts check');
    expect(needs('release').length).toBeGreaterThan(4);
  });

  test('gives each job no more than it needs', () => {
    expect(Object.fromEntries(Object.entries(release).map(([name, { permissions }]) => [name, permissions]))).toEqual({
      test: { contents: 'read' },
      build: { contents: 'read' },
      image: { contents: 'read', packages: 'write' },
      'image-index': { packages: 'write', 'id-token': 'write' },
      chart: { contents: 'read', packages: 'write', 'id-token': 'write' },
      npm: { 'id-token': 'write' },
      release: { contents: 'write', 'id-token': 'write' },
    });
  });

  test('runs no code of others where it has an identity', () => {
    const withIdentity = publishing.filter((name) => job(name).permissions?.['id-token'] === 'write');
    expect(withIdentity).toHaveLength(4);
    for (const name of withIdentity) expect(ran(name)).not.toMatch(/npm (ci|install|run|pack|test)|node tools|docker build /);
    expect(ran('npm')).toContain('--ignore-scripts');
  });

  test('signs the image, the chart and the sums of the other files', () => {
    for (const name of ['image-index', 'chart', 'release']) expect(ran(name)).toMatch(/cosign-installer@.*cosign sign/s);
    const [built] = job('image').steps?.filter((step) => step.uses?.startsWith('docker/build-push-action@')) ?? [];
    expect(built?.with).toMatchObject({ sbom: true, provenance: 'mode=max' });
  });
});
