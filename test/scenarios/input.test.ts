import { describe, expect, onTestFinished, test } from 'vitest';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { staged } from '../e2e/served.ts';
import type { Stage } from '../e2e/stage.ts';

/** Specs that the API server lets through and the operator refuses, with the text of status.error. */
const REFUSED: Readonly<Record<string, { readonly spec: JsonObject; readonly error: string | RegExp }>> = {
  'an unknown provider': { spec: { provider: 'acme', ips: ['192.0.2.1'] }, error: 'unknown provider "acme"' },
  'a provider without addresses': {
    spec: { provider: 'cloudflare', ips: ['192.0.2.1'] },
    error: 'provider "cloudflare" does not provide floating IPs',
  },
  'a node selector that cannot be parsed': {
    spec: { ips: ['192.0.2.1'], match: { nodeLabel: 'a in (b' } },
    error: /^Error parsing node selector: /,
  },
  'a pod selector that cannot be parsed': {
    spec: { ips: ['192.0.2.1'], match: { podLabel: 'a==b==c' } },
    error: /^Error parsing pod selector: /,
  },
  'a DNS provider that knows no DNS': {
    spec: { ips: ['192.0.2.1'], dnsRecordSet: { provider: 'acme', zone: 'example.com', recordName: 'www' } },
    error: 'FloatingIPPool dns referenced provider without dns capability',
  },
};

/** Specs that the schema refuses, on every API server. */
const REJECTED: Readonly<Record<string, JsonObject>> = {
  'no IPv4 address': { ips: ['999.1.1.1'] },
  'an address with leading zeros': { ips: ['010.1.1.1'] },
  'an address that is listed twice': { ips: ['192.0.2.1', '192.0.2.1'] },
  'a number where a list belongs': { ips: 7 },
  'a negative number of addresses': { desiredIPs: -1 },
};

const eventsOf = async (stage: Stage, name: string): Promise<readonly string[]> => {
  const events = await stage.target.client.list('events.k8s.io/v1', 'Event', { namespace: 'default' });
  return events
    .filter(({ regarding }) => (regarding as { name?: string } | undefined)?.name === name)
    .map(({ reason, note }) => `${reason}: ${note}`);
};

/** What users get wrong, and what they are told. */
describe('a wrong manifest', () => {
  const { stage: current, served } = staged();

  test('that the schema lets through is told in the status and by an Event, each in its own words', async () => {
    const stage = current();
    await stage.start();
    const names = Object.keys(REFUSED).map((_, index) => `wrong-${index}`);
    for (const [index, { spec }] of Object.values(REFUSED).entries()) await stage.pool(`wrong-${index}`, spec);
    for (const [index, { error }] of Object.values(REFUSED).entries()) {
      await stage.until(
        `the status of wrong-${index} says why`,
        async () => (await stage.getPool(`wrong-${index}`)).status?.error !== undefined,
      );
      const told = (await stage.getPool(`wrong-${index}`)).status;
      expect(told?.error).toEqual(typeof error === 'string' ? error : expect.stringMatching(error));
      expect(told?.conditions?.find(({ type }) => type === 'Degraded')).toMatchObject({
        status: 'True',
        reason: 'InvalidSpec',
        message: told?.error,
      });
    }
    for (const name of names) {
      const { status } = await stage.getPool(name);
      await stage.until(`an Event about ${name}`, async () => (await eventsOf(stage, name)).includes(`InvalidSpec: ${status?.error}`));
    }
    expect(stage.cloud.calls.select({ writes: true })).toEqual([]);
  });

  test('is refused by the schema with the field that is wrong', async () => {
    const stage = current();
    for (const spec of Object.values(REJECTED)) {
      await expect(stage.pool('rejected', spec)).rejects.toThrow(/spec\.(ips|desiredIPs)/);
    }
  });

  test('stops a pool that worked, keeps what is assigned, and a right one goes on', async () => {
    const { stage, ip, holder } = await served();
    await stage.editPool('ingress', { match: { nodeLabel: 'a in (b' } });
    await stage.until('the status says why', async () =>
      ((await stage.getPool('ingress')).status?.error ?? '').startsWith('Error parsing node selector'),
    );
    expect(stage.heldBy(ip)).toBe(holder);
    await stage.editPool('ingress', { match: { nodeLabel: 'pool=work' } });
    await stage.until('the address is active again', async () => {
      const { status } = await stage.getPool('ingress');
      return status?.error === undefined && status?.activeIPs === 1;
    });
    expect(stage.assigns(ip)).toHaveLength(1);
  });

  test('with metadata.managedFields of thousands of levels, which servers store as it comes, keeps nobody else from being served', async () => {
    const stage = current();
    const { client } = stage.target;
    const fieldsV1 = JSON.parse(`${'{"f:a":'.repeat(3_000)}{}${'}'.repeat(3_000)}`) as JsonObject;
    const managedFields = [{ manager: 'anybody', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1 }];
    const metadata = { name: 'deep', namespace: 'default', managedFields };
    const deep = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [{ name: 'a', image: 'a' }] } };
    await client.create(deep);
    onTestFinished(async () => void (await client.delete({ apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'deep' })));
    await stage.nodes('a');
    const { ip } = stage.cloud.addReservedIP({ region: 'nyc3' });
    await stage.pool('ingress', { ips: [ip] });
    await stage.start();
    await stage.until('its address is active', async () => (await stage.activeOn('ingress', ip)) === 'a');
  });

  test('is not needed to learn that the token is missing: the pool says which variable to set', async () => {
    const stage = current();
    const operator = await stage.start({ token: null });
    await stage.pool('poor', { ips: ['192.0.2.1'] });
    await stage.until('the status says so', async () => (await stage.getPool('poor')).status?.error !== undefined);
    expect((await stage.getPool('poor')).status?.error).toContain('DIGITALOCEAN_ACCESS_TOKEN');
    await operator.ready();
  });

  test('is not needed to learn that the token is none: the pool says why, the log too, which can be read as ever', async () => {
    const stage = current();
    const operator = await stage.start({ token: 'e' });
    await stage.pool('poor', { ips: ['192.0.2.1'] });
    await stage.until('the status says so', async () => (await stage.getPool('poor')).status?.error !== undefined);
    const why = 'DIGITALOCEAN_ACCESS_TOKEN of the operator is no token but a text shorter than 16 characters';
    expect((await stage.getPool('poor')).status?.error).toContain(why);
    await operator.ready();
    expect(JSON.stringify(operator.log)).toContain(why);
    expect(JSON.stringify(operator.log)).not.toContain('[redacted');
  });

  test('of the process is told at once: the flipop controller without a token ends with 1', async () => {
    const operator = await current().start({ token: null, flags: ['--controllers=flipop'] });
    expect(await operator.exited).toBe(1);
    expect(operator.log.at(-1)?.error).toContain('DIGITALOCEAN_ACCESS_TOKEN');
  });

  test('of the process is told at once: a wrong flag ends with 2', async () => {
    const operator = await current().start({ flags: ['--verify-interval=soon'] });
    expect(await operator.exited).toBe(2);
    expect(operator.noise.join('\n')).toContain('"soon" is no duration');
  });

  test('or Redis or an API server that is not there is told by /readyz, and the operator waits for it', async () => {
    const stage = current();
    await stage.redis.crash();
    const operator = await stage.start();
    await stage.until('readyz names Redis', async () => /redis: .+/.test((await operator.metrics('/readyz')).text));
    const secret = (await operator.metrics('/readyz')).text + JSON.stringify(operator.log);
    expect(secret).not.toContain('test-token-0123456789');
    await stage.redis.restart();
    await operator.ready(60_000);
  });
});
