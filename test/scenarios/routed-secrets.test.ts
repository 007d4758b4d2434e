import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { INVENTORY_KEY, INVENTORY_NAME } from '../../machines/status/inventory.ts';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { FIREWALL, GROUP, routedStage } from '../e2e/routed.ts';
import { MAY_READ_SECRETS, NAMESPACE } from '../e2e/routed-objects.ts';
import { textsIn } from '../support/redis-texts.ts';

const FIRST = 'dop_v1_first_0123456789abcdef';
const SECOND = 'dop_v1_second_fedcba9876543210';
const SECRET = { apiVersion: 'v1', kind: 'Secret', namespace: NAMESPACE, name: 'do-token' };

const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex');
const encoded = (token: string): string => Buffer.from(token).toString('base64');
const secret = (token: string): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: SECRET.name, namespace: NAMESPACE },
  data: { DIGITALOCEAN_ACCESS_TOKEN: encoded(token) },
});

/** RoutedIPs whose issuer takes its token from a Secret of the namespace; the operator has none of its own. */
describe('the token of an issuer', () => {
  const { routed } = routedStage();

  async function opened() {
    const world = routed();
    await world.addFirewall();
    world.stage.cloud.setTokens([FIRST]);
    await world.put(MAY_READ_SECRETS);
    await world.put({
      apiVersion: GROUP,
      kind: 'RoutedIPIssuer',
      metadata: { name: 'own', namespace: NAMESPACE },
      spec: {
        issuerClass: 'digitalocean',
        region: 'nyc3',
        routedIPFirewallName: FIREWALL,
        nodePortRange: '31000-32767',
        fromSecretsRef: [{ name: SECRET.name }],
      },
    });
    await world.stage.nodes('a', 'b');
    await world.service('shop', ['a', 'b']);
    const operator = await world.stage.start({ token: null, flags: ['--debug'] });
    await world.routedIP('shop', { className: null, issuerRef: { name: 'own' } });
    const { client } = world.stage.target;
    const rotate = async (token: string) => void (await client.patch(SECRET, { data: secret(token).data ?? {} }));
    const issuer = async () =>
      JSON.stringify(await client.get({ apiVersion: GROUP, kind: 'RoutedIPIssuer', namespace: NAMESPACE, name: 'own' }));
    return { world, operator, rotate, issuer, client };
  }

  /** The same with the Secret, and an address. */
  async function shop() {
    const situation = await opened();
    const { world } = situation;
    await world.put(secret(FIRST));
    const address = await world.stable('shop');
    const holder = world.stage.heldBy(address) ?? '';
    return { ...situation, address, holder, other: holder === 'a' ? 'b' : 'a' };
  }

  test('is waited for, and used as soon as the Secret is there', async () => {
    const { world, operator, issuer } = await opened();
    expect(await world.degraded('shop', 'SecretNotFound')).toBe('Secret default/do-token is not there');
    await world.stage.until('the issuer says so, too', async () => (await issuer()).includes('Secret default/do-token is not there'));
    expect(world.stage.cloud.calls.all().filter(({ path }) => !path.startsWith('/v2/firewalls'))).toEqual([]);
    await operator.ready();
    await world.put(secret(FIRST));
    await world.stable('shop');
    await world.stage.until('the issuer is ready', async () => !(await issuer()).includes('SecretNotFound'));
    expect(world.changes()).toEqual(['POST /v2/firewalls', 'CreateRoutedIP', 'AddPort', 'AddNode', 'AssignRoutedIP']);
  });

  test('is changed without a restart: what is done next is done with the new one', async () => {
    const { world, rotate, holder, other, address } = await shop();
    world.stage.cloud.setTokens([FIRST, SECOND]);
    await rotate(SECOND);
    const usesSecond = () => world.stage.cloud.calls.all().some(({ tokenHash }) => hashOf(SECOND).startsWith(tokenHash));
    await world.stage.until('the new one is used', usesSecond);
    world.stage.cloud.setTokens([SECOND]);
    const before = world.lastCall();
    await world.stage.notReady(holder);
    await world.stable('shop', other);
    // What is read for a verification may have begun before the Secret was changed.
    const done = world.stage.cloud.calls.select({ since: before, writes: true });
    expect(done.length).toBeGreaterThan(1);
    expect(done.filter(({ tokenHash, status }) => status === 401 || !hashOf(SECOND).startsWith(tokenHash))).toEqual([]);
    expect(world.stage.heldBy(address)).toBe(other);
  });

  test('that is refused is told, keeps nothing from serving, and is no trouble once the Secret has another one', async () => {
    const { world, rotate, holder, other, address } = await shop();
    world.stage.cloud.setTokens([SECOND]);
    await world.stage.notReady(holder);
    expect(await world.degraded('shop', 'Unauthorized')).toContain(address);
    expect(world.stage.heldBy(address)).toBe(holder);
    await rotate(SECOND);
    await world.stable('shop', other);
    expect(world.stage.heldBy(address)).toBe(other);
    await world.stage.until('nothing is wrong', async () => (await world.condition('shop'))?.reason === 'AsExpected');
  });

  test('that is gone while an address serves leaves it where it is, and goes on with the next Secret', async () => {
    const { world, client, holder, other, address } = await shop();
    const before = world.lastCall();
    await client.delete(SECRET);
    expect(await world.degraded('shop', 'SecretNotFound')).toBe('Secret default/do-token is not there');
    expect(world.changes(before)).toEqual([]);
    await world.put(secret(FIRST));
    await world.stage.until('nothing is wrong', async () => (await world.condition('shop'))?.reason === 'AsExpected');
    expect([world.changes(before), world.stage.heldBy(address)]).toEqual([[], holder]);
    await world.stage.notReady(holder);
    await world.stable('shop', other);
  });

  test('that is none, a letter that stands everywhere, is refused with the reason, moves nothing, and leaves the log readable', async () => {
    const { world, operator, rotate, issuer, holder } = await shop();
    const before = world.lastCall();
    await rotate('e');
    const key = 'under its key DIGITALOCEAN_ACCESS_TOKEN';
    const why = `Secret default/do-token has no token ${key} but a text shorter than 16 characters: put the token of the provider there`;
    expect(await world.degraded('shop', 'SecretNotFound')).toBe(why);
    await world.stage.until('the issuer says so, too', async () => (await issuer()).includes(why));
    expect([world.changes(before), JSON.stringify(operator.log).includes('[redacted')]).toEqual([[], false]);
    await rotate(FIRST);
    await world.stage.until('nothing is wrong', async () => (await world.condition('shop'))?.reason === 'AsExpected');
    expect([world.changes(before), world.stage.heldBy((await world.status('shop'))?.routedIP ?? '')]).toEqual([[], holder]);
  });

  test('stands nowhere: not in logs, metrics, statuses, Events or Redis, nor in the inventory', async () => {
    const { world, operator, issuer, rotate, client, holder, other } = await shop();
    world.stage.cloud.setTokens([SECOND]);
    await world.stage.notReady(holder);
    await world.degraded('shop', 'Unauthorized');
    const midway = await textsIn(world.stage.redis);
    await rotate(SECOND);
    await world.stable('shop', other);
    const inventory = async () => {
      const object = await client.get({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'routedip-operator', name: INVENTORY_NAME });
      const data = object.binaryData as Readonly<Record<string, string>>;
      return gunzipSync(Buffer.from(data[INVENTORY_KEY] ?? '', 'base64')).toString();
    };
    await world.stage.until('the account is in the inventory', async () => (await inventory().catch(() => '')).includes(`@${NAMESPACE}.`));
    const shown = {
      logs: `${JSON.stringify(operator.log)}${operator.noise.join('\n')}`,
      metrics: (await operator.metrics()).text,
      statuses: `${JSON.stringify(await world.status('shop'))}${await issuer()}`,
      events: JSON.stringify(await client.list('v1', 'Event', { namespace: NAMESPACE })),
      redis: `${midway}${await textsIn(world.stage.redis)}`,
      inventory: await inventory(),
    };
    expect(shown.redis).toContain('rip/default/shop');
    for (const [where, text] of Object.entries(shown)) {
      expect(text.length, where).toBeGreaterThan(200);
      for (const token of [FIRST, SECOND]) {
        expect(text, where).not.toContain(token);
        expect(text, where).not.toContain(encoded(token));
      }
      expect(text, where).not.toContain('dop_v1_');
    }
  });
});
