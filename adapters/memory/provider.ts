import { Fenced, ProviderError } from '../../actors/errors.ts';
import type { Budget, Call, Clock, KillPoint, Probe, Provider, Purpose } from '../../actors/ports.ts';
import type { Address, ObservedAddress } from '../../machines/types.ts';
import { type CloudSettings, MemoryCloud } from './cloud.ts';
import { type Fault, type Faults, faultPlan, refusal, unknownOutcome } from './faults.ts';
import { type Duration, durationOf } from './random.ts';

/** The calls of a provider by name. */
export type Verb = Exclude<keyof Provider, 'name' | 'capabilities'>;

/** One call, in the order in which the requests were sent. */
export interface LoggedCall {
  /** Virtual ms at which it was sent, or refused to be sent. */
  readonly at: number;
  readonly verb: Verb;
  readonly args: readonly unknown[];
  readonly purpose: Purpose;
  /** How it ended: `ok`, the kind of the error, `lost` or `hung` without an answer, `fenced` before it was sent. */
  result: string;
}

export interface MemoryProviderOptions extends CloudSettings {
  /** Default `memory`. */
  readonly name?: string;
  /** Default `memory://`. */
  readonly providerIDPrefix?: string;
  /** Time from sending to the answer; the request arrives in the middle of it. Default 0. */
  readonly callMs?: Duration;
  /** When a call that hangs is given up. Default 15000. */
  readonly deadlineMs?: number;
}

export interface ProcessOptions {
  /** Told at each point of a call at which the process may die. */
  readonly probe?: Probe;
  readonly budget?: Budget;
}

/** A provider as one process uses it. */
export interface ProcessProvider extends Provider {
  /** The process dies: its calls never settle. What was sent arrives all the same. */
  end(): void;
}

/** A scriptable provider: the verbs for the operator, and beside them the world for the test. */
export interface MemoryProvider extends Provider {
  readonly cloud: MemoryCloud;
  readonly faults: Faults<Verb>;
  /** All calls of all processes. */
  readonly calls: readonly LoggedCall[];
  /** The calls that change something and were sent. */
  writes(): readonly LoggedCall[];
  /** For the next `ms` reads answer what was true at this moment. */
  staleReads(ms: number): void;
  /** The verbs for a process that may die. */
  process(options?: ProcessOptions): ProcessProvider;
}

const READS: ReadonlySet<Verb> = new Set<Verb>(['findRoutedIP', 'listRoutedIPs', 'findNode', 'actionState', 'findRoutedIPFirewall']);

export const memoryProvider = (clock: Clock, options: MemoryProviderOptions = {}): MemoryProvider => {
  const {
    name = 'memory',
    providerIDPrefix = 'memory://',
    addressesPerNode = 1,
    callMs = 0,
    deadlineMs = 15_000,
    random = () => 0,
  } = options;
  const cloud = new MemoryCloud(clock, options);
  const faults = faultPlan<Verb>();
  const calls: LoggedCall[] = [];
  let stale: { readonly until: number; readonly addresses: readonly ObservedAddress[] } | null = null;

  const sleep = (ms: number): Promise<void> => (ms > 0 ? new Promise((resolve) => void clock.after(ms, resolve)) : Promise.resolve());
  const addressesSeen = (): readonly ObservedAddress[] =>
    stale !== null && clock.monotonic() < stale.until ? stale.addresses : cloud.list();
  const find = (address: Address): ObservedAddress => {
    const seen = addressesSeen().find((each) => each.address === address);
    if (seen === undefined) throw new ProviderError('NotFound', `find ${address}: not found`);
    return seen;
  };

  /** The request on its way: what arrives, when, and what comes back. */
  const exchange = async <T>(about: string, fault: Fault | null, arrive: () => T): Promise<T> => {
    const half = durationOf(callMs, random) / 2;
    if (fault?.kind === 'hang') {
      if (fault.effectAfterMs !== undefined) clock.after(fault.effectAfterMs, () => swallow(arrive));
      await sleep(deadlineMs);
      throw unknownOutcome(about, `no answer within ${deadlineMs} ms`);
    }
    if (half > 0) await sleep(half);
    if (fault?.kind === 'refuse') throw refusal(about, fault);
    if (fault?.kind === 'loseRequest') throw unknownOutcome(about, 'connection reset');
    if (fault?.kind === 'loseReply') {
      swallow(arrive);
      throw unknownOutcome(about, 'connection reset');
    }
    const answer = arrive();
    if (half > 0) await sleep(half);
    return answer;
  };

  const process = ({ probe = () => undefined, budget }: ProcessOptions = {}): ProcessProvider => {
    let dead = false;
    const alive = (): Promise<void> => (dead ? new Promise(() => undefined) : Promise.resolve());
    const pay = async (purpose: Purpose): Promise<void> => {
      for (let wait = (await budget?.pay(purpose)) ?? 0; wait > 0; wait = (await budget?.pay(purpose)) ?? 0) await sleep(wait);
    };
    const tell = async (point: KillPoint, about: string): Promise<void> => {
      probe(point, about);
      if (dead) await alive();
    };
    const request = async <T>(verb: Verb, args: readonly unknown[], { purpose, fence }: Call, arrive: () => T): Promise<T> => {
      const about = `${verb} ${args.filter((arg) => typeof arg === 'string').join(' ')}`;
      const log = (result: string): LoggedCall => {
        const entry = { at: clock.monotonic(), verb, args, purpose, result };
        calls.push(entry);
        return entry;
      };
      if (budget !== undefined) await pay(purpose);
      try {
        await fence?.read();
        await tell('beforeSend', about);
        // Between this and the sending there is no await: what was fresh is fresh.
        fence?.assertFresh();
      } catch (error) {
        if (error instanceof Fenced) log('fenced');
        throw error;
      }
      const fault = faults.take(verb);
      const entry = log('sent');
      const answer = await exchange(about, fault, arrive).then(
        (value) => ({ value, error: null, result: 'ok' }),
        (error: unknown) => ({ value: null, error, result: resultOf(fault, error) }),
      );
      entry.result = answer.result;
      await tell('beforeReplyRead', about);
      await tell('afterReply', about);
      await alive();
      if (answer.value === null && answer.error !== null) throw answer.error;
      return answer.value as T;
    };
    return {
      ...verbs(request),
      name,
      capabilities: { addresses: true, dns: true, firewalls: true, ipv6: true, addressesPerNode, providerIDPrefix },
      end: () => {
        dead = true;
      },
    };
  };

  type Request = <T>(verb: Verb, args: readonly unknown[], call: Call, arrive: () => T) => Promise<T>;
  const verbs = (send: Request): Pick<Provider, Verb> => ({
    findRoutedIP: (address, call) => send('findRoutedIP', [address], call, () => find(address)),
    listRoutedIPs: (call) => send('listRoutedIPs', [], call, addressesSeen),
    findNode: (node, call) => send('findNode', [node], call, () => (cloud.hasNode(node) ? 'present' : 'gone')),
    createRoutedIP: (region, call) => send('createRoutedIP', [region], call, () => cloud.create(region)),
    deleteRoutedIP: (address, call) => send('deleteRoutedIP', [address], call, () => cloud.delete(address)),
    assignRoutedIP: (address, node, call) => send('assignRoutedIP', [address, node], call, () => cloud.assign(address, node)),
    actionState: (address, action, call) => send('actionState', [address, action], call, () => cloud.actionState(action)),
    unassignRoutedIP: (address, call) => send('unassignRoutedIP', [address], call, () => cloud.unassign(address)),
    findRoutedIPFirewall: (firewall, call) => send('findRoutedIPFirewall', [firewall], call, () => cloud.findFirewall(firewall)),
    addRoutedIPFirewallPort: (firewall, ports, call) =>
      send('addRoutedIPFirewallPort', [firewall, ports], call, () => cloud.openPorts(firewall, ports)),
    addRoutedIPFirewallNode: (firewall, nodes, call) =>
      send('addRoutedIPFirewallNode', [firewall, nodes], call, () => cloud.coverNodes(firewall, nodes)),
    deleteRoutedIPFirewallPort: (firewall, ports, call) =>
      send('deleteRoutedIPFirewallPort', [firewall, ports], call, () => cloud.closePorts(firewall, ports)),
    deleteRoutedIPFirewallNode: (firewall, nodes, call) =>
      send('deleteRoutedIPFirewallNode', [firewall, nodes], call, () => cloud.uncoverNodes(firewall, nodes)),
    ensureDNSRecordSet: (set, call) => send('ensureDNSRecordSet', [set], call, () => cloud.setRecords(set)),
  });

  return {
    ...process(),
    cloud,
    faults,
    calls,
    writes: () => calls.filter(({ verb, result }) => !READS.has(verb) && result !== 'fenced'),
    staleReads: (ms) => {
      stale = { until: clock.monotonic() + ms, addresses: cloud.list() };
    },
    process,
  };
};

/** A request that arrives when nobody listens any more: refused or not, nobody hears of it. */
const swallow = (arrive: () => unknown): void => {
  try {
    arrive();
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
  }
};

const resultOf = (fault: Fault | null, error: unknown): string => {
  if (fault?.kind === 'hang') return 'hung';
  if (fault?.kind === 'loseRequest' || fault?.kind === 'loseReply') return 'lost';
  return error instanceof ProviderError ? error.kind : String(error);
};
