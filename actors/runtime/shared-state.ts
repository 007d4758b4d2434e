import type { AddressContext } from '../../machines/address/context.ts';
import { claimedNodes } from '../../machines/address/decisions.ts';
import type { Shared } from '../../machines/events.ts';
import type { Held } from '../../machines/firewall/claims.ts';
import type { FirewallMachineInput } from '../../machines/firewall/context.ts';
import { addressActor, firewallOf } from '../../machines/model/actor-id.ts';
import { cloudOf } from '../../machines/model/provider-key.ts';
import type { ActorId, Address, ProviderID } from '../../machines/model/types.ts';
import type { PoolContext } from '../../machines/pool/context.ts';
import { rememberedClaim } from '../../machines/status/restore-routedip.ts';
import type { PoolObject } from '../ports/cluster.ts';
import type { SavedTurn } from '../ports/observers.ts';
import type { ActorRecord } from '../ports/records.ts';

/** What the addresses and pools of a term have to know of each other: how many addresses each node has or will have, and when an assignment was last confirmed among the
 *  pools whose assignments are spaced together. Updated as turns are saved: a query costs as much as the number of nodes queried. */
export class Sharing {
  /** By cloud, then by node. */
  readonly #loads = new Map<string, Map<string, number>>();
  /** By the name of the group that is spaced together, then by pool: ms since the epoch. */
  readonly #confirmed = new Map<string, Map<ActorId, number>>();

  /** Adds the stored records of a cell. */
  load(records: Iterable<readonly [ActorId, ActorRecord]>): void {
    for (const [actor, record] of records) this.#note(actor, null, record);
  }

  turnSaved({ transitions }: Pick<SavedTurn, 'transitions'>): void {
    for (const { actor, before, after } of transitions) this.#note(actor, before, after);
  }

  /** What a RoutedIP has to know of the others now, limited to these nodes; null when it does not need to. */
  sharedBy(id: ActorId, records: Records | null, nodes: readonly string[]): Shared | null {
    const own = poolIn(records?.get(id));
    if (!own?.spec || !records || !sharesNodes(id, records)) return null;
    const times = [...(this.#confirmed.get(turnIn(own))?.values() ?? [])];
    const loads = this.#loadsBut(records, cloudOf(own.spec.provider), nodes);
    return { lastAssignmentAt: times.length > 0 ? Math.max(...times) : null, loads };
  }

  /** The loads of these nodes, less what these records contribute. */
  #loadsBut(records: Records, cloud: string, nodes: readonly string[]): Shared['loads'] {
    const own = [...records.values()].flatMap(claimsIn).filter(([, of]) => of === cloud);
    const all = this.#loads.get(cloud);
    const loads = nodes.map((node) => [node, (all?.get(node) ?? 0) - own.filter(([name]) => name === node).length] as const);
    return Object.fromEntries(loads.filter(([, load]) => load > 0));
  }

  #note(actor: ActorId, before: ActorRecord | null, after: ActorRecord | null): void {
    for (const [node, cloud] of claimsIn(before)) this.#count(cloud, node, -1);
    for (const [node, cloud] of claimsIn(after)) this.#count(cloud, node, 1);
    const [former, turn] = [turnIn(poolIn(before)), turnIn(poolIn(after))];
    if (former !== turn) this.#confirmed.get(former)?.delete(actor);
    if (this.#confirmed.get(former)?.size === 0) this.#confirmed.delete(former);
    const at = poolIn(after)?.lastAssignmentAt ?? null;
    if (turn !== '' && at !== null) mapIn(this.#confirmed, turn).set(actor, at);
  }

  #count(cloud: string, node: string, change: number): void {
    const loads = mapIn(this.#loads, cloud);
    const load = (loads.get(node) ?? 0) + change;
    if (load > 0) loads.set(node, load);
    else loads.delete(node);
  }
}

const poolIn = (record: ActorRecord | null | undefined): PoolContext | null =>
  record?.chart === 'pool' ? (record.snapshot.context as unknown as PoolContext) : null;

type Records = ReadonlyMap<ActorId, ActorRecord>;

/** Whether a RoutedIP has to know of others: its class spaces assignments, or allows several addresses per node. */
export function sharesNodes(id: ActorId, records: Records): boolean {
  const exposes = poolIn(records.get(id))?.spec?.exposes;
  return exposes !== undefined && (exposes.turn !== '' || exposes.perNode > 1);
}

/** The name of the group whose assignments are spaced with those of this pool; empty for none. */
const turnIn = (pool: PoolContext | null): string => pool?.spec?.exposes?.turn ?? '';

/** The nodes that an address is or may come to be on, each with its cloud. */
function claimsIn(record: ActorRecord | null): readonly (readonly [node: string, cloud: string])[] {
  if (record?.chart !== 'ip') return [];
  const context = record.snapshot.context as unknown as AddressContext;
  return claimedNodes(context).map((node) => [node, cloudOf(context.provider)] as const);
}

function mapIn<K, V>(maps: Map<string, Map<K, V>>, key: string): Map<K, V> {
  const map = maps.get(key) ?? new Map<K, V>();
  maps.set(key, map);
  return map;
}

/** The initial input of a firewall after its records were lost: what the statuses of RoutedIPs say was added to it, assuming that each of them may need all that its own
 *  status names until its address has claimed. Nothing in use is closed because it has not been claimed yet, and nothing is opened without a claim. `recordsOf`: what is
 *  decided by now and a stale status does not show; nothing, when absent. */
export function firewallBegin(
  id: ActorId,
  objects: Iterable<readonly [ActorId, PoolObject]>,
  recordsOf: (cell: ActorId) => Records | null = () => null,
): FirewallMachineInput {
  const { provider, name } = firewallOf(id);
  const ports = new Set<string>();
  const nodes = new Set<ProviderID>();
  const claims: Record<ActorId, Held> = {};
  for (const [actor, { status }] of objects) {
    const remembered = rememberedClaim(status, id);
    if (!remembered) continue;
    const { owned, address, claim } = remembered;
    const claimant = addressActor(actor, address as Address);
    const own = recordsOf(actor)?.get(claimant)?.snapshot.context as unknown as AddressContext | undefined;
    if (own && !own.claimed.includes(id)) continue;
    for (const port of owned.ports) ports.add(port);
    for (const node of owned.nodes) nodes.add(node);
    if (address && claim) claims[claimant] = claim;
  }
  return { id, provider, firewall: name, owned: { ports: [...ports].sort(), nodes: [...nodes].sort() }, claims };
}
