import { expect } from 'vitest';
import type { Address, ProviderID } from '../../../machines/model/types.ts';
import type { FaultSpec } from '../../../simulator/digitalocean/faults.ts';
import { describeProvider } from '../../contracts/provider.ts';
import type { NextCall, ProviderHarness } from '../../contracts/provider-harness.ts';
import { secret, startTestBed } from './support.ts';

const faultFor: Readonly<Record<Exclude<NextCall, 'refusedConnection'>, FaultSpec>> = {
  lostAnswer: { kind: 'resetAfter', times: 1 },
  lostRequest: { kind: 'resetBefore', times: 1 },
  rateLimited: { kind: 'status', code: 429, headers: { 'retry-after': '7' }, times: 1 },
  pendingEvent: { kind: 'pendingEvent', times: 1 },
  unauthorized: { kind: 'status', code: 401, times: 1 },
  unavailable: { kind: 'status', code: 503, times: 1 },
  partialList: { kind: 'truncatePages', how: 'missingRest', times: 1 },
};

/** Longer than anything takes. */
const HOUR_MS = 3_600_000;

const dropletOf = (providerID: ProviderID): number => Number(providerID.slice('digitalocean://'.length));
const nodeOf = (dropletId: number): ProviderID => `digitalocean://${dropletId}` as ProviderID;

/** `tcp/80` or `tcp/80@10.0.0.0/8+192.0.2.0/24` as the API has it, with more sources where a test wants them. */
function ruleFor(port: string, more: object = {}): unknown {
  const [rule = '', from] = port.split('@', 2);
  const [protocol, ports] = rule.split('/', 2);
  return { protocol, ports, sources: { addresses: from?.split('+') ?? ['0.0.0.0/0', '::/0'], ...more } };
}

async function harness(addressAPI: 'reserved_ips' | 'floating_ips'): Promise<ProviderHarness> {
  let passedMs = 0;
  const now = (): number => performance.timeOrigin + performance.now() + passedMs;
  const simulated = { rateLimit: { perHour: 100_000, perMinute: 100_000 }, now };
  const { simulator, provider, close } = await startTestBed({ addressAPI }, simulated);
  const post = async (path: string, body: unknown): Promise<void> => {
    const headers = { authorization: `Bearer ${secret}` };
    const reply = await fetch(simulator.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(reply.status).toBeLessThan(300);
    simulator.calls.clear();
  };
  return {
    provider,
    regions: ['nyc3', 'fra1'],
    addNode: (region) => nodeOf(simulator.addDroplet({ name: 'node', region, ipv6: true }).id),
    removeNode: (providerID) => simulator.removeDroplet(dropletOf(providerID)),
    addAddress: (region, family, holder) =>
      simulator.addReservedIP({ region, family, ...(holder === undefined ? {} : { dropletId: dropletOf(holder) }) }).ip as Address,
    inspect: (address) => {
      const found = simulator.state.reservedIPs.get(address);
      if (found === undefined) return null;
      const { region, dropletId, pendingActionId } = found;
      return { address, region, providerID: dropletId === null ? null : nodeOf(dropletId), locked: pendingActionId !== null };
    },
    addresses: () => [...simulator.state.reservedIPs.keys()] as Address[],
    setQuota: (addresses) => simulator.setReservedIPQuota(addresses),
    settle: async () => {
      passedMs += HOUR_MS;
    },
    befall: async (next) => {
      if (next === 'refusedConnection') await simulator.stopListening();
      else simulator.faults.add(faultFor[next]);
    },
    heal: () => simulator.listenAgain(),
    writes: () => simulator.calls.select({ writes: true }).length,
    addFirewall: async (name, ports, nodes, { others = 1, mixed = [], tagged = [] } = {}) => {
      if (mixed.length > 0) await post('/v2/tags', { name: 'elsewhere' });
      for (const node of tagged) simulator.tagDroplet(dropletOf(node), `in-${name}`);
      const rules = [
        ...ports.map((port) => ruleFor(port)),
        ...mixed.map((port) => ruleFor(port, { tags: ['elsewhere'] })),
        ...Array.from({ length: others }, (_, i) => ({
          protocol: 'tcp',
          ports: `9100-92${10 + i}`,
          sources: { addresses: ['10.0.0.0/8'] },
        })),
      ];
      const tags = tagged.length > 0 ? { tags: [`in-${name}`] } : {};
      await post('/v2/firewalls', { name, inbound_rules: rules, droplet_ids: nodes.map(dropletOf), ...tags });
    },
    setFirewallMs: (ms) => simulator.setFirewallMs(ms),
    proxies: false,
    addZone: async (zone) => {
      await post('/v2/domains', { name: zone });
      return zone;
    },
    addRecord: (zone, { type, name, data, ttlSeconds }) => post(`/v2/domains/${zone}/records`, { type, name, data, ttl: ttlSeconds }),
    records: (zone, name) =>
      [...(simulator.state.domains.get(zone)?.records.values() ?? [])]
        .filter((record) => record.name === name)
        .map(({ type, data, ttl }) => ({ type, name, data, ttlSeconds: ttl, proxied: false }))
        .sort((a, b) => a.data.localeCompare(b.data)),
    close,
  };
}

describeProvider('DigitalOcean', () => harness('reserved_ips'));
describeProvider('DigitalOcean by the old paths', () => harness('floating_ips'));
