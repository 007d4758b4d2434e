import type { AddressContext } from '../../machines/address/context.ts';
import { actorOf, isFirewall, isPool, isRoutedIP } from '../../machines/model/actor-id.ts';
import { type ActorId, type Address, FINALIZER } from '../../machines/model/types.ts';
import type { PoolContext, PoolInput, RememberedPool } from '../../machines/pool/context.ts';
import type { Binding } from '../../machines/pool/exposed.ts';
import { classInUse } from '../../machines/pool/service-observed.ts';
import type { PoolSpec } from '../../machines/spec/pool.ts';
import { type Doubt, nothingRemembered, rememberedPool, termIn, withClaimed, withDoubts } from '../../machines/status/restore-pool.ts';
import { rememberedRoutedIP } from '../../machines/status/restore-routedip.ts';
import type { ObservedPools } from '../controllers/pool-cache.ts';
import type { PoolObject } from '../ports/cluster.ts';
import type { ActorRecord, StoredCell } from '../ports/records.ts';
import { begin } from '../runtime/step.ts';
import { type FirewallPorts, type Memory, rebuiltFirewall } from './in-doubt.ts';

export interface RebuildPorts extends FirewallPorts {
  readonly pools: Pick<ObservedPools, 'all' | 'providerOf' | 'createsBy'>;
  readonly providers: { readonly all: Readonly<Record<string, unknown>> };
  /** Whether the object that the actor stands for is gone, or replaced by another one of that name; false while that cannot be observed. */
  readonly isGone: (actor: ActorId, uid: string) => boolean;
}

/** What is kept from the records of a pool that is rebuilt. */
interface Former {
  /** The last term under which they may have been written. */
  readonly term: number;
  /** A creation that may be under way. */
  readonly intent: PoolContext['acquiring']['intent'];
  /** The spec under which that was begun. */
  readonly by: PoolSpec | null;
  /** Assigns that may be under way. */
  readonly doubts: ReadonlyMap<Address, Doubt>;
  /** Firewalls on which claims exist for its addresses. */
  readonly claimed: ReadonlyMap<Address, readonly ActorId[]>;
  /** Of a RoutedIP that has an address. */
  readonly binding: Binding | null;
}

/** The replacement for the records of a cell that is rebuilt: a pool that starts over from its status, a pool without an object that only ends, or a firewall that knows
 *  what was added to it. `memory`: the cells that go on with what they know. Null when nothing has to be kept: the rest starts over with its first event. */
export function rebuilt(
  cell: ActorId,
  records: StoredCell['records'],
  term: number,
  ports: RebuildPorts,
  memory?: Memory,
): ActorRecord | null {
  if (isFirewall(cell)) return rebuiltFirewall(cell, records[cell], ports, memory);
  const record = records[cell];
  const chart = ports.charts.pool;
  const input = record && isPool(cell) ? formerInput(cell, records, term, ports) : null;
  if (!record || !chart || !input) return null;
  const { snapshot } = begin(chart, input);
  return { ...record, chart: chart.name, chartVersion: chart.version, snapshot: snapshot as ActorRecord['snapshot'], waiting: {} };
}

/** The initial input of a pool without records. */
export function poolInput(object: PoolObject, ports: Omit<RebuildPorts, 'isGone'>, former?: Former): PoolInput {
  const { clock, pools, settings } = ports;
  const id = actorOf(object.ref);
  const remember = isRoutedIP(id) ? rememberedRoutedIP : rememberedPool;
  const by = pools.createsBy(object);
  const told = { ...remember(object.status, clock.now(), settings.callDeadlineMs), ...(by && { by }) };
  const remembered = former ? withFormer(told, former, object.status) : told;
  return { id, ref: object.ref, since: object.createdAt, ...known(pools.providerOf(object), ports), remembered };
}

/** Everything done for the RoutedIP is undone: other finalizers keep it, or it is observed for a moment longer. */
export const isUndone = ({ ref, deleting, marks }: PoolObject): boolean =>
  isRoutedIP(actorOf(ref)) && deleting && !marks?.finalizers.includes(FINALIZER);

/** A status shows a creation before anything is sent and until its outcome is known, so records that do not match may be older. But FLIPOP's own CRD has no field for it,
 *  nor for a term. A status of a later term shows newer assigns than the records. */
function withFormer(told: RememberedPool, { term, by, doubts, claimed, ...former }: Former, status: unknown): RememberedPool {
  const intent = told.intent ?? (termIn(status) > 0 ? null : former.intent);
  const isSame = by !== null && intent?.listedAt === former.intent?.listedAt;
  // The binding in the records counts, unless the status shows another address since.
  const binding = !told.bound || told.bound === former.binding?.bound ? former.binding : null;
  const remembered = withClaimed({ ...told, intent, ...(isSame && { by }), ...binding }, claimed);
  return termIn(status) > term ? remembered : withDoubts(remembered, doubts, told.inDoubtUntil);
}

function formerInput(cell: ActorId, records: StoredCell['records'], term: number, ports: RebuildPorts): PoolInput | null {
  const context = contextOf<PoolContext>(records[cell]);
  const { uid } = context.ref ?? {};
  if (uid === undefined) return null;
  const object = ports.pools.all.get(cell);
  const creation = { intent: intentIn(context), by: begunIn(context) };
  const claimed = new Map([...rememberedClaims(context), ...Object.values(records).flatMap(claimsIn)]);
  if (object?.ref.uid === uid) {
    const doubts = new Map([...rememberedDoubts(context), ...Object.values(records).flatMap(doubtIn)]);
    return isUndone(object) ? null : poolInput(object, ports, { term, ...creation, doubts, claimed, binding: bindingOf(context) });
  }
  return ports.isGone(cell, uid) ? endingInput(cell, context, { ...creation, claimed }, ports) : null;
}

function bindingOf({ spec, exposed }: Partial<PoolContext>): Binding | null {
  const { bound, boundBy = null } = exposed ?? {};
  const by = (spec && classInUse(spec)) ?? boundBy;
  return bound ? { bound, ...(by && { boundBy: by }) } : null;
}

/** A pool that only ends, or a RoutedIP that was released by another party: it knows its former addresses, so that no node keeps bearing them, its claims on firewalls, and
 *  the creation that it had begun. It claims no node and sends nothing: others may have decided about these addresses since. */
function endingInput(
  id: ActorId,
  context: Partial<PoolContext>,
  { intent, by, claimed }: Pick<Former, 'intent' | 'by' | 'claimed'>,
  ports: RebuildPorts,
): PoolInput | null {
  const { ref, since = 0, members = {}, left = [], remembered = {}, spec, provider = '' } = context;
  if (!ref) return null;
  const addresses = [...new Set([...Object.keys(members), ...Object.keys(remembered), ...left, ...(spec?.ips ?? [])])] as Address[];
  const inDoubtUntil = ports.clock.now() + ports.settings.callDeadlineMs;
  return {
    id,
    ref,
    since,
    ...known(by?.provider ?? provider, ports),
    remembered: withClaimed(nothingRemembered({ intent, ...(by && { by }), inDoubtUntil, addresses }), claimed),
  };
}

const known = (provider: string, { providers }: Pick<RebuildPorts, 'providers'>): { readonly provider?: string } =>
  Object.hasOwn(providers.all, provider) ? { provider } : {};

/** The record may have been written by another version: nothing in it is taken for granted. */
const contextOf = <Context>(record: ActorRecord | undefined): Partial<Context> => (record?.snapshot.context ?? {}) as Partial<Context>;

function intentIn({ acquiring }: Partial<PoolContext>): Former['intent'] {
  const { knownAddresses, listedAt, region } = acquiring?.intent ?? {};
  return Array.isArray(knownAddresses) && typeof listedAt === 'number' ? { knownAddresses, listedAt, region: String(region ?? '') } : null;
}

/** The spec under which its creation was begun. Only its account can show the outcome, whether it can be read or not. */
const begunIn = ({ acquiring, spec }: Partial<PoolContext>): PoolSpec | null => acquiring?.by ?? spec ?? null;

type Doubted = readonly (readonly [Address, Doubt])[];

/** What a record says of an assign that may be under way; empty when there is none. */
function doubtIn(record: ActorRecord): Doubted {
  const { address, epoch, elected, inDoubtUntil } = contextOf<AddressContext>(record);
  if (record.chart !== 'ip' || !address || (typeof inDoubtUntil !== 'number' && record.waiting.assign === undefined)) return [];
  return [[address, { epoch: epoch ?? 0, ...(elected && { toward: elected.name }) }]];
}

/** The same for addresses that have not received yet what the pool remembers of them. */
const rememberedDoubts = ({ remembered = {} }: Partial<PoolContext>): Doubted =>
  (Object.entries(remembered) as [Address, PoolContext['remembered'][Address]][]).flatMap(([address, { epoch, inDoubtUntil, toward }]) =>
    inDoubtUntil === null ? [] : [[address, { epoch, ...(toward !== undefined && { toward }) }] as const],
  );

type Claimed = readonly (readonly [Address, readonly ActorId[]])[];

/** The firewalls on which claims exist for the address of a record. */
function claimsIn(record: ActorRecord): Claimed {
  const { address, claimed = [] } = contextOf<AddressContext>(record);
  return record.chart === 'ip' && address && claimed.length > 0 ? [[address, claimed]] : [];
}

/** The same for addresses that have not received yet what the pool remembers of them. */
const rememberedClaims = ({ remembered = {} }: Partial<PoolContext>): Claimed =>
  (Object.entries(remembered) as [Address, PoolContext['remembered'][Address]][]).flatMap(([address, { claimed = [] }]) =>
    claimed.length > 0 ? [[address, claimed] as const] : [],
  );
