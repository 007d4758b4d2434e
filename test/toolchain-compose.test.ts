import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseCommandLine } from '../adapters/cli/options.ts';
import { parse as parseDemo } from '../demo/args.ts';

const ROOT = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

interface Service {
  readonly image: string;
  readonly build?: { readonly context: string; readonly target?: string };
  readonly command: readonly string[];
  readonly ports?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly user?: string;
  readonly read_only?: boolean;
  readonly volumes?: readonly string[];
  readonly tmpfs?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}

interface Compose<Name extends string> {
  readonly name: string;
  readonly services: Readonly<Record<Name, Service>>;
  readonly volumes?: Readonly<Record<string, unknown>>;
}

const DEMO = 'docker-compose.yml';
const OPERATOR = 'docker-compose.operator.yml';
const demoFile = parse(read(DEMO)) as Compose<'redis' | 'demo'>;
const operatorFile = parse(read(OPERATOR)) as Compose<'redis' | 'operator'>;

/** The Compose Specification's own schema, as a linter for such files ships it. */
function specification(): ValidateFunction {
  const require = createRequire(import.meta.url);
  const folder = dirname(require.resolve('dclint/package.json'));
  // Its `$schema` is the https address of the draft, which the validator knows by the http one.
  const { $schema: _, ...schema } = JSON.parse(readFileSync(join(folder, 'schemas/compose.schema.json'), 'utf8')) as Record<
    string,
    unknown
  >;
  return new Ajv({ strict: false, allErrors: true }).compile(schema);
}

/** The value that follows a flag. */
const valueAfter = (command: readonly string[], flag: string): string | undefined => {
  const at = command.indexOf(flag);
  return at === -1 ? undefined : command[at + 1];
};

describe('the Compose Specification', () => {
  const validate = specification();
  const errorsOf = (file: unknown): readonly string[] => {
    const valid = validate(file);
    return valid ? [] : (validate.errors ?? []).map(({ instancePath, params }) => `${instancePath} ${JSON.stringify(params)}`);
  };

  test.each([DEMO, OPERATOR])('%s follows it', (path) => {
    expect(errorsOf(parse(read(path)))).toEqual([]);
  });

  test.each([
    ['a service with a key that there is none of', { services: { demo: { ...demoFile.services.demo, prots: ['8081'] } } }, '"prots"'],
    ['a key of the file that there is none of', { ...demoFile, service: {} }, '"service"'],
    ['a build with a key that there is none of', { services: { demo: { build: { context: '.', traget: 'demo' } } } }, '"traget"'],
    ['a condition that there is none of', { services: { demo: { depends_on: { redis: { condition: 'healthy' } } } } }, '/condition'],
    ['a number where a word belongs', { services: { redis: { command: ['redis-server', 7] } } }, '/command'],
  ])('refuses %s', (_, file, named) => {
    expect(errorsOf(file).join('\n')).toContain(named);
  });
});

describe.each([
  [DEMO, demoFile.services.demo, demoFile],
  [OPERATOR, operatorFile.services.operator, operatorFile],
] as const)('%s', (path, service, { services: { redis } }) => {
  test('starts what needs Redis when Redis answers', () => {
    expect(redis.healthcheck?.test).toEqual(['CMD', 'redis-cli', 'ping']);
    expect(service.depends_on?.redis?.condition).toBe('service_healthy');
    expect(service.environment?.REDIS_URL).toBe('redis://redis:6379');
  });

  test('has a Redis that lets another container in whatever its image has set: nothing but the network of the file leads to it', () => {
    expect(valueAfter(redis.command, '--protected-mode')).toBe('no');
    expect(redis.ports).toBeUndefined();
  });

  test('publishes ports on loopback only, and none of Redis', () => {
    expect(service.ports?.length).toBeGreaterThanOrEqual(1);
    for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:(\d+):\1$/);
    expect(redis.ports).toBeUndefined();
  });

  test('runs on a root file system that cannot be changed', () => {
    expect(service.read_only).toBe(true);
  });

  test('tags its image with the version of the package', () => {
    const { version } = JSON.parse(read('package.json')) as { readonly version: string };
    expect(service.image).toMatch(/^routedip-operator(-demo)?:/);
    expect(service.image.split(':')[1]).toBe(version);
  });

  test('documents each name that it takes from the environment', () => {
    const text = read(path);
    const names = new Set([...text.matchAll(/\$\{(\w+)/g)].map(([, name]) => name));
    expect(names.size).toBeGreaterThanOrEqual(1);
    for (const name of names) expect(text).toMatch(new RegExp(`^#   ${name} {2,}`, 'm'));
  });
});

describe(DEMO, () => {
  const { redis, demo } = demoFile.services;

  test('asks for nothing before it starts', () => {
    expect(read(DEMO)).not.toMatch(/\$\{\w+:?\?/);
    expect(demo.environment?.DIGITALOCEAN_ACCESS_TOKEN).toBeUndefined();
  });

  test('runs the demo, by flags that it has, and lets it stay up', () => {
    const args = parseDemo(demo.command);
    expect(args).toMatchObject({ keep: true, json: false, act: null });
    expect(demo.build?.target).toBe('demo');
  });

  test('publishes the ports of the dashboards and of the inspector, and no other', () => {
    const { dashboardBindAddr, inspect } = parseDemo(demo.command) ?? {};
    const ports = [dashboardBindAddr, inspect].map((address) => address?.replace('0.0.0.0:', ''));
    for (const port of ports) expect(port).toMatch(/^\d+$/);
    expect(demo.ports).toEqual(ports.map((port) => `127.0.0.1:${port}:${port}`));
  });

  test('has a Redis as the one that `npm run demo` starts, which keeps nothing: each start is a new cluster', () => {
    const settings = redis.command.slice(1, redis.command.indexOf('--user'));
    expect(settings).toEqual(['--appendonly', 'no', '--save', '', '--hz', '100', '--maxmemory-policy', 'noeviction']);
    expect(redis.tmpfs).toEqual(['/data']);
    expect(redis.volumes).toBeUndefined();
  });

  test('shares no containers, no network and no disk with an operator for a cluster', () => {
    expect(demoFile.name).not.toBe(operatorFile.name);
    expect(demoFile.volumes).toBeUndefined();
  });
});

describe(OPERATOR, () => {
  const { redis, operator } = operatorFile.services;

  test('keeps jobs over a crash of Redis and never lets it evict them', () => {
    expect(valueAfter(redis.command, '--appendonly')).toBe('yes');
    expect(valueAfter(redis.command, '--maxmemory-policy')).toBe('noeviction');
    expect(valueAfter(redis.command, '--hz')).toBe('100');
    expect(redis.volumes).toEqual([expect.stringMatching(/:\/data$/)]);
  });

  test('starts the operator with flags that it has, with the dashboards and the inspector', async () => {
    const parsed = await parseCommandLine(operator.command, {}, '0.1.0');
    expect(parsed?.options).toMatchObject({ metricsBindAddr: ':8080', dashboardBindAddr: '0.0.0.0:8081', inspect: '0.0.0.0:8082' });
    expect(operator.ports).toEqual(['127.0.0.1:8080:8080', '127.0.0.1:8081:8081', '127.0.0.1:8082:8082']);
  });

  test('does not start without the tokens', () => {
    for (const name of ['DIGITALOCEAN_ACCESS_TOKEN', 'ROUTEDIP_DASHBOARD_TOKEN'])
      expect(operator.environment?.[name]).toMatch(/^\$\{\w+:\?/);
  });

  test('runs it as a user that is not root', () => {
    expect(operator.user).toMatch(/:-[1-9]\d*:[1-9]\d*\}$/);
  });
});
