import { describe, expect, test } from 'vitest';
import { type Condition, named } from '../e2e/named.ts';
import type { Stage } from '../e2e/stage.ts';

const condition = async (stage: Stage, pool: string, type: string): Promise<Condition | undefined> =>
  (((await stage.getPool(pool)).status?.conditions ?? []) as readonly Condition[]).find((one) => one.type === type);

/** Ages are told in whole seconds: of two that are made in one the name would decide. */
const untilASecondLater = (stage: Stage): Promise<void> => {
  const madeBy = Math.floor(Date.now() / 1000);
  return stage.until('another second', () => Math.floor(Date.now() / 1000) > madeBy);
};

/** Two objects of the same wish. */
describe('an address that two pools list', () => {
  const { names: current } = named();

  test('is the older one’s; the newer one says so, serves its others, and takes it over where it is when the older one goes', async () => {
    const { stage, start, events } = current();
    await stage.nodes('a', 'b', 'c');
    const address = () => stage.cloud.addReservedIP({ region: 'nyc3' }).ip;
    const [shared, ofOlder, ofNewer] = [address(), address(), address()];
    await start();
    // Named so that neither order of the alphabet nor that of the lists gives the right answer.
    await stage.pool('z-older', { ips: [ofOlder, shared] });
    await stage.until('both of the older one are active', async () => (await stage.getPool('z-older')).status?.activeIPs === 2);
    const on = stage.heldBy(shared);
    await untilASecondLater(stage);
    await stage.pool('a-newer', { ips: [shared, ofNewer] });

    await stage.until('the newer one serves its own', async () => (await stage.activeOn('a-newer', ofNewer)) !== null);
    await stage.until('it says so', async () => (await condition(stage, 'a-newer', 'Degraded'))?.reason === 'AddressConflict');
    const told = await condition(stage, 'a-newer', 'Degraded');
    expect([told?.status, told?.message]).toEqual(['True', expect.stringContaining('default/z-older')]);
    expect(told?.message).toContain(shared);
    expect((await condition(stage, 'a-newer', 'Ready'))?.status).toBe('False');
    expect((await stage.getPool('a-newer')).status?.ips?.[shared]).toMatchObject({ state: 'error' });
    await stage.until('an Event does', async () => (await events('a-newer')).some((event) => event.startsWith('AddressConflict: ')));
    expect((await condition(stage, 'z-older', 'Ready'))?.status).toBe('True');
    expect((await events('z-older')).filter((event) => event.startsWith('AddressConflict'))).toEqual([]);
    expect([stage.assigns().length, stage.assigns(shared).length, stage.heldBy(shared)]).toEqual([3, 1, on]);

    await stage.deletePool('z-older');
    await stage.until('the newer one has it', async () => (await stage.activeOn('a-newer', shared)) === on);
    await stage.until('nothing is wrong any more', async () => (await condition(stage, 'a-newer', 'Degraded'))?.status === 'False');
    await stage.until('the Node says so', async () => (await stage.annotation(on ?? '')) === shared, 10_000);
    expect([stage.assigns().length, stage.heldBy(shared)]).toEqual([3, on]);
  });

  test('by name of a record: the pool that is older has the name, the newer one says who has it', async () => {
    const { stage, start, zoneAt, poolDegraded } = current();
    const zone = await zoneAt('cloudflare');
    await stage.nodes('a', 'b');
    const [first, second] = [stage.cloud.addReservedIP({ region: 'nyc3' }).ip, stage.cloud.addReservedIP({ region: 'nyc3' }).ip];
    await start();
    await stage.pool('z-older', { ips: [first], dnsRecordSet: { provider: 'cloudflare', zone: zone.id, recordName: 'web.example.com' } });
    await stage.until('it is published', () => zone.records('web').length === 1);
    await untilASecondLater(stage);
    await stage.pool('a-newer', { ips: [second], dnsRecordSet: { provider: 'cloudflare', zone: zone.id, recordName: 'web' } });
    await stage.until('the newer one says so', async () => (await poolDegraded('a-newer'))?.reason === 'RecordConflict');
    await stage.until('its address serves', async () => (await stage.activeOn('a-newer', second)) !== null);
    expect((await poolDegraded('a-newer'))?.message).toContain('default/z-older');
    expect([await stage.activeOn('a-newer', second), zone.records('web')]).toEqual([stage.heldBy(second), [`A ${first} 60`]]);
    expect(zone.writes()).toHaveLength(1);

    await stage.deletePool('z-older');
    await stage.until('the newer one has the name', () => zone.records('web').join() === `A ${second} 60`);
    await stage.until('nothing is wrong any more', async () => (await poolDegraded('a-newer'))?.status === 'False');
  });
});
