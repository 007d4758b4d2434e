import { Withheld } from '../../actors/ports/errors.ts';
import type { Firewall, Provider } from '../../actors/ports/provider.ts';
import { familyOf } from '../../machines/model/address.ts';
import { portText } from '../../machines/model/port.ts';
import type { Address, Difference, DNSRecord, ObservedAddress, ProviderID } from '../../machines/model/types.ts';
import { Edits } from './edits.ts';

/** A provider that is only read. */
export interface Shadow {
  readonly provider: Provider;
  /** The withheld changes that no other client has made yet. Nodes are named by providerID. */
  readonly changes: () => readonly Difference[];
}

/** The provider as it would be after all requested changes: only the reads of `real` are called. Withheld changes are kept here and visible in later reads, so that
 *  subsequent steps are decided, too. A change counts as long as the state it was based on is unchanged. */
export function shadowOf(real: Provider): Shadow {
  const moved = new Map<Address, { readonly from: ProviderID | null; readonly to: ProviderID }>();
  const ports = new Edits<string>();
  const nodes = new Edits<ProviderID>();
  const records = new Edits<string>();
  /** By zone its records, including withheld ones. */
  const zones = new Map<string, { readonly name: string; readonly texts: ReadonlyMap<string, string> }>();

  const placed = (observed: ObservedAddress): ObservedAddress => {
    const move = moved.get(observed.address);
    if (move && !observed.locked && observed.providerID === move.from) return { ...observed, providerID: move.to };
    moved.delete(observed.address);
    return observed;
  };
  const edited = (key: string, firewall: Firewall): Firewall => {
    const open = ports.over(key, firewall.ports);
    const freeRules = firewall.freeRules + firewall.ports.length - open.length;
    return { ...firewall, ports: open, nodes: nodes.over(key, firewall.nodes), freeRules };
  };
  const withheld = (what: 'create' | 'delete' | 'leave', subject: string, to: string | null = null) =>
    Promise.reject(new Withheld({ what, subject, from: null, to }));
  const { name, capabilities, jobs } = real;
  const provider: Provider = {
    name,
    capabilities,
    ...(jobs && { jobs }),
    findNode: (...asked) => real.findNode(...asked),
    actionState: (...asked) => real.actionState(...asked),
    findRoutedIP: async (...asked) => placed(await real.findRoutedIP(...asked)),
    listRoutedIPs: async (call) => {
      const all = (await real.listRoutedIPs(call)).map(placed);
      const there = new Set(all.map(({ address }) => address));
      for (const address of moved.keys()) if (familyOf(address) === call.family && !there.has(address)) moved.delete(address);
      return all;
    },
    assignRoutedIP: async (address, to, call) => {
      const { providerID: from } = await real.findRoutedIP(address, call);
      if (from === to) moved.delete(address);
      else moved.set(address, { from, to });
      return null;
    },
    createRoutedIP: (region) => withheld('create', 'a new address', region),
    deleteRoutedIP: (address) => withheld('delete', address),
    unassignRoutedIP: (address) => withheld('leave', address),
    findRoutedIPFirewall: async (key, call) => {
      const found = await real.findRoutedIPFirewall(key, call);
      return found && edited(key, found);
    },
    listRoutedIPFirewalls: async (keys, call) =>
      (await real.listRoutedIPFirewalls(keys, call)).map((found) => edited(keys.includes(found.id) ? found.id : found.name, found)),
    addRoutedIPFirewallPort: async (key, some) => ports.add(key, some.map(portText)),
    deleteRoutedIPFirewallPort: async (key, some) => ports.remove(key, some.map(portText)),
    addRoutedIPFirewallNode: async (key, some) => nodes.add(key, some),
    deleteRoutedIPFirewallNode: async (key, some) => nodes.remove(key, some),
    listDNSRecords: async (key, call) => {
      const zone = await real.listDNSRecords(key, call);
      const ids = new Map(zone.records.map((record) => [textOf(record), record.id]));
      const shown = records.over(key, [...ids.keys()]).map((text): DNSRecord => ({ ...JSON.parse(text), id: ids.get(text) ?? text }));
      zones.set(key, { name: zone.name, texts: new Map(shown.map((record) => [record.id, textOf(record)])) });
      return { ...zone, records: shown };
    },
    createDNSRecord: async (key, record) => records.add(key, [textOf(record)]),
    updateDNSRecord: async (key, record, call) => {
      await provider.deleteDNSRecord(key, record.id, call);
      records.add(key, [textOf(record)]);
    },
    deleteDNSRecord: async (key, id) => {
      const text = zones.get(key)?.texts.get(id);
      if (text !== undefined) records.remove(key, [text]);
    },
  };
  const opened = (key: string, subject: string, isAdded: boolean): Difference => {
    const firewall = `firewall ${key}`;
    return isAdded ? { what: 'open', subject, from: null, to: firewall } : { what: 'close', subject, from: firewall, to: null };
  };
  const published = (key: string, text: string, isAdded: boolean): Difference => {
    const { type, name: relative, data } = JSON.parse(text) as DNSRecord;
    const zone = zones.get(key)?.name ?? key;
    const subject = `${type} ${relative === '@' ? zone : `${relative}.${zone}`}`;
    return isAdded ? { what: 'publish', subject, from: null, to: data } : { what: 'withdraw', subject, from: data, to: null };
  };
  return {
    provider,
    changes: () => [
      ...[...moved].map(([subject, { from, to }]): Difference => ({ what: from === null ? 'assign' : 'move', subject, from, to })),
      ...ports.map(opened),
      ...nodes.map(opened),
      ...records.map(published),
    ],
  };
}

/** A record without its id, which identifies withheld records, since they have no id yet. Identical records count as one. */
const textOf = ({ type, name, data, ttlSeconds, proxied }: Omit<DNSRecord, 'id'>): string =>
  JSON.stringify({ type, name, data, ttlSeconds, proxied });

/** Replaces providerIDs by node names; a machine outside the cluster keeps its providerID. */
export function byName(nodes: readonly { readonly name: string; readonly providerID: string }[]): (difference: Difference) => Difference {
  // A new node has no machine yet.
  const names = new Map<string | null, string>(nodes.flatMap(({ name, providerID }) => (providerID === '' ? [] : [[providerID, name]])));
  return ({ what, subject, from, to }) => ({
    what,
    subject: names.get(subject) ?? subject,
    from: names.get(from) ?? from,
    to: names.get(to) ?? to,
  });
}
