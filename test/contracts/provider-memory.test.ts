import { virtualClock } from '../../adapters/memory/clock.ts';
import type { Fault } from '../../adapters/memory/faults.ts';
import { memoryProvider } from '../../adapters/memory/provider.ts';
import type { Address, ProviderID } from '../../machines/model/types.ts';
import { describeProvider } from './provider.ts';
import type { NextCall } from './provider-harness.ts';

const faultFor: Readonly<Record<Exclude<NextCall, 'refusedConnection'>, Fault>> = {
  lostAnswer: { kind: 'loseReply' },
  lostRequest: { kind: 'loseRequest' },
  rateLimited: { kind: 'refuse', error: 'RateLimited', retryAfterMs: 7_000 },
  pendingEvent: { kind: 'refuse', error: 'InProgress' },
  unauthorized: { kind: 'refuse', error: 'Unauthorized' },
  unavailable: { kind: 'refuse', error: 'Unavailable' },
  // A list that came back cut is an error to every caller, so the port knows no other form of it.
  partialList: { kind: 'refuse', error: 'Unavailable' },
};

describeProvider('in memory', async () => {
  const clock = virtualClock();
  const provider = memoryProvider(clock, { actionMs: 250, firewallMs: 100 });
  const { cloud, faults } = provider;
  let made = 0;
  const next = (): number => {
    made += 1;
    return made;
  };
  return {
    provider,
    regions: ['nyc3', 'fra1'],
    addNode: (region) => {
      const node = `memory://${next()}` as ProviderID;
      cloud.addNodeIn(region, node);
      return node;
    },
    removeNode: (node) => cloud.removeNode(node),
    addAddress: (region, family, holder) => {
      const number = next();
      const four = `198.51.${100 + (number >> 8)}.${number & 255}`;
      const address = (family === 4 ? four : `2001:db8::${number.toString(16)}`) as Address;
      cloud.addAddress(address, region, holder ?? null);
      return address;
    },
    inspect: (address) => cloud.addresses().find((each) => each.address === address) ?? null,
    addresses: () => cloud.addresses().map(({ address }) => address),
    setQuota: (addresses) => cloud.setQuota(addresses),
    settle: () => clock.advance(3_600_000),
    befall: async (accident) => {
      if (accident === 'refusedConnection') faults.always('any', { kind: 'noConnection' });
      else faults.next('any', faultFor[accident]);
    },
    heal: async () => faults.clear(),
    writes: () => provider.writes().length,
    addFirewall: async (name, ports, nodes, { others = 1, mixed = [], tagged = [] } = {}) =>
      cloud.addFirewall(name, ports, nodes, { otherRules: others, mixed, tagged }),
    setFirewallMs: (ms) => cloud.setFirewallMs(ms),
    proxies: true,
    addZone: async (zone) => {
      cloud.addZone(zone, `id-of-${zone}`);
      return `id-of-${zone}`;
    },
    addRecord: async (zone, record) => void cloud.addRecord(zone, record),
    records: (zone, name) =>
      cloud
        .zone(zone)
        .records.filter((record) => record.name === name)
        .map(({ id, ...record }) => record)
        .sort((a, b) => a.data.localeCompare(b.data)),
    close: async () => undefined,
  };
});
