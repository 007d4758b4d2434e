import { PartialList, ProviderError } from '../../actors/ports/errors.ts';
import type { Call, Provider } from '../../actors/ports/provider.ts';
import type { Clock } from '../../actors/ports/records.ts';
import { familyOf } from '../../machines/model/address.ts';
import type { Address, Family, ObservedAddress } from '../../machines/model/types.ts';
import { type CloudSettings, MemoryCloud } from './cloud.ts';
import { type Faults, faultPlan } from './faults.ts';
import type { CloudChange } from './firewalls.ts';
import type { Duration } from './random.ts';
import { isSentWrite, type LoggedCall, type ProcessOptions, requests, type Send, type Verb, type Wire } from './requests.ts';

export interface MemoryProviderOptions extends CloudSettings {
  /** Default `memory`. */
  readonly name?: string;
  /** Default `memory://`. */
  readonly providerIDPrefix?: string;
  /** Time from sending to the reply; the request arrives halfway. Default 0. */
  readonly callMs?: Duration;
  /** When a hanging call is given up, ms. Default 15000. */
  readonly deadlineMs?: number;
}

/** A provider as one process uses it. */
export interface ProcessProvider extends Provider {
  /** The process dies: its calls never settle. Requests already sent still arrive. */
  end(): void;
}

/** A scriptable provider: the verbs for the operator, plus the simulated world for the test. */
export interface MemoryProvider extends Provider {
  readonly cloud: MemoryCloud;
  readonly faults: Faults<Verb>;
  /** All calls of all processes. */
  readonly calls: readonly LoggedCall[];
  /** The write calls that were sent. */
  writes(): readonly LoggedCall[];
  /** The call that arrives at the account at this moment, maybe long after it was sent; null for none. */
  arriving(): LoggedCall | null;
  /** For the next `ms`, reads of addresses return the state as of now. */
  staleReads(ms: number): void;
  /** The next `times` lists of addresses contain only every other one, and say that there are more. */
  partialLists(times: number): void;
  /** The verbs for a process that may die. */
  process(options?: ProcessOptions): ProcessProvider;
}

export const memoryProvider = (clock: Clock, options: MemoryProviderOptions = {}): MemoryProvider => {
  const { name = 'memory', providerIDPrefix = 'memory://', addressesPerNode = 1 } = options;
  const { callMs = 0, deadlineMs = 15_000, random = () => 0 } = options;
  const cloud = new MemoryCloud(clock, options);
  const calls: LoggedCall[] = [];
  const wire: Wire = { clock, faults: faultPlan<Verb>(), calls, callMs, deadlineMs, random, arriving: null };
  let stale: { readonly until: number; readonly addresses: readonly ObservedAddress[] } | null = null;

  let partial = 0;
  const listed = (family: Family): readonly ObservedAddress[] => {
    const all = seen().filter(({ address }) => familyOf(address) === family);
    if (partial === 0) return all;
    partial -= 1;
    throw new PartialList(
      'list addresses: fewer than the total',
      all.filter((_, index) => index % 2 === 0),
    );
  };
  const seen = (): readonly ObservedAddress[] => (stale !== null && clock.monotonic() < stale.until ? stale.addresses : cloud.list());
  const process = (processOptions: ProcessOptions = {}): ProcessProvider => {
    const { send, end } = requests(wire, processOptions);
    return {
      ...verbs({ cloud, seen, listed }, refuseForeign(send, name, providerIDPrefix)),
      name,
      capabilities: { addresses: true, dns: true, firewalls: true, ipv6: true, addressesPerNode, providerIDPrefix },
      end,
    };
  };
  return {
    ...process(),
    cloud,
    faults: wire.faults,
    calls,
    writes: () => calls.filter(isSentWrite),
    arriving: () => wire.arriving,
    staleReads: (ms) => {
      stale = { until: clock.monotonic() + ms, addresses: cloud.list() };
    },
    partialLists: (times) => {
      partial = times;
    },
    process,
  };
};

/** A node of another provider is refused before anything is sent. */
const refuseForeign =
  (send: Send, name: string, prefix: string): Send =>
  async (verb, args, call, arrive) => {
    const node = verb === 'findNode' ? args[0] : verb === 'assignRoutedIP' ? args[1] : prefix;
    if (!String(node).startsWith(prefix)) throw new ProviderError('Invalid', `${verb}: ${node} is no node of ${name}`);
    return send(verb, args, call, arrive);
  };

interface Account {
  readonly cloud: MemoryCloud;
  /** The addresses as seen by reads. */
  readonly seen: () => readonly ObservedAddress[];
  readonly listed: (family: Family) => readonly ObservedAddress[];
}

const verbs = ({ cloud, seen, listed }: Account, send: Send): Pick<Provider, Verb> => {
  const find = (address: Address): ObservedAddress => {
    const found = seen().find((each) => each.address === address);
    if (found === undefined) throw new ProviderError('NotFound', `find ${address}: not found`);
    return found;
  };
  const change = async (verb: Verb, args: readonly unknown[], call: Call, arrive: () => CloudChange): Promise<void> => {
    await send(verb, args, call, arrive);
  };
  return {
    findRoutedIP: (address, call) => send('findRoutedIP', [address], call, () => find(address)),
    listRoutedIPs: (call) => send('listRoutedIPs', [call.family], call, () => listed(call.family)),
    findNode: (node, call) => send('findNode', [node], call, () => (cloud.hasNode(node) ? 'present' : 'gone')),
    createRoutedIP: (region, call) => send('createRoutedIP', [region], call, () => cloud.create(region)),
    deleteRoutedIP: (address, call) => send('deleteRoutedIP', [address], call, () => cloud.delete(address)),
    assignRoutedIP: (address, node, call) => send('assignRoutedIP', [address, node], call, () => cloud.assign(address, node)),
    actionState: (address, action, call) => send('actionState', [address, action], call, () => cloud.actionState(action)),
    unassignRoutedIP: (address, call) => send('unassignRoutedIP', [address], call, () => cloud.unassign(address)),
    findRoutedIPFirewall: (name, call) => send('findRoutedIPFirewall', [name], call, () => cloud.findFirewall(name)),
    listRoutedIPFirewalls: (names, call) =>
      send('listRoutedIPFirewalls', [names], call, () => names.flatMap((name) => cloud.findFirewall(name) ?? [])),
    addRoutedIPFirewallPort: (id, ports, call) => change('addRoutedIPFirewallPort', [id, ports], call, () => cloud.openPorts(id, ports)),
    addRoutedIPFirewallNode: (id, nodes, call) => change('addRoutedIPFirewallNode', [id, nodes], call, () => cloud.coverNodes(id, nodes)),
    deleteRoutedIPFirewallPort: (id, ports, call) =>
      change('deleteRoutedIPFirewallPort', [id, ports], call, () => cloud.closePorts(id, ports)),
    deleteRoutedIPFirewallNode: (id, nodes, call) =>
      change('deleteRoutedIPFirewallNode', [id, nodes], call, () => cloud.uncoverNodes(id, nodes)),
    listDNSRecords: (zone, call) => send('listDNSRecords', [zone], call, () => cloud.zone(zone)),
    createDNSRecord: (zone, record, call) => send('createDNSRecord', [zone, record], call, () => cloud.createRecord(zone, record)),
    updateDNSRecord: (zone, record, call) => send('updateDNSRecord', [zone, record], call, () => cloud.updateRecord(zone, record)),
    deleteDNSRecord: (zone, id, call) => send('deleteDNSRecord', [zone, id], call, () => cloud.deleteRecord(zone, id)),
  };
};
