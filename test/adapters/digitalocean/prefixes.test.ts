import { describe, expect, onTestFinished, test } from 'vitest';
import type { Call } from '../../../actors/ports/provider.ts';
import type { Address, ProviderID } from '../../../machines/model/types.ts';
import { failure } from '../../contracts/provider-harness.ts';
import { startTestBed } from './support.ts';

const read: Call = { purpose: 'verify' };
const write: Call = { purpose: 'failover' };
const ADDRESS = '198.51.100.7' as Address;

async function testBed() {
  const bed = await startTestBed();
  onTestFinished(bed.close);
  const { simulator, provider } = bed;
  const { id } = simulator.addDroplet({ name: 'a', region: 'nyc3' });
  const held = () => provider.findRoutedIP(ADDRESS, read);
  return { ...bed, node: `digitalocean://${id}` as ProviderID, held };
}

describe('an address of a prefix that the account has brought along', () => {
  test('is unassigned while it is on no Droplet and no answer knows it, and comes and goes with its assignment', async () => {
    const { simulator, provider, node, held } = await testBed();
    simulator.addPrefix({ prefix: '203.0.113.0/25', region: 'sfo3' });
    simulator.addPrefix({ prefix: '198.51.100.0/24', region: 'nyc3' });
    const free = { address: ADDRESS, region: 'nyc3', providerID: null, locked: false };
    expect(await provider.findRoutedIP(ADDRESS, read)).toEqual(free);
    expect(await provider.listRoutedIPs({ ...read, family: 4 })).toEqual([]);
    await provider.assignRoutedIP(ADDRESS, node, write);
    await expect.poll(held).toMatchObject({ providerID: node });
    expect(await provider.listRoutedIPs({ ...read, family: 4 })).toMatchObject([{ address: ADDRESS, providerID: node }]);
    await provider.unassignRoutedIP(ADDRESS, write);
    await expect.poll(held).toEqual(free);
  });

  test('is not one of a prefix that is not active, of another one, or of one that the token may not see', async () => {
    const { simulator, provider } = await testBed();
    simulator.addPrefix({ prefix: '198.51.100.0/25', region: 'nyc3', status: 'in_progress' });
    simulator.addPrefix({ prefix: '198.51.100.128/25', region: 'nyc3' });
    const missing = async () => (await failure(provider.findRoutedIP(ADDRESS, read))).kind;
    expect(await missing()).toBe('NotFound');
    for (const code of [401, 403, 404]) {
      const fault = simulator.faults.add({ kind: 'status', code, match: { path: '^/v2/byoip_prefixes' } });
      expect([code, await missing()]).toEqual([code, 'NotFound']);
      fault.remove();
    }
    simulator.faults.add({ kind: 'status', code: 503, match: { path: '^/v2/byoip_prefixes' } });
    expect(await missing(), 'nobody can tell').toBe('Unavailable');
  });
});

describe('a reserved IPv6 address that cannot be moved from one Droplet to another', () => {
  test.each([422, 400, 500])('%i: is taken off the one first, and then assigned to the other', async (code) => {
    const { simulator, provider } = await testBed();
    const [one, two] = ['b', 'c'].map((name) => simulator.addDroplet({ name, region: 'nyc3', ipv6: true }).id);
    const address = simulator.addReservedIP({ region: 'nyc3', family: 6, ...(one && { dropletId: one }) }).ip as Address;
    simulator.faults.add({ kind: 'noDirectMove', code });
    const refused = await failure(provider.assignRoutedIP(address, `digitalocean://${two}` as ProviderID, write));
    expect(refused).toMatchObject(
      code === 500 ? { kind: 'Unavailable', unknownOutcome: true } : { kind: 'InProgress', unknownOutcome: false },
    );
    const holder = async () => (await provider.findRoutedIP(address, read)).providerID;
    await expect.poll(holder).toBeNull();
    await provider.assignRoutedIP(address, `digitalocean://${two}` as ProviderID, write);
    await expect.poll(holder).toBe(`digitalocean://${two}`);
  });
});
