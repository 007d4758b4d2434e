import { afterEach, describe, expect, test, vi } from 'vitest';
import { DEFAULT_SETTINGS } from '../../../actors/ports/settings.ts';
import { parseCommandLine } from '../../../adapters/cli/options.ts';

const environmentOf = (env: NodeJS.ProcessEnv) => parseCommandLine([], env, '0.0.0')?.environment;

describe('the tokens of the environment', () => {
  test('are taken without white space at their ends, as a Secret made from a file has it', () => {
    const env = { DIGITALOCEAN_ACCESS_TOKEN: 'dop_v1_x\n', CLOUDFLARE_TOKEN: ' cf_y\r\n' };
    expect(environmentOf(env)).toMatchObject({ digitaloceanToken: 'dop_v1_x', cloudflareToken: 'cf_y' });
  });

  test.each([{}, { DIGITALOCEAN_ACCESS_TOKEN: '', CLOUDFLARE_TOKEN: '' }, { DIGITALOCEAN_ACCESS_TOKEN: '\n', CLOUDFLARE_TOKEN: ' ' }])(
    'are missing when nothing is left of them: %j',
    (env) => expect(environmentOf(env)).toMatchObject({ digitaloceanToken: null, cloudflareToken: null }),
  );
});

describe('the login of Redis', () => {
  test('is taken apart from the URL, which manifests and messages show', () => {
    const env = { REDIS_URL: 'redis://redis:6379', REDIS_USERNAME: 'operator', REDIS_PASSWORD: 'secret\n' };
    expect(environmentOf(env)).toMatchObject({ redis: { url: 'redis://redis:6379', username: 'operator', password: 'secret' } });
  });

  test('is that of the URL where nothing else is said', () => {
    expect(environmentOf({ REDIS_USERNAME: '', REDIS_PASSWORD: '' })).toMatchObject({ redis: { username: null, password: null } });
  });
});

describe('the namespaces that may use the operator’s credentials', () => {
  const namedBy = (...argv: readonly string[]) => parseCommandLine(argv, {}, '0.0.0')?.options.allowOperatorCredentials;
  afterEach(() => {
    vi.restoreAllMocks();
    process.exitCode = undefined;
  });

  test('are those that are named, or all; none of an empty list, which is another thing than no list', () => {
    expect(namedBy('--allow-operator-credentials=web, shop')).toEqual(['web', 'shop']);
    expect(namedBy('--allow-operator-credentials', '*')).toEqual(['*']);
    expect(namedBy('--allow-operator-credentials=')).toEqual([]);
    expect(namedBy()).toBeUndefined();
  });

  test.each(['Web', 'a_b', 'web,-', 'web*', 'a'.repeat(64)])('are not called %s', (names) => {
    const told = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    expect(namedBy(`--allow-operator-credentials=${names}`)).toBeUndefined();
    expect([process.exitCode, String(told.mock.calls)]).toEqual([2, expect.stringContaining('is no name of a namespace')]);
  });
});

describe('what pools take', () => {
  const adoptOf = (...argv: readonly string[]) => parseCommandLine(argv, {}, '0.0.0')?.options.adopt;
  test('is any address, unless it is to be unassigned', () => {
    expect([adoptOf(), adoptOf('--adopt=any'), adoptOf('--adopt=unassigned')]).toEqual(['any', 'any', 'unassigned']);
  });
});

describe('the controllers', () => {
  const controllersOf = (...argv: readonly string[]) => parseCommandLine(argv, {}, '0.0.0')?.options.controllers;
  afterEach(() => {
    vi.restoreAllMocks();
    process.exitCode = undefined;
  });

  test('are those that are named, in one order, each once', () => {
    expect(controllersOf('--controllers=routedip')).toEqual(['routedip']);
    expect(controllersOf('--controllers=vip,routedip, flipop,routedip')).toEqual(['flipop', 'routedip', 'vip']);
  });

  test('are up to what the cluster serves when none is named', () => expect(controllersOf()).toBeUndefined());

  test.each(['vips', '', 'flipop,'])('are refused when one is none: "%s"', (names) => {
    const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    expect(controllersOf(`--controllers=${names}`)).toBeUndefined();
    expect(process.exitCode).toBe(2);
    expect(said.mock.calls.join()).toContain('there are flipop, routedip, vip');
  });
});

describe('the viewer of the inspector', () => {
  const viewerOf = (url: string) => parseCommandLine([`--inspect-viewer-url=${url}`], {}, '0.0.0')?.options.inspectViewerUrl;

  afterEach(() => {
    process.exitCode = undefined;
    vi.restoreAllMocks();
  });

  test('is a page of http or https', () => {
    expect(viewerOf('https://viewer.example/inspect')).toBe('https://viewer.example/inspect');
    expect(viewerOf('http://127.0.0.1:3000')).toBe('http://127.0.0.1:3000/');
  });

  test.each(['nope', '', 'https://', 'data:text/html,v', 'javascript:1', 'file:///tmp/page.html'])('is refused when it is "%s"', (url) => {
    const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    expect(viewerOf(url)).toBeUndefined();
    expect(process.exitCode).toBe(2);
    expect(String(said.mock.calls)).toMatch(/--inspect-viewer-url.*is no http or https URL/s);
  });
});

describe('the Lease of another allocator', () => {
  const leaseOf = (...argv: readonly string[]) => parseCommandLine(argv, {}, '0.0.0')?.options.vipLease;
  afterEach(() => {
    vi.restoreAllMocks();
    process.exitCode = undefined;
  });

  test('is named with its namespace, and is none by default', () => {
    expect(leaseOf('--vip-lease=vip-allocator-operator/88cd116a.org')).toEqual({
      namespace: 'vip-allocator-operator',
      name: '88cd116a.org',
    });
    expect(leaseOf()).toBeUndefined();
  });

  test.each(['88cd116a.org', 'a/b/c', '/x', 'a/'])('is refused otherwise: "%s"', (text) => {
    const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    expect(leaseOf(`--vip-lease=${text}`)).toBeUndefined();
    expect(process.exitCode).toBe(2);
    expect(said.mock.calls.join()).toContain('as in vip-allocator-operator/88cd116a.org');
  });
});

describe('where records and jobs are kept', () => {
  const parsed = (env: NodeJS.ProcessEnv, ...argv: readonly string[]) => parseCommandLine(argv, env, '0.0.0');
  afterEach(() => {
    vi.restoreAllMocks();
    process.exitCode = undefined;
  });

  test('is Redis unless memory is asked for; a Redis that is named all the same is pointed out', () => {
    expect(parsed({})?.options.jobs).toBe('redis');
    expect(parsed({}, '--jobs=memory')).toMatchObject({ options: { jobs: 'memory' }, environment: { warnings: [] } });
    expect(parsed({ REDIS_URL: 'redis://here' })?.environment.warnings).toEqual([]);
    expect(parsed({ REDIS_URL: 'redis://here' }, '--jobs=memory')?.environment.warnings).toEqual([
      'REDIS_URL is set, and is not used: --jobs=memory goes without Redis',
    ]);
  });

  test.each(['--redis-prefix=x', '--jobs-writable'])('is memory and not Redis, so that %s has no meaning', (flag) => {
    const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    expect(parsed({}, flag)).not.toBeNull();
    expect(parsed({}, '--jobs=memory', flag)).toBeNull();
    expect(process.exitCode).toBe(2);
    expect(said.mock.calls.join()).toContain(`option '${flag.split('=')[0]}' has no meaning with '--jobs=memory'`);
  });

  test('has no meaning for whoever only observes: what is said of Redis stands, and is not used', () => {
    expect(parsed({})?.options.observe).toBe(false);
    expect(parsed({}, '--observe', '--redis-prefix=x', '--jobs-writable')?.options.observe).toBe(true);
  });

  test('is nowhere else', () => {
    const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    expect(parsed({}, '--jobs=disk')).toBeNull();
    expect(process.exitCode).toBe(2);
    expect(said.mock.calls.join()).toContain('redis, memory');
  });
});

describe('the interval of the VIP allocator', () => {
  const intervalOf = (interval: string | undefined, ...argv: readonly string[]) => {
    const parsed = parseCommandLine(argv, interval === undefined ? {} : { RECONCILIATION_INTERVAL_MS: interval }, '0.0.0');
    return [parsed?.options.resyncInterval ?? DEFAULT_SETTINGS.resyncEveryMs, parsed?.environment.warnings];
  };

  test('is how often everything is looked at again, unless a flag says so', () => {
    expect(intervalOf('5000')).toEqual([5_000, []]);
    expect(intervalOf('5000', '--resync-interval=7s')).toEqual([7_000, []]);
  });

  test.each([undefined, ''])('is 60000 when it is not given: %j', (interval) => expect(intervalOf(interval)).toEqual([60_000, []]));

  test.each(['abc', '0', '-1', '1.5', '60s'])('is logged and 60000 when it is none: "%s"', (interval) => {
    const [ms, warnings] = intervalOf(interval);
    expect(ms).toBe(60_000);
    expect(warnings).toEqual([expect.stringMatching(/^RECONCILIATION_INTERVAL_MS is ".*60000$/)]);
    expect(String(warnings)).toContain(`"${interval}"`);
  });
});
