import type { Zone } from '../../../simulator/cloudflare/model.ts';
import type { FaultSpec } from '../../../simulator/http/faults.ts';
import { describeDNSProvider } from '../../contracts/provider-dns.ts';
import type { NextCall } from '../../contracts/provider-harness.ts';
import { startTestBed } from './support.ts';

const faultFor: Readonly<Record<Exclude<NextCall, 'refusedConnection' | 'pendingEvent'>, FaultSpec>> = {
  lostAnswer: { kind: 'resetAfter', times: 1 },
  lostRequest: { kind: 'resetBefore', times: 1 },
  rateLimited: { kind: 'status', code: 429, headers: { 'retry-after': '7' }, times: 1 },
  unauthorized: { kind: 'status', code: 403, times: 1 },
  unavailable: { kind: 'status', code: 503, times: 1 },
  partialList: { kind: 'truncatePages', how: 'missingRest', times: 1 },
};

describeDNSProvider('Cloudflare', async () => {
  const { simulator, provider, close } = await startTestBed();
  const find = (name: string): Readonly<Zone> | undefined => [...simulator.zones.values()].find((zone) => zone.name === name);
  return {
    provider,
    proxies: true,
    addZone: async (name) => simulator.addZone({ name }).id,
    addRecord: async (zone, { data, ttlSeconds, ...record }) => {
      simulator.addRecord(find(zone)?.id ?? '', { ...record, content: data, ttl: ttlSeconds });
    },
    records: (zone, name) =>
      [...(find(zone)?.records.values() ?? [])]
        .filter((record) => record.name === (name === '@' ? zone : `${name}.${zone}`))
        .map(({ type, content, ttl, proxied }) => ({ type, name, data: content, ttlSeconds: ttl, proxied }))
        .sort((a, b) => a.data.localeCompare(b.data)),
    befall: async (next) => {
      if (next === 'pendingEvent') throw new Error('nothing here is ever pending');
      if (next === 'refusedConnection') await simulator.stopListening();
      else simulator.faults.add(faultFor[next]);
    },
    heal: () => simulator.listenAgain(),
    writes: () => simulator.calls.select({ writes: true }).length,
    close,
  };
});
