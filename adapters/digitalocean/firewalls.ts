import { ProviderError } from '../../actors/errors.ts';
import type { Firewall, Provider } from '../../actors/ports.ts';
import type { Port } from '../../machines/types.ts';
import type { RequestLayer } from './gaps.ts';
import { dropletIdOf, fields, integer, items, providerIDOf, text } from './read.ts';

export type FirewallVerbs = Pick<
  Provider,
  | 'findRoutedIPFirewall'
  | 'addRoutedIPFirewallPort'
  | 'addRoutedIPFirewallNode'
  | 'deleteRoutedIPFirewallPort'
  | 'deleteRoutedIPFirewallNode'
>;

/** From anywhere: what an open port means here. Other rules of the firewall are somebody else's. */
const anywhere = ['0.0.0.0/0', '::/0'];

/** The DigitalOcean cloud controller puts these back as it wants them. */
const controlledPrefix = 'k8s-public-access-';

interface FoundFirewall {
  readonly firewall: Firewall;
  readonly dropletIds: readonly number[];
}

export function firewallVerbs(layer: RequestLayer): FirewallVerbs {
  const { verb, services } = layer;
  return {
    findRoutedIPFirewall: (name, call) => verb(`find firewall ${name}`, call, async () => (await find(layer, name))?.firewall ?? null),
    addRoutedIPFirewallPort: (name, ports, call) =>
      verb(`open ports on firewall ${name}`, call, async () => {
        const { firewall } = await writable(layer, name);
        const missing = ports.filter((port) => !firewall.ports.includes(portName(port)));
        if (missing.length > 0) await services.firewalls.addRulesToFirewall(firewall.id, missing.map(ruleFor), []);
      }),
    addRoutedIPFirewallNode: (name, nodes, call) =>
      verb(`add nodes to firewall ${name}`, call, async () => {
        const { firewall, dropletIds } = await writable(layer, name);
        const missing = nodes.map(dropletIdOf).filter((id) => !dropletIds.includes(id));
        if (missing.length > 0) await services.firewalls.addDropletsToFirewall(firewall.id, missing);
      }),
    deleteRoutedIPFirewallPort: (name, ports, call) =>
      verb(`close ports on firewall ${name}`, call, async () => {
        const { firewall } = await writable(layer, name);
        const present = ports.filter((port) => firewall.ports.includes(portName(port)));
        if (present.length > 0) await services.firewalls.removeRulesFromFirewall(firewall.id, present.map(ruleFor), []);
      }),
    deleteRoutedIPFirewallNode: (name, nodes, call) =>
      verb(`remove nodes from firewall ${name}`, call, async () => {
        const { firewall, dropletIds } = await writable(layer, name);
        const present = nodes.map(dropletIdOf).filter((id) => dropletIds.includes(id));
        if (present.length > 0) await services.firewalls.removeDropletsFromFirewall(firewall.id, present);
      }),
  };
}

const portName = ({ port, protocol }: Port): string => `${protocol.toLowerCase()}/${port}`;

/** Empty lists of the other kinds of source are left out, although the library's type wants them. */
function ruleFor({ port, protocol }: Port) {
  const sources = { addresses: anywhere } as { addresses: string[]; droplet_ids: number[]; load_balancer_uids: string[]; tags: string[] };
  return { protocol: protocol.toLowerCase(), ports: String(port), sources };
}

const idPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** By name, which the API keeps unique in an account; or by id, which spares the list. */
async function find(layer: RequestLayer, name: string): Promise<FoundFirewall | null> {
  if (idPattern.test(name)) return await findById(layer, name);
  // The library reads the first page only.
  const listed = await layer.listAll('/firewalls', 'firewalls');
  const found = listed.map((item) => fields(item, 'firewall')).find((item) => item.name === name);
  return found === undefined ? null : read(found);
}

async function findById(layer: RequestLayer, id: string): Promise<FoundFirewall | null> {
  try {
    return read(fields(await layer.services.firewalls.getExistingFirewall(id), 'firewall'));
  } catch (error) {
    if (error instanceof ProviderError && error.kind === 'NotFound') return null;
    throw error;
  }
}

async function writable(layer: RequestLayer, name: string): Promise<FoundFirewall> {
  const found = await find(layer, name);
  if (found === null) throw new ProviderError('NotFound', `there is no firewall ${name}`);
  if (found.firewall.name.startsWith(controlledPrefix)) {
    throw new ProviderError('Unsupported', `firewall ${name} belongs to the cloud controller, which would undo the change`);
  }
  return found;
}

function read(found: Readonly<Record<string, unknown>>): FoundFirewall {
  const dropletIds = items(found.droplet_ids ?? [], 'droplet ids').map((id) => integer(id, 'droplet id'));
  const pending = items(found.pending_changes ?? [], 'pending changes');
  const firewall: Firewall = {
    id: text(found.id, 'firewall id'),
    name: text(found.name, 'firewall name'),
    ports: items(found.inbound_rules ?? [], 'inbound rules')
      .flatMap(openPort)
      .sort(),
    nodes: dropletIds.map(providerIDOf).sort(),
    pending: pending.length > 0 || found.status === 'waiting',
  };
  return { firewall, dropletIds };
}

/** `tcp/80` for a rule that opens one port to everybody and to nobody else; nothing for other rules. */
function openPort(value: unknown): string[] {
  const rule = fields(value, 'rule');
  const sources = Object.entries(fields(rule.sources, 'rule sources')).filter(([, list]) => Array.isArray(list) && list.length > 0);
  const [kind, addresses] = sources[0] ?? [];
  if (sources.length !== 1 || kind !== 'addresses') return [];
  const everybody = JSON.stringify([...items(addresses, 'addresses')].sort()) === JSON.stringify(anywhere);
  const port = text(rule.ports, 'rule ports');
  return everybody && /^[1-9]\d*$/.test(port) ? [`${text(rule.protocol, 'rule protocol')}/${port}`] : [];
}
