import { Fenced, ProviderError } from '../../actors/ports/errors.ts';
import type { Call, Provider } from '../../actors/ports/provider.ts';
import type { ProviderCalls } from './provider-calls.ts';

type Verb = Exclude<{ [K in keyof Provider]-?: Provider[K] extends (...args: never[]) => unknown ? K : never }[keyof Provider], never>;

/** The label `call` of each verb. Where FLIPOP has such a call, its name, so that existing dashboards keep working. */
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
  listRoutedIPFirewalls: 'ListRoutedIPFirewalls',
  addRoutedIPFirewallPort: 'AddRoutedIPFirewallPort',
  addRoutedIPFirewallNode: 'AddRoutedIPFirewallNode',
  deleteRoutedIPFirewallPort: 'DeleteRoutedIPFirewallPort',
  deleteRoutedIPFirewallNode: 'DeleteRoutedIPFirewallNode',
  listDNSRecords: 'ListDNSRecords',
  createDNSRecord: 'CreateDNSRecord',
  updateDNSRecord: 'UpdateDNSRecord',
  deleteDNSRecord: 'DeleteDNSRecord',
};

/** Decorates a provider so that its calls are counted and timed, under the `owner` of each call. */
export function instrumentProvider(provider: Provider, calls: ProviderCalls): Provider {
  const timed =
    <A extends [...unknown[], Call], R>(verb: Verb, call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      const startedAt = performance.now();
      const { owner = null } = args.at(-1) as Call;
      const ended = (outcome: 'success' | 'error'): void =>
        calls.ended({ provider: provider.name, call: CALLS[verb], owner, outcome, seconds: (performance.now() - startedAt) / 1000 });
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
    ...(provider.jobs && { jobs: provider.jobs }),
    findRoutedIP: timed('findRoutedIP', provider.findRoutedIP),
    listRoutedIPs: timed('listRoutedIPs', provider.listRoutedIPs),
    findNode: timed('findNode', provider.findNode),
    createRoutedIP: timed('createRoutedIP', provider.createRoutedIP),
    deleteRoutedIP: timed('deleteRoutedIP', provider.deleteRoutedIP),
    assignRoutedIP: timed('assignRoutedIP', provider.assignRoutedIP),
    actionState: timed('actionState', provider.actionState),
    unassignRoutedIP: timed('unassignRoutedIP', provider.unassignRoutedIP),
    findRoutedIPFirewall: timed('findRoutedIPFirewall', provider.findRoutedIPFirewall),
    listRoutedIPFirewalls: timed('listRoutedIPFirewalls', provider.listRoutedIPFirewalls),
    addRoutedIPFirewallPort: timed('addRoutedIPFirewallPort', provider.addRoutedIPFirewallPort),
    addRoutedIPFirewallNode: timed('addRoutedIPFirewallNode', provider.addRoutedIPFirewallNode),
    deleteRoutedIPFirewallPort: timed('deleteRoutedIPFirewallPort', provider.deleteRoutedIPFirewallPort),
    deleteRoutedIPFirewallNode: timed('deleteRoutedIPFirewallNode', provider.deleteRoutedIPFirewallNode),
    listDNSRecords: timed('listDNSRecords', provider.listDNSRecords),
    createDNSRecord: timed('createDNSRecord', provider.createDNSRecord),
    updateDNSRecord: timed('updateDNSRecord', provider.updateDNSRecord),
    deleteDNSRecord: timed('deleteDNSRecord', provider.deleteDNSRecord),
  };
}

/** FLIPOP counts a call that is still in progress at the provider as a success. */
const outcomeOf = (error: unknown): 'success' | 'error' =>
  error instanceof ProviderError && error.kind === 'InProgress' ? 'success' : 'error';
