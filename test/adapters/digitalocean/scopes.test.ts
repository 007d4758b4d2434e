import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Call } from '../../../actors/ports/provider.ts';
import type { Address, ProviderID } from '../../../machines/model/types.ts';
import { failure } from '../../contracts/provider-harness.ts';
import { secret, startTestBed } from './support.ts';

const read: Call = { purpose: 'verify' };
const all = { ...read, family: 4 } as const;
const MISSING = { kind: 'Unauthorized', message: expect.stringContaining('the token lacks the scope droplet:read') };

async function testBed() {
  const bed = await startTestBed();
  onTestFinished(bed.close);
  const { id } = bed.simulator.addDroplet({ name: 'a', region: 'nyc3', tags: ['web'] });
  const droplets = () => bed.simulator.calls.all().filter(({ path }) => path.startsWith('/v2/droplets?')).length;
  return { ...bed, id, node: `digitalocean://${id}` as ProviderID, droplets };
}

describe('a token without droplet:read', () => {
  test('is told apart from one whose addresses are on no Droplet', async () => {
    const { simulator, provider, id, node } = await testBed();
    const address = simulator.addReservedIP({ region: 'nyc3', dropletId: id }).ip as Address;
    simulator.faults.add({ kind: 'lacksScope', scope: 'droplet:read' });
    expect(await failure(provider.listRoutedIPs(all))).toMatchObject(MISSING);
    expect(await failure(provider.findRoutedIP(address, read))).toMatchObject(MISSING);
    simulator.addReservedIP({ region: 'nyc3' });
    simulator.faults.add({ kind: 'truncatePages', how: 'missingRest' });
    expect(await failure(provider.listRoutedIPs(all))).toMatchObject(MISSING);
    simulator.faults.clear();
    expect(await provider.listRoutedIPs(all)).toMatchObject([{ address, providerID: node }, { providerID: null }]);
  });

  test('is not one that could see them before, while their path fails; and is no page of a proxy', async () => {
    const { simulator, provider } = await testBed();
    const free = simulator.addReservedIP({ region: 'nyc3' }).ip as Address;
    const fails = (code: number, body?: string) =>
      simulator.faults.add({ kind: 'status', code, match: { path: '^/v2/droplets\\?' }, ...(body !== undefined && { body }) });
    fails(403, '<html></html>');
    expect((await failure(provider.findRoutedIP(free, read))).kind).toBe('Unavailable');
    simulator.faults.clear();
    expect(await provider.findRoutedIP(free, read)).toMatchObject({ providerID: null });
    fails(503);
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 2 * 3_600_000);
    onTestFinished(() => void vi.restoreAllMocks());
    expect(await provider.findRoutedIP(free, read)).toMatchObject({ providerID: null });
  });

  test('is not asked after while an address shows a Droplet, and once in an hour where none does', async () => {
    const { simulator, provider, id, droplets } = await testBed();
    const free = simulator.addReservedIP({ region: 'nyc3' }).ip as Address;
    for (let i = 0; i < 3; i += 1) await provider.findRoutedIP(free, read);
    expect(await provider.listRoutedIPs(all)).toMatchObject([{ address: free, providerID: null }]);
    expect(droplets()).toBe(1);
    const held = await testBed();
    held.simulator.addReservedIP({ region: 'nyc3', dropletId: held.id });
    const other = held.simulator.addReservedIP({ region: 'nyc3' }).ip as Address;
    await held.provider.listRoutedIPs(all);
    await held.provider.findRoutedIP(other, read);
    expect(held.droplets()).toBe(0);
    expect(id).toBeGreaterThan(0);
  });

  test('adds no Droplet to a firewall that may have it already', async () => {
    const { simulator, provider, id, node } = await testBed();
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
    const body = JSON.stringify({
      name: 'web',
      inbound_rules: [{ protocol: 'tcp', ports: '22', sources: { addresses: ['0.0.0.0/0'] } }],
      droplet_ids: [id],
      tags: ['web'],
    });
    expect((await fetch(`${simulator.url}/v2/firewalls`, { method: 'POST', headers, body })).status).toBe(202);
    simulator.calls.clear();
    for (const scope of ['droplet:read', 'tag:read'] as const) {
      simulator.faults.clear();
      simulator.faults.add({ kind: 'lacksScope', scope });
      const missing = { kind: 'Unauthorized', message: expect.stringContaining(`the token lacks the scope ${scope}`) };
      expect(await failure(provider.findRoutedIPFirewall('web', read))).toMatchObject(missing);
      if (scope === 'droplet:read')
        expect(await failure(provider.addRoutedIPFirewallNode('web', [node], { purpose: 'firewall' }))).toMatchObject(missing);
    }
    expect(simulator.calls.all().filter(({ method }) => method === 'POST')).toEqual([]);
  });
});
