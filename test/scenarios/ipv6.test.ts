import { describe, expect, test } from 'vitest';
import { type Names, named } from '../e2e/named.ts';

/** The pools `four` and `six`, with one address each on the same node, and a spare node. */
async function bothServed({ stage, start }: Names) {
  await stage.nodes('a', 'b');
  const four = stage.cloud.addReservedIP({ region: 'nyc3' }).ip;
  const six = stage.cloud.addReservedIP({ region: 'nyc3', family: 6 }).ip;
  const operator = await start();
  const dnsRecordSet = { zone: 'example.com', recordName: 'web' };
  await stage.pool('four', { ips: [four] });
  await stage.pool('six', { ips: [six.toUpperCase()], dnsRecordSet });
  await stage.until('both are active', async () => (await on(stage, 'four', four)) !== null && (await on(stage, 'six', six)) !== null);
  return { four, six, operator };
}

const on = ({ activeOn }: Names['stage'], pool: string, address: string) => activeOn(pool, address);

describe('an IPv6 address', () => {
  const { names: current } = named();

  test('stands beside an IPv4 one on a node, in the status, the annotations and DNS; both fail over', async () => {
    const names = current();
    const { stage } = names;
    const zone = await names.zoneAt('digitalocean');
    const { four, six, operator } = await bothServed(names);
    expect([stage.heldBy(four), stage.heldBy(six)]).toEqual(['a', 'a']);
    await names.recordSet('nodes', {
      addressType: 'flipop.digitalocean.com/ipv6-reserved-ip',
      dnsRecordSet: { zone: 'example.com', recordName: 'nodes' },
    });
    const annotated = (node: string) => Promise.all([stage.annotation(node), stage.annotation(node, 6)]);
    const untilAnnotated = (node: string) =>
      stage.until(`${node} bears both`, async () => (await annotated(node)).join() === [four, six].join());
    await untilAnnotated('a');
    await stage.until('both record sets list it', () => zone.records('web').length > 0 && zone.records('nodes').length > 0);
    expect([zone.records('web'), zone.records('nodes')]).toEqual([[`AAAA ${six} 60`], [`AAAA ${six} 60`]]);

    await stage.notReady('a');
    await stage.until('both are active on b', async () =>
      (await Promise.all([on(stage, 'four', four), on(stage, 'six', six)])).every((node) => node === 'b'),
    );
    expect([stage.heldBy(four), stage.heldBy(six)]).toEqual(['b', 'b']);
    await untilAnnotated('b');
    await stage.until('a bears none', async () => (await annotated('a')).every((borne) => borne === null));
    // While the action of one goes on the droplet refuses the other, which tries again.
    for (const address of [four, six]) {
      const holders = stage.cloud.state.history(address).map(({ dropletId }) => dropletId);
      expect([holders.length, holders[0]]).toEqual([3, null]);
      expect(new Set(stage.assigns(address).map(({ node }) => node))).toEqual(new Set(['a', 'b']));
    }
    expect(operator.log.filter(({ level }) => level === 'error')).toEqual([]);
    expect(await operator.stop()).toBe(0);
  });

  test('that nobody can list any more holds up no IPv4 address, also under the next leader', async () => {
    const names = current();
    const { stage, start } = names;
    const { four, six, operator } = await bothServed(names);
    expect(await operator.stop()).toBe(0);
    stage.cloud.faults.add({ kind: 'status', code: 503, match: { path: '^/v2/reserved_ipv6\\?' } });
    const next = await start();
    await stage.until('its pool says that it is not read', async () =>
      (await names.events('six')).some((event) => event.includes('the IPv6 addresses of digitalocean could not be read yet')),
    );
    expect((await next.metrics('/readyz')).text).toContain('the IPv6 addresses of digitalocean could not be read yet');
    await stage.notReady('a');
    await stage.until('the IPv4 address is active on b', async () => (await on(stage, 'four', four)) === 'b');
    expect(stage.heldBy(six)).toBe('a');
    stage.cloud.faults.clear();
    await stage.until('so is the IPv6 address', async () => (await on(stage, 'six', six)) === 'b', 60_000);
    expect(await next.stop()).toBe(0);
  });

  for (const code of [422, 500])
    test(`that cannot be moved from one Droplet to another (${code}) is taken off the one first`, async () => {
      const names = current();
      const { stage } = names;
      const { six } = await bothServed(names);
      stage.cloud.faults.add({ kind: 'noDirectMove', code });
      await stage.notReady('a');
      await stage.until('it is active on b', async () => (await on(stage, 'six', six)) === 'b', 60_000);
      const holders = stage.cloud.state.history(six).map(({ dropletId }) => dropletId === null);
      expect(holders).toEqual([true, false, true, false]);
    });

  test('goes to another node where IPv6 is not enabled, and says so', async () => {
    const names = current();
    const { stage } = names;
    await stage.nodesWithoutIPv6('a');
    await stage.nodes('b');
    const { ip } = stage.cloud.addReservedIP({ region: 'nyc3', family: 6 });
    await names.start();
    await stage.pool('six', { ips: [ip] });
    await stage.until('it is active', async () => (await on(stage, 'six', ip)) === 'b');
    await stage.until('an Event tells why not on a', async () =>
      (await names.events('six')).some((event) => event.includes('IPv6 is not enabled on the droplet')),
    );
    expect(stage.assigns(ip).map(({ node }) => node)).toEqual(['a', 'b']);
  });

  test('is refused in one pool with IPv4 ones, and in greater number than it is listed; nothing is called for', async () => {
    const names = current();
    const { stage } = names;
    await stage.nodes('a', 'b');
    const four = stage.cloud.addReservedIP({ region: 'nyc3' }).ip;
    const six = stage.cloud.addReservedIP({ region: 'nyc3', family: 6 }).ip;
    await names.start();
    await stage.pool('mixed', { ips: [four, six] });
    await stage.pool('more', { ips: [six], desiredIPs: 2 });
    const errorOf = async (pool: string) => (await stage.getPool(pool)).status?.error ?? '';
    await stage.until('both say so', async () => (await errorOf('mixed')) !== '' && (await errorOf('more')) !== '');
    expect(await errorOf('mixed')).toBe(
      `ips lists IPv4 addresses (${four}) and IPv6 addresses (${six}): give each family a pool of its own`,
    );
    expect(await errorOf('more')).toBe(
      'desiredIPs is 2, but ips lists 1 IPv6 address: list the others too, IPv6 addresses are not created',
    );
    await stage.editPool('mixed', { ips: [four] });
    await stage.until('it serves', async () => (await on(stage, 'mixed', four)) !== null);
    expect(stage.assigns().map(({ address }) => address)).toEqual([four]);
    expect(stage.cloud.state.reservedIPs.size).toBe(2);
  });
});
