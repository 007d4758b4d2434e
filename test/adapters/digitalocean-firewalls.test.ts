import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Call } from '../../actors/ports.ts';
import type { ProviderID } from '../../machines/types.ts';
import { failure } from '../contracts/provider-harness.ts';
import { secret, startTestBed, type TestBed } from './digitalocean-support.ts';

const call: Call = { purpose: 'firewall' };
const web = { port: 80, protocol: 'TCP' } as const;
const everybody = { sources: { addresses: ['::/0', '0.0.0.0/0'] } };

let bed: TestBed;
beforeEach(async () => {
  bed = await startTestBed();
});
afterEach(() => bed.close());

async function createFirewall(name: string, rules: readonly unknown[]): Promise<void> {
  const headers = { authorization: `Bearer ${secret}` };
  const body = JSON.stringify({ name, inbound_rules: rules });
  const reply = await fetch(`${bed.simulator.url}/v2/firewalls`, { method: 'POST', headers, body });
  expect(reply.status).toBe(202);
}

describe('a DigitalOcean firewall', () => {
  test('shows as open ports only what is open to everybody and to nobody in particular', async () => {
    await createFirewall('front', [
      { protocol: 'tcp', ports: '80', ...everybody },
      { protocol: 'udp', ports: '53', sources: { addresses: ['10.0.0.0/8'] } },
      { protocol: 'tcp', ports: '8000-9000', ...everybody },
      { protocol: 'icmp', ports: '0', ...everybody },
      { protocol: 'tcp', ports: '443', sources: { ...everybody.sources, tags: ['web'] } },
    ]);
    expect((await bed.provider.findRoutedIPFirewall('front', call))?.ports).toEqual(['tcp/80']);
  });

  test('of the cloud controller is left alone', async () => {
    await createFirewall('k8s-public-access-1', [{ protocol: 'tcp', ports: '22', ...everybody }]);
    const error = await failure(bed.provider.addRoutedIPFirewallPort('k8s-public-access-1', [web], call));
    expect(error.kind).toBe('Unsupported');
    expect(bed.simulator.calls.select({ writes: true, since: 1 })).toHaveLength(0);
  });

  test('keeps its last rule: the refusal is Invalid', async () => {
    await createFirewall('front', [{ protocol: 'tcp', ports: '80', ...everybody }]);
    expect((await failure(bed.provider.deleteRoutedIPFirewallPort('front', [web], call))).kind).toBe('Invalid');
    expect((await bed.provider.findRoutedIPFirewall('front', call))?.ports).toEqual(['tcp/80']);
  });

  test('takes ten droplets and no more', async () => {
    await createFirewall('front', [{ protocol: 'tcp', ports: '80', ...everybody }]);
    const nodes = Array.from(
      { length: 11 },
      (_, i) => `digitalocean://${bed.simulator.addDroplet({ name: `n${i}`, region: 'nyc3' }).id}` as ProviderID,
    );
    await bed.provider.addRoutedIPFirewallNode('front', nodes.slice(0, 10), call);
    expect((await failure(bed.provider.addRoutedIPFirewallNode('front', nodes, call))).kind).toBe('Invalid');
    expect((await bed.provider.findRoutedIPFirewall('front', call))?.nodes).toHaveLength(10);
  });

  test('is pending until every droplet has the change', async () => {
    bed.simulator.setFirewallMs(60_000);
    const node = `digitalocean://${bed.simulator.addDroplet({ name: 'n', region: 'nyc3' }).id}` as ProviderID;
    await createFirewall('front', [{ protocol: 'tcp', ports: '80', ...everybody }]);
    expect((await bed.provider.findRoutedIPFirewall('front', call))?.pending).toBe(false);
    await bed.provider.addRoutedIPFirewallNode('front', [node], call);
    expect((await bed.provider.findRoutedIPFirewall('front', call))?.pending).toBe(true);
  });
});
