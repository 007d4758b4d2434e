import type { Held } from '../firewall/claims.ts';
import type { FirewallOwned } from '../jobs.ts';
import { firewallActor } from '../model/actor-id.ts';
import { parseAddress } from '../model/address.ts';
import { portText } from '../model/port.ts';
import {
  type ActorId,
  type Address,
  type BoundAddress,
  type Fields,
  fieldsOf,
  type NodeRef,
  type Port,
  type ProviderID,
} from '../model/types.ts';
import type { RememberedPool } from '../pool/context.ts';
import type { Binding } from '../pool/exposed.ts';
import { rememberedPool } from './restore-pool.ts';

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** A RoutedIP's state restored from its status, in case the records are lost, in the form of a single-address pool. */
export function rememberedRoutedIP(status: unknown, now: number, callDeadlineMs: number): RememberedPool {
  const fields = fieldsOf(status);
  const bound = boundAddress(status);
  const entry = {
    // An address reserved for this RoutedIP counts as created by us.
    origin: fields.addressOrigin === 'IPGroup' ? 'Created' : fields.addressOrigin,
    epoch: fields.epoch,
    unconfirmed: fields.unconfirmed,
    inDoubt: fields.inDoubt,
    machineState: fields.state,
    electedNode: fields.electedNode,
    nodeName: fields.assignedNode,
    providerID: fields.providerID,
    notReadySince: fields.notReadySince,
    contendedUntil: fields.contendedUntil,
  };
  const pool = rememberedPool({ ...fields, ips: bound ? { [bound]: entry } : {} }, now, callDeadlineMs);
  const claimed = ownedRules(status).map(({ firewall }) => firewall);
  const on = nodeIn(fields);
  const elected = typeof fields.electedNode === 'string' && { elected: fields.electedNode };
  const addresses = bound
    ? { ...pool.addresses, [bound]: { epoch: 0, inDoubtUntil: null, ...pool.addresses[bound], claimed, ...(on && { on }), ...elected } }
    : pool.addresses;
  // It has the address created for it, and creates no other.
  const intent = boundIn(status)?.created ? null : pool.intent;
  return { ...pool, intent, addresses, ...bindingIn(status) };
}

/** The bound address according to its status, and the class or issuer that provided it. */
export function bindingIn(status: unknown): Binding {
  const bound = boundAddress(status);
  const { kind, name, provider } = fieldsOf(fieldsOf(status).class);
  if (!bound || typeof kind !== 'string' || typeof name !== 'string') return { bound };
  return { bound, boundBy: { kind, name, ...(typeof provider === 'string' && { provider }) } };
}

const nodeIn = ({ assignedNode, providerID }: Fields): NodeRef | null =>
  typeof assignedNode === 'string' && typeof providerID === 'string' ? { name: assignedNode, providerID: providerID as ProviderID } : null;

/** The bound address of a RoutedIP according to its status; null for none. */
export function boundAddress(status: unknown): Address | null {
  const { routedIP } = fieldsOf(status);
  return typeof routedIP === 'string' ? parseAddress(routedIP) : null;
}

export function boundIn(status: unknown): BoundAddress | null {
  const address = boundAddress(status);
  const { addressOrigin } = fieldsOf(status);
  return address && { address, created: addressOrigin === 'Created' || addressOrigin === 'IPGroup' };
}

/** What was added to firewalls for a RoutedIP, by firewall actor. */
export function ownedRules(status: unknown): readonly { readonly firewall: ActorId; readonly owned: FirewallOwned }[] {
  return list(fieldsOf(status).ownedRules)
    .map(fieldsOf)
    .flatMap(({ firewall, provider, ports, nodes }) => {
      if (typeof firewall !== 'string' || typeof provider !== 'string') return [];
      const owned = {
        ports: list(ports).map(fieldsOf).flatMap(portIn).sort(),
        nodes: list(nodes).filter((node): node is ProviderID => typeof node === 'string'),
      };
      return [{ firewall: firewallActor(provider, firewall), owned }];
    });
}

/** A RoutedIP's status about one firewall: what was added to it, and what the address may need of it: everything named there, and what serves. That is kept, and nothing is
 *  opened before the address claims it: the address may have to get to its node first, or to another one. Null when nothing was added; the claim is null when nothing can serve
 *  through it. */
export function rememberedClaim(
  status: unknown,
  id: ActorId,
): { readonly owned: FirewallOwned; readonly address: Address | null; readonly claim: Held | null } | null {
  const owned = ownedRules(status).find(({ firewall }) => firewall === id)?.owned;
  if (!owned) return null;
  const { providerID, ports: open } = fieldsOf(status);
  const holders = typeof providerID === 'string' ? [providerID as ProviderID] : [];
  const ports = [...new Set([...owned.ports, ...list(open).map(fieldsOf).flatMap(portIn)])].sort();
  const nodes = [...new Set([...owned.nodes, ...holders])]
    .sort()
    .map((node) => ({ name: node, providerID: node, onlyKept: true as const }));
  const claim = ports.length > 0 && nodes.length > 0 ? { ports, nodes, exclusive: false, isOpen: false } : null;
  return { owned, address: boundAddress(status), claim };
}

function portIn({ port, protocol, sources }: Fields): readonly string[] {
  if (typeof port !== 'number' || (protocol !== 'TCP' && protocol !== 'UDP')) return [];
  const from = list(sources).filter((source): source is string => typeof source === 'string');
  const rule: Port = { port, protocol, ...(from.length > 0 && { sources: from }) };
  return [portText(rule)];
}
