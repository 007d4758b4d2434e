import type { Firewall, Provider } from '../../actors/ports/provider.ts';
import { portText } from '../../machines/port.ts';
import type { Difference, ProviderID } from '../../machines/types.ts';
import { Edits } from './edits.ts';

type Reads = Pick<Provider, 'findRoutedIPFirewall' | 'listRoutedIPFirewalls'>;
type Verbs = Reads &
  Pick<Provider, 'addRoutedIPFirewallPort' | 'addRoutedIPFirewallNode' | 'deleteRoutedIPFirewallPort' | 'deleteRoutedIPFirewallNode'>;

interface Edited {
  readonly ports: Edits<string>;
  readonly nodes: Edits<ProviderID>;
}

/** Firewalls as they would be. */
export function firewallsOver(
  real: Reads,
  told: (difference: Difference) => void,
): { readonly verbs: Verbs; readonly changes: () => readonly Difference[] } {
  /** By the name or the id by which it was asked for. */
  const edited = new Map<string, Edited>();
  const shown = (firewall: Firewall): Firewall => {
    let seen = firewall;
    for (const key of [firewall.name, firewall.id]) {
      const edits = edited.get(key);
      if (edits === undefined) continue;
      const ports = edits.ports.over(seen.ports);
      seen = { ...seen, ports, nodes: edits.nodes.over(seen.nodes), freeRules: seen.freeRules + seen.ports.length - ports.length };
    }
    return seen;
  };
  const edit =
    <K extends keyof Edited>(kind: K, how: 'add' | 'remove') =>
    (name: string, items: readonly string[]): void => {
      const edits = edited.get(name) ?? { ports: new Edits<string>(), nodes: new Edits<ProviderID>() };
      edited.set(name, edits);
      edits[kind][how](items as never);
      for (const item of items) told(how === 'add' ? opens(name)(item) : closes(name)(item));
    };
  const [openPorts, closePorts] = [edit('ports', 'add'), edit('ports', 'remove')];
  const [openNodes, closeNodes] = [edit('nodes', 'add'), edit('nodes', 'remove')];
  const verbs: Verbs = {
    findRoutedIPFirewall: async (name, call) => {
      const found = await real.findRoutedIPFirewall(name, call);
      if (found === null) edited.delete(name);
      return found && shown(found);
    },
    listRoutedIPFirewalls: async (names, call) => (await real.listRoutedIPFirewalls(names, call)).map(shown),
    addRoutedIPFirewallPort: async (name, ports) => openPorts(name, ports.map(portText)),
    addRoutedIPFirewallNode: async (name, nodes) => openNodes(name, nodes),
    deleteRoutedIPFirewallPort: async (name, ports) => closePorts(name, ports.map(portText)),
    deleteRoutedIPFirewallNode: async (name, nodes) => closeNodes(name, nodes),
  };
  const changes = (): readonly Difference[] =>
    [...edited].flatMap(([name, { ports, nodes }]) => [
      ...[...ports.added, ...nodes.added].map(opens(name)),
      ...[...ports.removed, ...nodes.removed].map(closes(name)),
    ]);
  return { verbs, changes };
}

const opens =
  (name: string) =>
  (subject: string): Difference => ({ what: 'open', subject, from: null, to: `firewall ${name}` });
const closes =
  (name: string) =>
  (subject: string): Difference => ({ what: 'close', subject, from: `firewall ${name}`, to: null });
