import { describe, expect, onTestFinished, test } from 'vitest';
import type { ProviderNeed } from '../../../actors/ports/directory.ts';
import { ProviderError } from '../../../actors/ports/errors.ts';
import { createDigitalOceanProvider } from '../../../adapters/digitalocean/provider.ts';
import { createLog } from '../../../adapters/telemetry/log.ts';
import { redaction } from '../../../adapters/telemetry/redaction.ts';
import { startDigitalOcean } from '../../../simulator/digitalocean/server.ts';
import { recordingBudget } from '../digitalocean/support.ts';
import { account, driver, FACTS, ref, scriptedAccounts, TEMPLATES } from './support.ts';

const KEY = 'digitalocean@web.do-token';
const TOKEN = 'dop_v1_0123456789abcdef';
const OTHER = 'dop_v1_other_0123456789';
const SECOND = 'dop_v1_second_0123456789';

const NO_TOKEN = 'Secret web/do-token has no token under its key token but a text';
const WHAT_TO_DO = ': put the token of the provider there';

describe('a provider of the environment', () => {
  test('stands whatever is asked for, and is not changed by a need of its name', () => {
    const { accounts, ask, environment, of, told } = scriptedAccounts();
    ask({ key: 'digitalocean', cloud: 'digitalocean', secrets: [], templates: null });
    expect(of('digitalocean')?.provider).toBe(environment);
    ask();
    expect(Object.keys(accounts.all)).toEqual(['digitalocean']);
    expect(told).toEqual([]);
  });
});

describe('an account with its token in a Secret', () => {
  test('is there but unread at first, ready once the Secret was read, and gone when nobody asks for it', () => {
    const { accounts, ask, secrets, opened, told, of } = scriptedAccounts();
    ask(account('web/do-token'));
    expect(of(KEY)).toMatchObject({ provider: null, unread: true, facts: { missing: 'Secret web/do-token has not been read yet' } });
    secrets.set('web/do-token', { token: TOKEN });
    expect(of(KEY)?.facts).toMatchObject({ missing: null, addresses: true, addressesPerNode: 1, providerIDPrefix: 'digitalocean://' });
    expect(of(KEY)?.unread).toBeUndefined();
    expect(of(KEY)?.provider?.name).toBe('digitalocean');
    expect(opened.map(({ token }) => token)).toEqual([TOKEN]);
    ask();
    expect(Object.keys(accounts.all)).toEqual(['digitalocean']);
    expect(told).toEqual([KEY, KEY, KEY]);
    expect(secrets.usersOf('web/do-token')).toBe(0);
    expect(opened[0]?.closed).toBe(true);
  });

  test.each([
    ['there is no Secret', null, 'Secret web/do-token is not there'],
    ['no key of it is ours', { password: 'x' }, 'Secret web/do-token has no key DIGITALOCEAN_ACCESS_TOKEN or token'],
    ['its value is empty', { token: ' \n' }, 'Secret web/do-token has nothing under its key token'],
    ['its value is a letter', { token: 'e' }, `${NO_TOKEN} shorter than 16 characters${WHAT_TO_DO}`],
    ['its value is huge', { token: 'x'.repeat(450_000) }, `${NO_TOKEN} longer than 512 characters${WHAT_TO_DO}`],
    [
      'its value is a sentence',
      { token: 'many a word in the log' },
      `${NO_TOKEN} with blanks, line breaks, or characters beyond ASCII${WHAT_TO_DO}`,
    ],
    [
      'its value is bytes',
      { token: '\ufffd\u0000'.repeat(20) },
      `${NO_TOKEN} with blanks, line breaks, or characters beyond ASCII${WHAT_TO_DO}`,
    ],
  ])('says what is missing when %s', (_, values, missing) => {
    const { ask, secrets, opened, hidden, log, of } = scriptedAccounts();
    ask(account('web/do-token'));
    if (values) secrets.set('web/do-token', values);
    else secrets.remove('web/do-token');
    expect(of(KEY)).toMatchObject({ provider: null, facts: { missing, addresses: true } });
    expect([opened, hidden]).toEqual([[], []]);
    expect(log.lines).toEqual([expect.stringContaining(missing)]);
    secrets.set('web/do-token', { token: TOKEN });
    expect(of(KEY)?.provider).not.toBeNull();
    expect(of(KEY)?.facts.missing).toBeNull();
  });

  test('takes FLIPOP’s key before the other one, and leaves out the line break at its end', () => {
    const { ask, secrets, opened } = scriptedAccounts();
    ask(account('web/do-token'));
    secrets.set('web/do-token', { token: OTHER, DIGITALOCEAN_ACCESS_TOKEN: `${TOKEN}\n` });
    expect(opened.map(({ token }) => token)).toEqual([TOKEN]);
  });

  test('takes the first of several Secrets that has one, and misses none that is optional', () => {
    const { ask, secrets, opened, of } = scriptedAccounts();
    ask({ ...account('web/do-token'), secrets: [ref('web/do-token', true), ref('web/second'), ref('web/third')] });
    secrets.remove('web/do-token');
    secrets.set('web/third', { token: 'dop_v1_third_0123456789' });
    expect(of(KEY)?.unread).toBe(true);
    secrets.set('web/second', { token: SECOND });
    expect(opened.map(({ token }) => token)).toEqual([SECOND]);
    secrets.remove('web/third');
    expect(of(KEY)).toMatchObject({ provider: null, facts: { missing: 'Secret web/third is not there' } });
  });

  test('gets a new client under the same key when the token changes; the old one is closed after its last call', async () => {
    const { ask, secrets, opened, told, of, clock } = scriptedAccounts();
    ask(account('web/do-token'));
    secrets.set('web/do-token', { token: TOKEN });
    const former = of(KEY)?.provider;
    const calls = [former?.listRoutedIPs({ purpose: 'verify', family: 4 }), former?.listRoutedIPs({ purpose: 'verify', family: 4 })];
    told.length = 0;
    secrets.set('web/do-token', { token: OTHER });
    expect(told).toEqual([KEY]);
    expect(of(KEY)?.provider).not.toBe(former);
    expect(opened.map(({ token, closed }) => [token, closed])).toEqual([
      [TOKEN, false],
      [OTHER, false],
    ]);
    await clock.advance(1000);
    expect(await Promise.all(calls)).toEqual([[], []]);
    expect(opened.map(({ closed }) => closed)).toEqual([true, false]);
  });

  test('stays as it is while its Secret says the same, whatever else changes in it', () => {
    const { ask, secrets, opened, told, of } = scriptedAccounts();
    ask(account('web/do-token'));
    secrets.set('web/do-token', { token: TOKEN });
    const { provider } = of(KEY) ?? {};
    told.length = 0;
    secrets.set('web/do-token', { token: TOKEN });
    ask(account('web/do-token'));
    expect(told).toEqual([]);
    expect(of(KEY)?.provider).toBe(provider);
    expect(opened).toHaveLength(1);
  });

  test('is without means when the Secret goes, and has them again when it comes back', () => {
    const { ask, secrets, told, opened, of } = scriptedAccounts();
    ask(account('web/do-token'));
    secrets.set('web/do-token', { token: TOKEN });
    secrets.remove('web/do-token');
    expect(of(KEY)).toMatchObject({ provider: null, facts: { missing: 'Secret web/do-token is not there' } });
    expect(opened[0]?.closed).toBe(true);
    secrets.set('web/do-token', { token: TOKEN });
    expect(of(KEY)?.provider).not.toBeNull();
    expect(told).toEqual([KEY, KEY, KEY, KEY]);
  });

  test('goes on with what it had while another Secret that it shall use is read', () => {
    const { ask, secrets, opened, told, of } = scriptedAccounts();
    ask(account('web/do-token'));
    secrets.set('web/do-token', { token: TOKEN });
    const { provider } = of(KEY) ?? {};
    told.length = 0;
    ask({ ...account('web/do-token'), secrets: [ref('web/other')] });
    expect(of(KEY)?.provider).toBe(provider);
    expect(provider).not.toBeNull();
    secrets.set('web/other', { token: OTHER });
    expect(opened.map(({ token, closed }) => [token, closed])).toEqual([
      [TOKEN, true],
      [OTHER, false],
    ]);
    expect(told).toEqual([KEY]);
    expect(secrets.usersOf('web/do-token')).toBe(0);
  });
});

describe('one of many accounts', () => {
  /** What is looked at of the needs and of the environment while each issuer comes, its Secret is read, and all but one go again. */
  const looksAt = (count: number): number => {
    let looks = 0;
    const counted = <T extends object>(object: T): T => {
      const counting = <Result>(look: Result): Result => {
        looks += 1;
        return look;
      };
      return new Proxy(object, {
        get: (target, name) => counting(Reflect.get(target, name)),
        ownKeys: (target) => counting(Reflect.ownKeys(target)),
      });
    };
    const { accounts, secrets, told } = scriptedAccounts({ standing: counted({}) });
    const names = Array.from({ length: count }, (_, index) => `web/token-${index}`);
    for (const name of names) accounts.need(name, counted(account(name)));
    for (const name of names) secrets.set(name, { token: `${TOKEN}-${name}` });
    expect(Object.values(accounts.all).filter(({ provider }) => provider)).toHaveLength(count);
    for (const name of names.slice(1)) accounts.need(name, null);
    expect([told.length, Object.keys(accounts.all)]).toEqual([3 * count - 1, [account('web/token-0').key]]);
    return looks;
  };

  test('costs as much as one of a few', () => {
    const few = looksAt(10);
    expect(few).toBeGreaterThan(10);
    expect(looksAt(1000)).toBeLessThanOrEqual(100 * few);
  });

  test('that a thousand issuers ask for in the same words is looked at as if one did', () => {
    let looks = 0;
    const { accounts, told } = scriptedAccounts();
    const shared = account('web/do-token');
    const need = {
      ...shared,
      get secrets() {
        looks += 1;
        return shared.secrets;
      },
    };
    for (let each = 0; each < 1000; each += 1) accounts.need(`issuer ${each}`, need);
    expect(told).toEqual([KEY]);
    expect(looks).toBeLessThan(10_000);
    for (let each = 999; each > 0; each -= 1) accounts.need(`issuer ${each}`, null);
    expect([told, Object.keys(accounts.all)]).toEqual([[KEY], ['digitalocean', KEY]]);
  });
});

describe('two accounts', () => {
  test('each have the token of their own Secret', () => {
    const { ask, secrets, opened, of } = scriptedAccounts();
    ask(account('web/do-token'), account('shop/do-token'));
    secrets.set('web/do-token', { token: OTHER });
    secrets.set('shop/do-token', { token: SECOND });
    expect(opened.map(({ token }) => token)).toEqual([OTHER, SECOND]);
    expect(of(KEY)?.provider).not.toBe(of('digitalocean@shop.do-token')?.provider);
  });

  test('of one token share a client, and so its budget, until the last of them goes', () => {
    const { ask, secrets, opened } = scriptedAccounts();
    ask(account('web/do-token'), account('shop/do-token'));
    secrets.set('web/do-token', { token: TOKEN });
    secrets.set('shop/do-token', { token: TOKEN });
    expect(opened).toHaveLength(1);
    ask(account('shop/do-token'));
    expect(opened[0]?.closed).toBe(false);
    secrets.set('shop/do-token', { token: OTHER });
    expect(opened.map(({ token, closed }) => [token, closed])).toEqual([
      [TOKEN, true],
      [OTHER, false],
    ]);
  });

  test('under one key are one, with the Secrets of both', () => {
    const { ask, secrets, opened } = scriptedAccounts();
    ask(account('web/do-token'), account('web/do-token', 'web/second'));
    secrets.set('web/do-token', {});
    secrets.set('web/second', { token: SECOND });
    expect(opened.map(({ token }) => token)).toEqual([SECOND]);
    expect(secrets.usersOf('web/do-token')).toBe(1);
  });
});

describe('a class with templates', () => {
  const jobsOnly: ProviderNeed = { key: 'job.metal', cloud: null, secrets: [ref('jobs/platform')], templates: TEMPLATES };
  const mixed: ProviderNeed = { key: 'digitalocean@class.metal', cloud: 'digitalocean', secrets: [], templates: TEMPLATES };

  test('of a platform of its own has a provider that only runs Jobs', async () => {
    const jobs = driver();
    const asked: unknown[] = [];
    const { ask, secrets, of } = scriptedAccounts({
      jobDriver: (...given) => {
        asked.push(given);
        return jobs;
      },
    });
    ask(jobsOnly);
    secrets.set('jobs/platform', { API_TOKEN: 'of the platform' });
    const known = of('job.metal');
    expect(known?.facts).toMatchObject({ addresses: true, dns: false, ipv6: false, providerIDPrefix: '', missing: null });
    expect(known?.facts.addressesPerNode).toBeGreaterThan(1000);
    expect(known?.provider?.capabilities.addresses).toBe(true);
    expect(known?.provider?.jobs).toBe(jobs);
    expect(asked).toEqual([[TEMPLATES, [ref('jobs/platform')]]]);
    const refused = known?.provider?.listRoutedIPs({ purpose: 'verify', family: 4 });
    await expect(refused).rejects.toBeInstanceOf(ProviderError);
    await expect(refused).rejects.toMatchObject({ kind: 'Unsupported', message: expect.stringContaining('job.metal') });
  });

  test('misses a Secret that its Jobs need, and is told of when a value in it changes', () => {
    const { ask, secrets, told, hidden, of } = scriptedAccounts({ jobDriver: driver });
    ask(jobsOnly);
    secrets.remove('jobs/platform');
    expect(of('job.metal')).toMatchObject({
      provider: null,
      facts: { missing: 'Secret jobs/platform is not there' },
    });
    secrets.set('jobs/platform', { API_TOKEN: 'of the platform', REGION: 'nyc3' });
    told.length = 0;
    secrets.set('jobs/platform', { API_TOKEN: 'of the platform', REGION: 'nyc3' });
    expect(told).toEqual([]);
    secrets.set('jobs/platform', { API_TOKEN: 'another of the platform', REGION: 'nyc3' });
    expect(told).toEqual(['job.metal']);
    expect(hidden).toEqual(['of the platform', 'nyc3', 'another of the platform', 'nyc3']);
  });

  test('for the firewall alone has the cloud’s verbs, with the credentials of the environment unless it names others', () => {
    const jobs = driver();
    const { ask, secrets, environment, opened, of } = scriptedAccounts({ jobDriver: () => jobs });
    ask(mixed);
    const { provider, facts } = of(mixed.key) ?? {};
    expect(facts).toMatchObject({ providerIDPrefix: 'digitalocean://', missing: null });
    expect(provider?.jobs).toBe(jobs);
    expect(provider?.listRoutedIPs).toBe(environment.listRoutedIPs);
    expect(environment.jobs).toBeUndefined();
    ask({ ...mixed, secrets: [ref('web/do-token')] });
    secrets.set('web/do-token', { token: TOKEN });
    expect(opened.map(({ token }) => token)).toEqual([TOKEN]);
    expect(of(mixed.key)?.provider?.jobs).toBe(jobs);
  });

  test('cannot be worked with where no Jobs are run, nor an unknown cloud anywhere', () => {
    const { ask, of } = scriptedAccounts();
    ask(mixed, { key: 'aws@web.aws', cloud: 'aws', secrets: [ref('web/aws')], templates: null });
    expect(of(mixed.key)).toMatchObject({ provider: null, facts: { missing: 'this operator runs no Jobs' } });
    expect(of('aws@web.aws')).toMatchObject({
      provider: null,
      facts: { missing: 'this operator has no client for aws', addresses: false },
    });
  });
});

describe('a token', () => {
  test('is hidden before it is used, and stands in no log, fact or error', async () => {
    const lines: string[] = [];
    const known = redaction();
    const log = createLog({ debug: true, redaction: known, destination: { write: (line) => void lines.push(line) } });
    const simulator = await startDigitalOcean({ token: 'none that is in a Secret' });
    onTestFinished(() => simulator.close());
    const connect = (token: string) => createDigitalOceanProvider({ token, url: simulator.url, budget: recordingBudget(), log });
    const { ask, secrets, of } = scriptedAccounts({
      clouds: { digitalocean: { abilities: FACTS, variable: 'TOKEN', secretKeys: ['token'], connect } },
      hide: (secret) => known.add(secret),
      log,
    });
    ask(account('web/do-token'));
    log.info(TOKEN);
    expect(lines.join(''), 'nobody knows it yet').toContain(TOKEN);
    lines.length = 0;
    secrets.set('web/do-token', { token: TOKEN });
    const call = of(KEY)?.provider?.listRoutedIPs({ purpose: 'verify', family: 4 });
    const error = await call?.catch((failure: unknown) => failure);
    expect(error).toMatchObject({ kind: 'Unauthorized' });
    log.warn('a job failed', { error, message: { authorization: `Bearer ${TOKEN}` } });
    secrets.remove('web/do-token');
    ask();
    expect(simulator.calls.all().map(({ status }) => status)).toEqual([401]);
    expect(lines.join('')).toContain('Bearer [redacted: token in Secret web/do-token]');
    expect(lines.length).toBeGreaterThan(2);
    expect(`${lines.join('')} ${String(error)} ${JSON.stringify(error)} ${(error as Error).stack}`).not.toContain(TOKEN);
  });
});
