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
  /** Whether the object that the actor stands for is gone, or another one of that name is there; false while that cannot be seen. */
  readonly isGone: (actor: ActorId, uid: string) => boolean;
}

/** What is kept of the records of a pool that is rebuilt. */
interface Former {
  /** The last term under which they may have been written. */
  readonly term: number;
  /** A creation that may be under way. */
  readonly intent: PoolContext['acquiring']['intent'];
  /** What that was begun by. */
  readonly by: PoolSpec | null;
  /** Assigns that may be under way. */
  readonly doubts: ReadonlyMap<Address, Doubt>;
  /** Firewalls of which something is claimed for its addresses. */
  readonly claimed: ReadonlyMap<Address, readonly ActorId[]>;
  /** Of a RoutedIP that has got an address. */
  readonly binding: Binding | null;
}

/** What takes the place of the records of a cell that is rebuilt: a pool that begins anew with what its status says, a pool without an object that is only to end, or a firewall
 *  that knows what was added to it. `memory`: those that go on with what they know. Null when nothing has to be kept: the rest begins anew with the first that is told to it. */
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

/** What a pool without records begins with. */
export function poolInput(object: PoolObject, ports: Omit<RebuildPorts, 'isGone'>, former?: Former): PoolInput {
  const { clock, pools, settings } = ports;
  const id = actorOf(object.ref);
  const remember = isRoutedIP(id) ? rememberedRoutedIP : rememberedPool;
  const by = pools.createsBy(object);
  const told = { ...remember(object.status, clock.now(), settings.callDeadlineMs), ...(by && { by }) };
  const remembered = former ? withFormer(told, former, object.status) : told;
  return { id, ref: object.ref, since: object.createdAt, ...known(pools.providerOf(object), ports), remembered };
}

/** All was undone that was done for the RoutedIP: others keep it from going, or it is seen for a moment more. */
export const isUndone = ({ ref, deleting, marks }: PoolObject): boolean =>
  isRoutedIP(actorOf(ref)) && deleting && !marks?.finalizers.includes(FINALIZER);

/** A status tells of a creation before anything is sent, and until it is known what came of that: records that do not fit may be older. But FLIPOP's own definition lets
 *  none tell of it, nor of a term. A status of a later term tells of assigns that are newer than those of the records. */
function withFormer(told: RememberedPool, { term, by, doubts, claimed, ...former }: Former, status: unknown): RememberedPool {
  const intent = told.intent ?? (termIn(status) > 0 ? null : former.intent);
  const isSame = by !== null && intent?.listedAt === former.intent?.listedAt;
  // What the records say of it counts, unless it has another one since.
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

/** A pool that is only to end, or a RoutedIP that somebody has let go: it knows which addresses it had, so that no node goes on to bear them, what it claims of firewalls, and the creation
 *  that it had begun. It claims no node and sends nothing: others may have decided about these addresses since. */
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

/** What is read of a record may be of another program: nothing of it is taken for granted. */
const contextOf = <Context>(record: ActorRecord | undefined): Partial<Context> => (record?.snapshot.context ?? {}) as Partial<Context>;

function intentIn({ acquiring }: Partial<PoolContext>): Former['intent'] {
  const { knownAddresses, listedAt, region } = acquiring?.intent ?? {};
  return Array.isArray(knownAddresses) && typeof listedAt === 'number' ? { knownAddresses, listedAt, region: String(region ?? '') } : null;
}

/** The spec under which its creation was begun. Only its account can tell what became of that, whether it can be read or not. */
const begunIn = ({ acquiring, spec }: Partial<PoolContext>): PoolSpec | null => acquiring?.by ?? spec ?? null;

type Doubted = readonly (readonly [Address, Doubt])[];

/** What a record tells of an assign that may be under way: nothing where there is none. */
function doubtIn(record: ActorRecord): Doubted {
  const { address, epoch, elected, inDoubtUntil } = contextOf<AddressContext>(record);
  if (record.chart !== 'ip' || !address || (typeof inDoubtUntil !== 'number' && record.waiting.assign === undefined)) return [];
  return [[address, { epoch: epoch ?? 0, ...(elected && { toward: elected.name }) }]];
}

/** The same of addresses that were not told of yet what the pool remembers. */
const rememberedDoubts = ({ remembered = {} }: Partial<PoolContext>): Doubted =>
  (Object.entries(remembered) as [Address, PoolContext['remembered'][Address]][]).flatMap(([address, { epoch, inDoubtUntil, toward }]) =>
    inDoubtUntil === null ? [] : [[address, { epoch, ...(toward !== undefined && { toward }) }] as const],
  );

type Claimed = readonly (readonly [Address, readonly ActorId[]])[];

/** Of which firewalls something is claimed for the address of a record. */
function claimsIn(record: ActorRecord): Claimed {
  const { address, claimed = [] } = contextOf<AddressContext>(record);
  return record.chart === 'ip' && address && claimed.length > 0 ? [[address, claimed]] : [];
}

/** The same of addresses that were not told of yet what the pool remembers. */
const rememberedClaims = ({ remembered = {} }: Partial<PoolContext>): Claimed =>
  (Object.entries(remembered) as [Address, PoolContext['remembered'][Address]][]).flatMap(([address, { claimed = [] }]) =>
    claimed.length > 0 ? [[address, claimed] as const] : [],
  );
