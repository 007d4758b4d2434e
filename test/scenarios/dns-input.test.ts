import { describe, expect, test } from 'vitest';
import { KubeClientError } from '../../simulator/kubernetes/client.ts';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { CLOUDFLARE_TOKEN, type Names, named } from '../e2e/named.ts';
import type { Zone } from '../e2e/zones.ts';

const PROVIDERS = ['digitalocean', 'cloudflare'] as const;
const A = '198.51.100.1';

interface Refused {
  readonly dnsRecordSet: JsonObject;
  readonly reason: string;
  /** What the condition and the Event say. */
  readonly told: RegExp;
  /** Where it is refused; everywhere when absent. */
  readonly at?: Zone['provider'];
}

/** What the provider, or the zone as it is, does not allow. In the zone example.com there is a CNAME `alias`; other.example is at the other provider. */
const REFUSED: Readonly<Record<string, Refused>> = {
  'a zone that nobody knows': {
    dnsRecordSet: { zone: 'unknown.example', recordName: 'www' },
    reason: 'ZoneNotFound',
    told: /^Failed to update DNS: .*unknown\.example/,
  },
  'a zone that the other provider has': {
    dnsRecordSet: { zone: 'other.example', recordName: 'www' },
    reason: 'ZoneNotFound',
    told: /^Failed to update DNS: .*other\.example/,
  },
  'a name that a CNAME has': {
    dnsRecordSet: { zone: 'example.com', recordName: 'alias' },
    reason: 'RecordConflict',
    told: /^Failed to update DNS: a CNAME record stands at alias\.example\.com/,
  },
  'a name outside of the zone': {
    dnsRecordSet: { zone: 'example.com', recordName: 'www.example.org.' },
    reason: 'NameOutsideZone',
    told: /^Failed to update DNS: www\.example\.org\. is not in zone example\.com/,
  },
  'a name that an older object has, in another spelling': {
    dnsRecordSet: { zone: 'EXAMPLE.com.', recordName: 'Good.example.com.' },
    reason: 'RecordConflict',
    told: /^Failed to update DNS: .*NodeDNSRecordSet default\/good/,
  },
  'a TTL below what the provider allows': {
    dnsRecordSet: { zone: 'example.com', recordName: 'brief', ttl: 5 },
    reason: 'RecordRefused',
    told: /^Failed to update DNS: .*TTL/,
  },
  'a TTL above what the provider allows': {
    dnsRecordSet: { zone: 'example.com', recordName: 'lasting', ttl: 100_000 },
    reason: 'RecordRefused',
    told: /^Failed to update DNS: .*TTL/,
    at: 'cloudflare',
  },
  'a zone that no name can be': {
    dnsRecordSet: { zone: 'not a zone/../..', recordName: 'www' },
    reason: 'ZoneNotFound|RecordRefused',
    told: /^Failed to update DNS: .*not a zone/,
  },
};

interface Invalid {
  readonly spec: JsonObject;
  readonly error: string | RegExp;
}

/** Specs that are refused without asking the provider, with the text of status.error. A server that knows CEL does not even take some of them. */
const INVALID: Readonly<Record<string, Invalid>> = {
  'an unknown provider': { spec: { dnsRecordSet: { provider: 'acme', ...good() } }, error: 'unknown provider "acme"' },
  'an unknown provider where the published manifests have it': {
    spec: { provider: 'acme', dnsRecordSet: good() },
    error: 'unknown provider "acme"',
  },
  'no zone': { spec: { dnsRecordSet: { recordName: 'www' } }, error: 'invalid dnsRecordSet specification' },
  'no record set at all': { spec: {}, error: 'invalid dnsRecordSet specification' },
  'a node selector that cannot be parsed': {
    spec: { dnsRecordSet: good(), match: { nodeLabel: 'a in (b' } },
    error: /^Error parsing node selector: /,
  },
  'a pod selector that cannot be parsed': {
    spec: { dnsRecordSet: good(), match: { podLabel: 'a==b==c' } },
    error: /^Error parsing pod selector: /,
  },
  'a TTL that fits into no record': {
    spec: { dnsRecordSet: { ...good(), ttl: 4_294_967_296 } },
    error: 'spec.dnsRecordSet.ttl must be at most 2147483647',
  },
};

const INVALID_POOLS: Readonly<Record<string, { readonly spec: JsonObject; readonly error: string }>> = {
  'no addresses': { spec: { desiredIPs: 0 }, error: 'ips or desiredIPs must be provided' },
  'a record without a name': {
    spec: { ips: ['192.0.2.1'], dnsRecordSet: { zone: 'example.com' } },
    error: 'invalid dnsRecordSet specification',
  },
  'a DNS provider that there is not': {
    spec: { ips: ['192.0.2.1'], dnsRecordSet: { provider: 'acme', ...good() } },
    error: 'FloatingIPPool dns referenced provider without dns capability',
  },
};

/** What the API server says against the object; null when it takes it. */
const refusal = (creation: Promise<void>): Promise<string | null> =>
  creation.then(
    () => null,
    (error: unknown) => {
      if (error instanceof KubeClientError) return error.message;
      throw error;
    },
  );

function good(): JsonObject {
  return { zone: 'example.com', recordName: 'www' };
}

/** Specs that the schema refuses, on every API server. */
const REJECTED: Readonly<Record<string, JsonObject>> = {
  'a negative TTL': { dnsRecordSet: { ...good(), ttl: -1 } },
  'a TTL with a unit': { dnsRecordSet: { ...good(), ttl: '60s' } },
  'an unknown type of address': { dnsRecordSet: good(), addressType: 'PublicIP' },
};

/** A zone, a node, an operator, and the record set `good` that works: it alone is ever written. */
async function scene(names: Names, provider: Zone['provider']): Promise<Zone> {
  const zone = await names.zoneAt(provider);
  await names.zoneAt(provider === 'cloudflare' ? 'digitalocean' : 'cloudflare', 'other.example');
  zone.add({ type: 'CNAME', name: 'alias', data: 'elsewhere.example', ttl: 300 });
  await names.stage.nodes('a');
  await names.external('a', A);
  await names.start();
  await names.recordSet('good', { dnsRecordSet: { provider, zone: 'example.com', recordName: 'good' } });
  await names.stage.until('the good one works', async () => (await names.status('good')).state === 'active');
  return zone;
}

/** Only the good one was written, once. */
const untouched = (names: Names, zone: Zone): void => {
  expect(zone.records('good')).toEqual([`A ${A} 60`]);
  const clouds = [names.stage.cloud, names.cloudflare];
  const wrote = clouds.flatMap(({ calls }) => calls.select({ writes: true }).filter(({ path }) => path !== '/v2/domains'));
  expect(wrote.filter(({ status }) => status !== null && status < 300)).toHaveLength(1);
};

/** Refused by a server that knows the rules of the schema; told in the status by one that does not. */
async function refusedOrTold(names: Names, name: string, { spec, error }: Invalid): Promise<void> {
  const refused = await refusal(names.recordSet(name, spec));
  if (refused !== null) {
    expect(refused).toMatch(error);
    return;
  }
  await names.stage.until(`${name} says why`, async () => (await names.status(name)).state === 'error');
  const { error: said } = await names.status(name);
  expect(said).toEqual(typeof error === 'string' ? error : expect.stringMatching(error));
  expect(await names.degraded(name)).toMatchObject({ status: 'True', reason: 'InvalidSpec', message: said });
  await names.stage.until(`an Event about ${name}`, async () => (await names.events(name)).includes(`InvalidSpec: ${said}`));
}

describe('a wrong record set', () => {
  const { names: current } = named();

  for (const provider of PROVIDERS) {
    test(`at ${provider} is told in a condition and an Event, each in its own words, and nothing else is touched`, async () => {
      const names = current();
      const zone = await scene(names, provider);
      const cases = Object.values(REFUSED)
        .filter(({ at = provider }) => at === provider)
        .map((one, index) => ({ ...one, name: `wrong-${index}` }));
      for (const { name, dnsRecordSet } of cases) await names.recordSet(name, { dnsRecordSet: { provider, ...dnsRecordSet } });
      for (const { name, reason, told } of cases) {
        await names.stage.until(`${name} says why`, async () => (await names.status(name)).state === 'error');
        expect((await names.status(name)).error).toMatch(told);
        expect(await names.degraded(name)).toMatchObject({
          status: 'True',
          reason: expect.stringMatching(`^(${reason})$`),
          message: expect.stringMatching(told),
        });
        await names.stage.until(`an Event about ${name}`, async () =>
          (await names.events(name)).some((event) => new RegExp(`^(${reason}): `).test(event)),
        );
      }
      untouched(names, zone);
      // The same of a pool: its addresses serve all the same.
      const { ip } = names.stage.cloud.addReservedIP({ region: 'nyc3' });
      await names.stage.pool('poor', { ips: [ip], dnsRecordSet: { provider, zone: 'unknown.example', recordName: 'pool' } });
      await names.stage.until('the pool says why', async () => (await names.poolDegraded('poor'))?.reason === 'ZoneNotFound');
      expect((await names.poolDegraded('poor'))?.message).toContain('unknown.example');
      await names.stage.until('its address is active', async () => (await names.stage.activeOn('poor', ip)) === 'a');
      await names.editRecordSet('wrong-2', { dnsRecordSet: { recordName: 'right' } });
      await names.stage.until('one that is mended works', async () => (await names.status('wrong-2')).state === 'active');
      expect(zone.records('right')).toEqual([`A ${A} 60`]);
    });
  }

  test('that no provider needs to see is told in the status, and stops nothing that works', async () => {
    const names = current();
    const zone = await scene(names, 'digitalocean');
    for (const [index, one] of Object.values(INVALID).entries()) await refusedOrTold(names, `invalid-${index}`, one);
    for (const [index, { spec, error }] of Object.values(INVALID_POOLS).entries()) {
      const name = `invalid-pool-${index}`;
      const refused = await refusal(names.stage.pool(name, spec));
      if (refused !== null) expect(refused).toContain(error);
      else await names.stage.until(`${name} says why`, async () => (await names.stage.getPool(name)).status?.error === error);
    }
    for (const [what, spec] of Object.entries(REJECTED)) {
      await expect(names.recordSet('rejected', spec), what).rejects.toThrow(/ttl|addressType/);
    }
    untouched(names, zone);
  });

  test('that names a provider without a token says which variable to set', async () => {
    const names = current();
    await names.stage.nodes('a');
    const { ip } = names.stage.cloud.addReservedIP({ region: 'nyc3' });
    await names.start({}, null);
    const dnsRecordSet = { provider: 'cloudflare', ...good() };
    await names.recordSet('poor', { dnsRecordSet });
    await names.stage.pool('poor', { ips: [ip], dnsRecordSet });
    const error = 'provider "cloudflare" has no credentials: set CLOUDFLARE_TOKEN for the operator';
    await names.stage.until('the record set says so', async () => (await names.status('poor')).error === error);
    await names.stage.until('the pool says so', async () => (await names.stage.getPool('poor')).status?.error === error);
    expect(names.cloudflare.calls.all()).toEqual([]);
  });

  const lacks = { 'to write records': { dnsWrite: false }, 'to read them': { dnsRead: false } } as const;
  for (const [what, rights] of Object.entries(lacks)) {
    test(`whose token has no right ${what} says so, and works once it has`, async () => {
      const names = current();
      const zone = await names.zoneAt('cloudflare');
      names.cloudflare.allow(CLOUDFLARE_TOKEN, rights);
      await names.stage.nodes('a');
      await names.external('a', A);
      const operator = await names.start();
      await names.recordSet('poor', { dnsRecordSet: { provider: 'cloudflare', zone: 'example.com', recordName: 'nodes' } });
      await names.stage.until('it says so', async () => (await names.degraded('poor'))?.reason === 'Unauthorized');
      expect(zone.records('nodes')).toEqual([]);
      names.cloudflare.allow(CLOUDFLARE_TOKEN, {});
      await names.stage.until('it works', async () => (await names.status('poor')).state === 'active');
      expect(zone.records('nodes')).toEqual([`A ${A} 60`]);
      expect(JSON.stringify(operator.log)).not.toContain(CLOUDFLARE_TOKEN);
    });
  }

  test('whose DigitalOcean token may not touch domains says so, while the addresses of its pool serve', async () => {
    const names = current();
    const { stage } = names;
    const zone = await names.zoneAt('digitalocean');
    const forbidden = stage.cloud.faults.add({ kind: 'status', code: 403, match: { path: '^/v2/domains' } });
    await stage.nodes('a');
    const { ip } = stage.cloud.addReservedIP({ region: 'nyc3' });
    await names.start();
    await stage.pool('poor', { ips: [ip], dnsRecordSet: { zone: 'example.com', recordName: 'nodes' } });
    await stage.until('it says so', async () => (await names.poolDegraded('poor'))?.reason === 'Unauthorized');
    await stage.until('its address is active', async () => (await stage.activeOn('poor', ip)) === 'a');
    expect(zone.records('nodes')).toEqual([]);
    forbidden.remove();
    await stage.until('it is published', () => zone.records('nodes').length === 1);
    await stage.until('nothing is wrong any more', async () => (await names.poolDegraded('poor'))?.status === 'False');
  });

  test('of the process: with a token of one provider alone the flipop controller works', async () => {
    const names = current();
    const operator = await names.start({ token: null, flags: ['--controllers=flipop'] });
    await operator.ready();
  });
});
