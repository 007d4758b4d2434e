import type { Shared } from '../machines/events.ts';
import type { FirewallMachineInput } from '../machines/firewall.ts';
import type { Held } from '../machines/firewall-claims.ts';
import { firewallOf } from '../machines/firewall-id.ts';
import { claimedNodes } from '../machines/ip.ts';
import type { AddressContext } from '../machines/ip-context.ts';
import type { PoolContext } from '../machines/pool.ts';
import { cloudOf } from '../machines/provider-key.ts';
import { rememberedClaim } from '../machines/rebuild-routed-ip.ts';
import type { ActorId, ProviderID } from '../machines/types.ts';
import type { PoolObject } from './ports/cluster.ts';
import type { ActorRecord } from './ports.ts';

/** The cells of a term, as far as one has to know of the others. */
type CellRecords = ReadonlyMap<ActorId, { readonly records: ReadonlyMap<ActorId, ActorRecord> }>;

const poolIn = (records: ReadonlyMap<ActorId, ActorRecord>, id: ActorId): PoolContext | null => {
  const record = records.get(id);
  return record?.chart === 'pool' ? (record.snapshot.context as unknown as PoolContext) : null;
};

/** Whether a RoutedIP has to know of others: its class spaces assignments, or lets a node hold several addresses. */
function shares(context: PoolContext | null): boolean {
  const exposes = context?.spec?.exposes;
  return exposes !== undefined && (exposes.turn !== '' || exposes.perNode > 1);
}

/** What a RoutedIP has to know of the others now; null when it has to know nothing. */
export function sharedBy(id: ActorId, cells: CellRecords): Shared | null {
  const own = poolIn(cells.get(id)?.records ?? new Map(), id);
  if (!own?.spec || !shares(own)) return null;
  const cloud = cloudOf(own.spec.provider);
  const loads: Record<string, number> = {};
  for (const [other, { records }] of cells) if (other !== id) for (const record of records.values()) addLoad(loads, record, cloud);
  return { lastAssignmentAt: lastInTurn(own.spec.exposes?.turn ?? '', cells), loads };
}

/** When an address of those whose assignments are spaced together was last confirmed on a new node; null for never, or when they are not spaced. */
function lastInTurn(turn: string, cells: CellRecords): number | null {
  if (turn === '') return null;
  const pools = [...cells].flatMap(([id, { records }]) => poolIn(records, id) ?? []).filter(({ spec }) => spec?.exposes?.turn === turn);
  const times = pools.flatMap(({ lastAssignmentAt }) => lastAssignmentAt ?? []);
  return times.length > 0 ? Math.max(...times) : null;
}

function addLoad(loads: Record<string, number>, { chart, snapshot }: ActorRecord, cloud: string): void {
  if (chart !== 'ip') return;
  const context = snapshot.context as unknown as AddressContext;
  if (cloudOf(context.provider) !== cloud) return;
  for (const node of claimedNodes(context)) loads[node] = (loads[node] ?? 0) + 1;
}

/** What a firewall begins with after the records were lost: what the status of RoutedIPs says was added to it, and that each of them may need all that its own
 *  status names until its address is heard. Nothing that serves is closed because nobody has claimed it yet. */
export function firewallBegin(id: ActorId, objects: Iterable<readonly [ActorId, PoolObject]>): FirewallMachineInput {
  const { provider, name } = firewallOf(id);
  const ports = new Set<string>();
  const nodes = new Set<ProviderID>();
  const claims: Record<ActorId, Held> = {};
  for (const [actor, { status }] of objects) {
    const remembered = rememberedClaim(status, id);
    if (!remembered) continue;
    const { owned, address, claim } = remembered;
    for (const port of owned.ports) ports.add(port);
    for (const node of owned.nodes) nodes.add(node);
    if (address && claim) claims[`${actor}/ip/${address}`] = claim;
  }
  return { id, provider, firewall: name, owned: { ports: [...ports].sort(), nodes: [...nodes].sort() }, claims };
}
