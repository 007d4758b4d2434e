import { ProviderError } from '../../actors/ports/errors.ts';
import type { Firewall, Provider } from '../../actors/ports/provider.ts';
import { portText } from '../../machines/model/port.ts';
import type { Port, ProviderID } from '../../machines/model/types.ts';
import { fields, integer, items, text } from '../http/read.ts';
import { freeRulesBeside, refuseDropletsBeyond, refuseNoRuleLeft, refuseRulesBeyond } from './firewall-limits.ts';
import { type FoundRule, readRule, ruleFor } from './firewall-rules.ts';
import type { RequestLayer } from './gaps.ts';
import { dropletIdOf, providerIDOf } from './read.ts';
import type { Sight } from './sight.ts';

export type FirewallVerbs = Pick<
  Provider,
  | 'findRoutedIPFirewall'
  | 'listRoutedIPFirewalls'
  | 'addRoutedIPFirewallPort'
  | 'addRoutedIPFirewallNode'
  | 'deleteRoutedIPFirewallPort'
  | 'deleteRoutedIPFirewallNode'
>;

/** A firewall as shown by one response of the API. */
interface FoundFirewall {
  readonly id: string;
  readonly name: string;
  readonly rules: readonly FoundRule[];
  /** All rules that count towards the limit, including outbound ones. */
  readonly ruleCount: number;
  /** Droplets included by id. */
  readonly dropletIds: readonly number[];
  /** Droplets with one of these tags are included too. */
  readonly tags: readonly string[];
  readonly pending: boolean;
  readonly pendingOn: readonly ProviderID[] | null;
  readonly failed: boolean;
  /** Fields missing from the response: there may be none, or the token may not read them. */
  readonly leavesOut: { readonly droplets: boolean; readonly tags: boolean };
}

interface Sights {
  readonly droplets: Sight;
  readonly tags: Sight;
}

/**
 * Ports and nodes of firewalls: every rule of a firewall applies to every droplet in it. Changes use the endpoints that add and remove, since a PUT
 * resets fields it does not name. Rules that `portText` cannot express, and droplets included by a tag, are never touched.
 */
export function firewallVerbs(layer: RequestLayer, sights: Sights): FirewallVerbs {
  const { verb, services } = layer;
  return {
    findRoutedIPFirewall: (name, call) =>
      verb(`find firewall ${name}`, call, async () => {
        const found = await find(layer, name);
        return found && (await wholly(layer, found, sights));
      }),
    listRoutedIPFirewalls: (names, call) =>
      verb('list firewalls', call, async () => {
        const isAsked = (item: Readonly<Record<string, unknown>>): boolean => names.some((name) => name === item.name || name === item.id);
        const listed = (await listAll(layer)).filter(isAsked).map(readFirewall);
        const asked = listed.filter(({ name }) => !controlled.test(name));
        return Promise.all(asked.map(async (found) => wholly(layer, found, sights)));
      }),
    addRoutedIPFirewallPort: (name, ports, call) =>
      verb(`open ports on firewall ${name}`, call, async () => {
        const found = await existing(layer, name);
        const missing = [...byText(ports)].filter(([opens]) => !found.rules.some((rule) => rule.opens === opens)).map(([, port]) => port);
        if (missing.length === 0) return;
        refuseRulesBeyond(name, found.ruleCount, missing);
        await services.firewalls.addRulesToFirewall(found.id, missing.map(ruleFor), []);
      }),
    addRoutedIPFirewallNode: (name, nodes, call) =>
      verb(`add nodes to firewall ${name}`, call, async () => {
        const found = await existing(layer, name);
        const unnamed = [...new Set(nodes.map(dropletIdOf))].filter((id) => !found.dropletIds.includes(id));
        if (unnamed.length === 0) return;
        await requireSight(found, sights);
        const tagged = new Set(await taggedDroplets(layer, found));
        const missing = unnamed.filter((id) => !tagged.has(id));
        if (missing.length === 0) return;
        refuseDropletsBeyond(name, found.dropletIds.length, missing.length);
        await unlessGone(layer, missing, () => services.firewalls.addDropletsToFirewall(found.id, missing));
      }),
    deleteRoutedIPFirewallPort: (name, ports, call) =>
      verb(`close ports on firewall ${name}`, call, async () => {
        const found = await existing(layer, name);
        const wanted = byText(ports);
        const present = found.rules.filter(({ opens, exact }) => exact && opens !== null && wanted.has(opens));
        if (present.length === 0) return;
        refuseNoRuleLeft(name, found.ruleCount, present.length);
        const rules = present.map(({ rule }) => rule);
        await services.firewalls.removeRulesFromFirewall(found.id, rules, []);
      }),
    deleteRoutedIPFirewallNode: (name, nodes, call) =>
      verb(`remove nodes from firewall ${name}`, call, async () => {
        const found = await existing(layer, name);
        const wanted = new Set(nodes.map(dropletIdOf));
        const present = found.dropletIds.filter((id) => wanted.has(id));
        if (present.length === 0) return;
        await unlessGone(layer, present, () => services.firewalls.removeDropletsFromFirewall(found.id, present));
      }),
  };
}

const byText = (ports: readonly Port[]): ReadonlyMap<string, Port> => new Map(ports.map((port) => [portText(port), port]));

// ---------------------------------------------------------------- finding

const idPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** By name, which is unique within an account; or by id, which avoids the list. @throws ProviderError Unsupported */
async function find(layer: RequestLayer, name: string): Promise<FoundFirewall | null> {
  const found = idPattern.test(name) ? await findById(layer, name) : await findByName(layer, name);
  if (found !== null) refuseControlled(found.name);
  return found;
}

async function findByName(layer: RequestLayer, name: string): Promise<FoundFirewall | null> {
  const found = (await listAll(layer)).find((item) => item.name === name);
  return found === undefined ? null : readFirewall(found);
}

/** The library reads only the first page. */
const listAll = (layer: RequestLayer): Promise<readonly Readonly<Record<string, unknown>>[]> =>
  layer.listAll('/firewalls', 'firewalls', (item) => fields(item, 'firewall'));

async function findById(layer: RequestLayer, id: string): Promise<FoundFirewall | null> {
  try {
    return readFirewall(fields(await layer.services.firewalls.getExistingFirewall(id), 'firewall'));
  } catch (error) {
    if (error instanceof ProviderError && error.kind === 'NotFound') return null;
    throw error;
  }
}

async function existing(layer: RequestLayer, name: string): Promise<FoundFirewall> {
  const found = await find(layer, name);
  if (found === null) throw new ProviderError('NotFound', `there is no firewall ${name}`);
  return found;
}

/**
 * The two firewalls that DigitalOcean Kubernetes manages for a cluster, named by its id: its cloud controller opens the ports of NodePort and LoadBalancer
 * Services in the first one and reverts all other changes within minutes (digitalocean-cloud-controller-manager issue 911); the second is for traffic
 * between nodes.
 */
const controlled = /^k8s-(public-access-.+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-worker)$/;

/** Also for reads: a firewall is looked up in order to be written to. */
function refuseControlled(name: string): void {
  if (!controlled.test(name)) return;
  throw new ProviderError(
    'Unsupported',
    `firewall ${name} is kept by the cloud controller of DigitalOcean Kubernetes, which undoes changes: make a firewall beside it and name that`,
  );
}

export function readFirewall(found: Readonly<Record<string, unknown>>): FoundFirewall {
  const rules = items(found.inbound_rules ?? [], 'inbound rules').map(readRule);
  const changes = items(found.pending_changes ?? [], 'pending changes');
  return {
    id: text(found.id, 'firewall id'),
    name: text(found.name, 'firewall name'),
    rules,
    ruleCount: rules.length + items(found.outbound_rules ?? [], 'outbound rules').length,
    dropletIds: items(found.droplet_ids ?? [], 'droplet ids').map((id) => integer(id, 'droplet id')),
    tags: items(found.tags ?? [], 'tags').map((tag) => text(tag, 'tag')),
    // Only `succeeded` means that every droplet has the rules; `failed` means that some droplet does not.
    pending: found.status !== 'succeeded' || changes.length > 0,
    pendingOn:
      changes.length > 0 ? changes.map((change) => providerIDOf(integer(fields(change, 'pending change').droplet_id, 'droplet id'))) : null,
    failed: found.status === 'failed',
    leavesOut: { droplets: (found.droplet_ids ?? null) === null, tags: (found.tags ?? null) === null },
  };
}

const shown = ({ id, name, rules, ruleCount, pending, pendingOn, failed }: FoundFirewall): Omit<Firewall, 'nodes'> => ({
  id,
  name,
  otherRules: ruleCount - rules.filter(({ opens }) => opens !== null).length,
  freeRules: freeRulesBeside(ruleCount),
  ports: [...new Set(rules.flatMap(({ opens }) => opens ?? []))].sort(),
  pending,
  ...(pendingOn && { pendingOn }),
  ...(failed && { failed }),
});

// ---------------------------------------------------------------- droplets

async function wholly(layer: RequestLayer, found: FoundFirewall, sights: Sights): Promise<Firewall> {
  await requireSight(found, sights);
  return { ...shown(found), nodes: (await covered(layer, found)).map(providerIDOf).sort() };
}

/** @throws ProviderError Unauthorized where the token may not read what the response leaves out */
async function requireSight({ leavesOut }: FoundFirewall, { droplets, tags }: Sights): Promise<void> {
  if (leavesOut.droplets) await droplets.require();
  if (leavesOut.tags) await tags.require();
}

/** All droplets in it, by id or by tag. */
const covered = async (layer: RequestLayer, firewall: FoundFirewall): Promise<readonly number[]> => [
  ...new Set([...firewall.dropletIds, ...(await taggedDroplets(layer, firewall))]),
];

async function taggedDroplets(layer: RequestLayer, { tags }: FoundFirewall): Promise<readonly number[]> {
  const ids: number[] = [];
  for (const tag of tags) {
    ids.push(
      ...(await layer.listAll('/droplets', 'droplets', (item) => integer(fields(item, 'droplet').id, 'droplet id'), { tag_name: tag })),
    );
  }
  return ids;
}

/** A droplet may have been destroyed since it was looked up. The refusal does not distinguish it from a missing firewall, so each droplet is checked.
 *  @throws ProviderError Unavailable when that is why `write` was refused */
async function unlessGone(layer: RequestLayer, ids: readonly number[], write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!(error instanceof ProviderError) || (error.kind !== 'NotFound' && error.kind !== 'Invalid')) throw error;
    const gone: number[] = [];
    for (const id of ids) if (!(await exists(layer, id))) gone.push(id);
    if (gone.length === 0) throw error;
    const which = gone.length === 1 ? `droplet ${gone[0]} does` : `droplets ${gone.join(', ')} do`;
    throw new ProviderError('Unavailable', `${which} not exist any more (${error.message})`, { cause: error });
  }
}

async function exists(layer: RequestLayer, id: number): Promise<boolean> {
  try {
    await layer.get(`/droplets/${id}`);
    return true;
  } catch (error) {
    if (error instanceof ProviderError && error.kind === 'NotFound') return false;
    throw error;
  }
}
