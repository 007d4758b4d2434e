import { afterEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { CLOUDFLARE_TOKEN, type Names, named } from '../e2e/named.ts';
import type { Operator } from '../support/operator.ts';
import { plugin } from '../support/plugin.ts';
import { textsIn } from '../support/redis-texts.ts';

const FIRST = 'dop_v1_first_0123456789abcdef';
const SECOND = 'dop_v1_second_fedcba9876543210';
const NAMESPACE = 'routedip-operator';
const SECRET = { apiVersion: 'v1', kind: 'Secret', namespace: NAMESPACE, name: 'own-tokens' };
const [A, B] = ['203.0.113.1', '203.0.113.2'];

const dataOf = (tokens: Readonly<Record<string, string>>): JsonObject =>
  Object.fromEntries(Object.entries(tokens).map(([key, token]) => [key, Buffer.from(token).toString('base64')]));

/** The operator's own tokens in a Secret. Objects are told again so seldom that only the change itself can be what they hear. */
describe('the tokens of the operator itself, in a Secret', () => {
  const { names: current } = named();
  afterEach(() =>
    current()
      .stage.target.client.delete(SECRET)
      .catch(() => undefined),
  );

  const create = ({ stage }: Names, tokens: Readonly<Record<string, string>>): Promise<unknown> =>
    stage.target.client.create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: SECRET.name, namespace: NAMESPACE },
      data: dataOf(tokens),
    });
  const change = ({ stage }: Names, tokens: Readonly<Record<string, string | null>>): Promise<unknown> => {
    const data = Object.fromEntries(Object.entries(tokens).map(([key, token]) => [key, token && Buffer.from(token).toString('base64')]));
    return stage.target.client.patch(SECRET, { data });
  };
  const start = (names: Names, flags: readonly string[] = []) =>
    names.start(
      { token: null, flags: ['--tokens-secret=routedip-operator/own-tokens', '--resync-interval=1h', '--debug', ...flags] },
      null,
    );
  const untilActive = ({ stage }: Names, node?: string): Promise<void> =>
    stage.until('the address is active', async () => {
      const on = await stage.activeOn('ingress', A);
      return on !== null && (node === undefined || on === node);
    });
  /** Lines about providers of /readyz, which is ready all the same. */
  const noticesOf = async (operator: Operator): Promise<readonly string[]> => {
    const { status, text } = await operator.metrics('/readyz');
    expect([status, text]).toEqual([200, expect.stringMatching(/^ok$/m)]);
    return text.split('\n').filter((line) => line.startsWith('providers: '));
  };

  /** A pool with one address on two nodes. */
  async function opened(): Promise<Names> {
    const names = current();
    names.stage.cloud.setTokens([FIRST]);
    names.stage.cloud.addReservedIP({ region: 'nyc3', ip: A });
    await names.stage.nodes('a', 'b');
    await names.stage.pool('ingress', { ips: [A], desiredIPs: 1 });
    return names;
  }

  test('are waited for, a wrong one is told, and the right one serves at once', async () => {
    const names = await opened();
    const { stage } = names;
    const operator = await start(names);
    await stage.until('what is missing is told', async () =>
      Boolean((await names.poolDegraded('ingress'))?.message.includes('Secret routedip-operator/own-tokens is not there')),
    );
    expect(await noticesOf(operator)).toEqual([]);
    await create(names, { DIGITALOCEAN_ACCESS_TOKEN: SECOND });
    const refusal = 'the addresses of digitalocean could not be read yet: ';
    await stage.until('/readyz tells of the refusal', async () => (await noticesOf(operator)).length > 0);
    expect(await noticesOf(operator)).toEqual([expect.stringMatching(`^providers: ${refusal}.*401`)]);
    stage.cloud.addReservedIP({ region: 'nyc3', ip: B });
    await stage.pool('later', { ips: [B] });
    for (const pool of ['ingress', 'later'])
      await stage.until(`${pool} says so, too`, async () => (await names.poolDegraded(pool))?.reason === 'ProviderUnread');
    await stage.until('the one that was created meanwhile has an Event', async () =>
      (await names.events('later')).some((said) => said.startsWith(`ProviderUnread: ${refusal}`)),
    );
    const { stdout } = await plugin(stage.target.adminKubeconfig, 'status', '-A');
    if (process.env.SHOW) console.log(stdout);
    expect(stdout).toMatch(new RegExp(`later.*${B}.*ProviderUnread`));
    expect(stdout).toContain(`floatingippool/later in default, ${B}: ProviderUnread: ${refusal}`);
    expect(stdout).not.toContain('no operator has looked');
    await change(names, { DIGITALOCEAN_ACCESS_TOKEN: FIRST });
    await untilActive(names);
    await stage.until('the other one is active', async () => (await stage.activeOn('later', B)) !== null);
    await stage.until('nothing is wrong', async () => (await names.poolDegraded('ingress'))?.reason === 'AsExpected');
    expect(await noticesOf(operator)).toEqual([]);
  });

  test('are changed without a restart: the next failover is done with the new one', async () => {
    const names = await opened();
    const { stage } = names;
    await create(names, { DIGITALOCEAN_ACCESS_TOKEN: FIRST });
    await start(names);
    await untilActive(names);
    const holder = stage.heldBy(A) ?? '';
    stage.cloud.setTokens([SECOND]);
    await stage.notReady(holder);
    await stage.until('the refusal is told', async () => (await names.poolDegraded('ingress'))?.reason === 'Unauthorized');
    await change(names, { DIGITALOCEAN_ACCESS_TOKEN: SECOND });
    await untilActive(names, holder === 'a' ? 'b' : 'a');
  });

  test.each(['digitalocean', 'cloudflare'] as const)(
    'are changed while records at %s are refused: they are written at once',
    async (provider) => {
      const names = current();
      const { stage } = names;
      const zone = await names.zoneAt(provider);
      stage.cloud.setTokens([FIRST]);
      await stage.nodes('a');
      await names.external('a', '198.51.100.1');
      await create(names, { DIGITALOCEAN_ACCESS_TOKEN: SECOND, CLOUDFLARE_TOKEN: 'not-the-token-of-anybody' });
      // Only what a change of the Secret brings about is soon.
      const operator = await start(names, ['--verify-interval=1h', '--backoff-slow=1h', '--backoff-fast=1h']);
      await names.recordSet('nodes', { provider, dnsRecordSet: { zone: 'example.com', recordName: 'nodes.example.com', ttl: 120 } });
      await stage.until('the refusal is told', async () => (await names.degraded('nodes'))?.reason === 'Unauthorized');
      await change(names, { DIGITALOCEAN_ACCESS_TOKEN: FIRST, CLOUDFLARE_TOKEN });
      await stage.until('they are written', () => zone.records('nodes').includes('A 198.51.100.1 120'));
      // Nobody asks for addresses there.
      expect((await operator.metrics('/readyz')).text).not.toContain('could not be read');
    },
  );

  test('that come one by one serve those who waited for them, and one of the environment goes before', async () => {
    const names = current();
    const { stage } = names;
    const zone = await names.zoneAt('cloudflare');
    stage.cloud.setTokens([FIRST]);
    stage.cloud.addReservedIP({ region: 'nyc3', ip: A });
    await stage.nodes('a');
    await create(names, { DIGITALOCEAN_ACCESS_TOKEN: SECOND });
    await names.start({ token: FIRST, flags: ['--tokens-secret=routedip-operator/own-tokens', '--resync-interval=1h'] }, null);
    const dnsRecordSet = { provider: 'cloudflare', zone: 'example.com', recordName: 'web.example.com', ttl: 120 };
    await stage.pool('ingress', { ips: [A], desiredIPs: 1, dnsRecordSet });
    await stage.until('what is missing is told', async () =>
      Boolean((await names.poolDegraded('ingress'))?.message.includes('own-tokens has no key CLOUDFLARE_TOKEN')),
    );
    await change(names, { CLOUDFLARE_TOKEN });
    await untilActive(names);
    await stage.until('the record is written', () => zone.records('web').includes(`A ${A} 120`));
    expect(stage.cloud.calls.all().filter(({ status }) => status === 401)).toEqual([]);
  });

  test('stand nowhere: not in logs, metrics, /readyz, statuses, Events or Redis', async () => {
    const names = await opened();
    const { stage } = names;
    await create(names, { DIGITALOCEAN_ACCESS_TOKEN: FIRST });
    const operator = await start(names);
    await untilActive(names);
    await change(names, { DIGITALOCEAN_ACCESS_TOKEN: SECOND });
    await stage.until('the refusal is told', async () => (await names.poolDegraded('ingress'))?.reason !== 'AsExpected');
    await stage.until('it is in /readyz, too', async () =>
      (await noticesOf(operator)).some((line) =>
        line.startsWith('providers: the addresses of digitalocean cannot be verified: the provider refuses the token: '),
      ),
    );
    const shown = {
      logs: `${JSON.stringify(operator.log)}${operator.noise.join('\n')}`,
      metrics: (await operator.metrics()).text,
      readyz: (await operator.metrics('/readyz')).text,
      status: JSON.stringify(await stage.getPool('ingress')),
      events: JSON.stringify(await names.events('ingress')),
      redis: await textsIn(stage.redis),
    };
    for (const [where, text] of Object.entries(shown)) {
      expect(text.length, where).toBeGreaterThan(20);
      for (const token of [FIRST, SECOND, ...Object.values(dataOf({ FIRST, SECOND }))]) expect(text, where).not.toContain(token);
    }
  });
});
