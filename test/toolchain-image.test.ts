import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseCommandLine } from '../adapters/cli/options.ts';

const ROOT = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

interface Service {
  readonly command: readonly string[];
  readonly ports?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly user?: string;
  readonly read_only?: boolean;
  readonly volumes: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}

const compose = parse(read('docker-compose.yml')) as { readonly services: Readonly<Record<'redis' | 'operator', Service>> };
const { redis, operator } = compose.services;

/** The value that follows a flag. */
const valueAfter = (command: readonly string[], flag: string): string | undefined => {
  const at = command.indexOf(flag);
  return at === -1 ? undefined : command[at + 1];
};

describe('docker-compose.yml', () => {
  test('keeps jobs over a crash of Redis and never lets it evict them', () => {
    expect(valueAfter(redis.command, '--appendonly')).toBe('yes');
    expect(valueAfter(redis.command, '--maxmemory-policy')).toBe('noeviction');
    expect(valueAfter(redis.command, '--hz')).toBe('100');
    expect(redis.volumes).toEqual([expect.stringMatching(/:\/data$/)]);
    expect(redis.ports).toBeUndefined();
  });

  test('starts the operator when Redis answers', () => {
    expect(redis.healthcheck?.test).toEqual(['CMD', 'redis-cli', 'ping']);
    expect(operator.depends_on?.redis?.condition).toBe('service_healthy');
  });

  test('starts it with flags that it has, and with the dashboards', async () => {
    const parsed = await parseCommandLine(operator.command, {}, '0.1.0');
    expect(parsed?.options).toMatchObject({ metricsBindAddr: ':8080', dashboardBindAddr: '0.0.0.0:8081' });
  });

  test('publishes its ports on loopback only, and asks for a token besides', () => {
    expect(operator.ports?.length).toBeGreaterThanOrEqual(2);
    for (const port of operator.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
    for (const name of ['DIGITALOCEAN_ACCESS_TOKEN', 'ROUTEDIP_DASHBOARD_TOKEN'])
      expect(operator.environment?.[name]).toMatch(/^\$\{\w+:\?/);
  });

  test('runs it as a user that is not root on a root file system that it cannot change', () => {
    expect(operator.read_only).toBe(true);
    expect(operator.user).toMatch(/:-[1-9]\d*:[1-9]\d*\}$/);
  });

  test('documents each name that it takes from the environment', () => {
    const text = read('docker-compose.yml');
    const names = new Set([...text.matchAll(/\$\{(\w+)/g)].map(([, name]) => name));
    expect(names.size).toBeGreaterThanOrEqual(4);
    for (const name of names) expect(text).toMatch(new RegExp(`^#   ${name} {2,}`, 'm'));
  });
});

describe('Dockerfile', () => {
  const dockerfile = read('Dockerfile');
  const stages = dockerfile.split(/^FROM /m).slice(1);

  test('builds in one stage and ships in another, both on the Node that the project needs', () => {
    expect(stages).toHaveLength(2);
    const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } };
    const major = /\d+/.exec(engines.node)?.[0];
    for (const stage of stages) expect(stage).toMatch(new RegExp(`^\\S+/node:${major}-`));
  });

  test('ships no development dependencies and nothing but what it copies by name', () => {
    expect(stages[0]).toContain('npm prune --omit=dev');
    expect(stages[1]).not.toMatch(/^COPY (?!--from=build)/m);
    expect(stages[1]).not.toMatch(/^RUN /m);
  });

  test('runs as a user without a name, by the command of the package', () => {
    expect(stages[1]).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m);
    const entry = /^ENTRYPOINT \["node", "\/app\/(.*)"\]$/m.exec(stages[1] ?? '')?.[1];
    expect(existsSync(join(ROOT, String(entry)))).toBe(true);
  });

  test('starts it with flags that it has', async () => {
    const command = JSON.parse(/^CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? '[]') as string[];
    expect(await parseCommandLine(command, {}, '0.1.0')).not.toBeNull();
  });

  test('gets from the host what the build reads, and neither dependencies nor keys', () => {
    const ignored = read('.dockerignore').split('\n');
    expect(ignored).toContain('*');
    for (const path of [
      'package.json',
      'package-lock.json',
      '.npmrc',
      'tools',
      'bin',
      'main.ts',
      'composition',
      'machines',
      'actors',
      'adapters',
      'crds',
      'plugin',
      'dashboard',
      'tsconfig.build.json',
    ]) {
      expect(ignored).toContain(`!${path}`);
    }
    expect(ignored).toContain('**/node_modules');
    expect(ignored).not.toContain('!.env');
  });
});
