import { Fenced, ProviderError } from '../../actors/errors.ts';
import type { Provider } from '../../actors/ports.ts';
import { Counter, Histogram, type Registry } from './prom-client.ts';

/** The object for which calls are made; empty when they are made for many. */
export interface CallOwner {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

type Verb = Exclude<{ [K in keyof Provider]: Provider[K] extends (...args: never[]) => unknown ? K : never }[keyof Provider], never>;

/** The label `call` of each verb. Where FLIPOP has such a call, its name: dashboards that exist go on to work. */
const CALLS: Readonly<Record<Verb, string>> = {
  findRoutedIP: 'IPToProviderID',
  listRoutedIPs: 'ListRoutedIPs',
  findNode: 'FindNode',
  createRoutedIP: 'CreateIP',
  deleteRoutedIP: 'DeleteRoutedIP',
  assignRoutedIP: 'AssignIP',
  actionState: 'ActionState',
  unassignRoutedIP: 'UnassignRoutedIP',
  findRoutedIPFirewall: 'FindRoutedIPFirewall',
  addRoutedIPFirewallPort: 'AddRoutedIPFirewallPort',
  addRoutedIPFirewallNode: 'AddRoutedIPFirewallNode',
  deleteRoutedIPFirewallPort: 'DeleteRoutedIPFirewallPort',
  deleteRoutedIPFirewallNode: 'DeleteRoutedIPFirewallNode',
  listDNSRecords: 'ListDNSRecords',
  createDNSRecord: 'CreateDNSRecord',
  updateDNSRecord: 'UpdateDNSRecord',
  deleteDNSRecord: 'DeleteDNSRecord',
};

const NOBODY: CallOwner = { kind: '', namespace: '', name: '' };

/** Decorates providers so that their calls are counted and timed. One per registry. */
export function instrumentProviders(registry: Registry): (provider: Provider, owner?: CallOwner) => Provider {
  const record = callRecorder(registry);
  return (provider, owner = NOBODY) => {
    const timed =
      <A extends unknown[], R>(verb: Verb, call: (...args: A) => Promise<R>) =>
      async (...args: A): Promise<R> => {
        const startedAt = performance.now();
        const ended = (outcome: 'success' | 'error'): void =>
          record({ provider: provider.name, call: CALLS[verb], ...owner }, outcome, (performance.now() - startedAt) / 1000);
        try {
          const answer = await call.apply(provider, args);
          ended('success');
          return answer;
        } catch (error) {
          // A fenced call was never sent.
          if (!(error instanceof Fenced)) ended(outcomeOf(error));
          throw error;
        }
      };
    return {
      name: provider.name,
      capabilities: provider.capabilities,
      findRoutedIP: timed('findRoutedIP', provider.findRoutedIP),
      listRoutedIPs: timed('listRoutedIPs', provider.listRoutedIPs),
      findNode: timed('findNode', provider.findNode),
      createRoutedIP: timed('createRoutedIP', provider.createRoutedIP),
      deleteRoutedIP: timed('deleteRoutedIP', provider.deleteRoutedIP),
      assignRoutedIP: timed('assignRoutedIP', provider.assignRoutedIP),
      actionState: timed('actionState', provider.actionState),
      unassignRoutedIP: timed('unassignRoutedIP', provider.unassignRoutedIP),
      findRoutedIPFirewall: timed('findRoutedIPFirewall', provider.findRoutedIPFirewall),
      addRoutedIPFirewallPort: timed('addRoutedIPFirewallPort', provider.addRoutedIPFirewallPort),
      addRoutedIPFirewallNode: timed('addRoutedIPFirewallNode', provider.addRoutedIPFirewallNode),
      deleteRoutedIPFirewallPort: timed('deleteRoutedIPFirewallPort', provider.deleteRoutedIPFirewallPort),
      deleteRoutedIPFirewallNode: timed('deleteRoutedIPFirewallNode', provider.deleteRoutedIPFirewallNode),
      listDNSRecords: timed('listDNSRecords', provider.listDNSRecords),
      createDNSRecord: timed('createDNSRecord', provider.createDNSRecord),
      updateDNSRecord: timed('updateDNSRecord', provider.updateDNSRecord),
      deleteDNSRecord: timed('deleteDNSRecord', provider.deleteDNSRecord),
    };
  };
}

/** FLIPOP counts a call that is still under way at the provider as a success. */
const outcomeOf = (error: unknown): 'success' | 'error' =>
  error instanceof ProviderError && error.kind === 'InProgress' ? 'success' : 'error';

type CallLabels = CallOwner & { readonly provider: string; readonly call: string };

function callRecorder(registry: Registry): (labels: CallLabels, outcome: 'success' | 'error', seconds: number) => void {
  const registers = [registry];
  const calls = new Counter({
    name: 'flipop_providers_calls_total',
    help: 'Calls to providers.',
    labelNames: ['provider', 'call', 'outcome', 'kind', 'namespace', 'name'] as const,
    registers,
  });
  const durations = new Histogram({
    name: 'flipop_providers_call_duration_seconds',
    help: 'How long calls to providers took, with the wait for the request budget.',
    labelNames: ['provider', 'call', 'kind', 'namespace', 'name'] as const,
    registers,
  });
  return (labels, outcome, seconds) => {
    calls.inc({ ...labels, outcome });
    durations.observe({ ...labels }, seconds);
  };
}
