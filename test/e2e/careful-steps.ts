import type { IPStatus } from '../../crds/generated/floatingippool.ts';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { MORTAL_FLAGS, type Operator } from '../support/operator.ts';
import type { Condition, Names } from './named.ts';
import type { Stage } from './stage.ts';

/** A pool `ingress` of which each address is active, and its node annotated: the first one on the first node, and so on. */
export interface CarefulPool {
  readonly names: Names;
  readonly stage: Stage;
  readonly ips: readonly string[];
  /** The first address. */
  readonly ip: string;
  readonly operator: Operator;
  /** Names of the nodes by the droplets that they were made with. */
  readonly machines: ReadonlyMap<number, string>;
}

export interface CarefulOptions {
  /** By name, those that get the addresses first. */
  readonly nodes: readonly string[];
  /** How many addresses. Default 1. */
  readonly addresses?: number;
  readonly flags?: readonly string[];
}

/** Makes such a pool with these fields in its spec. */
export async function carefulPool(names: Names, spec: JsonObject, options: CarefulOptions): Promise<CarefulPool> {
  const { stage } = names;
  const { nodes, addresses = 1, flags = [] } = options;
  await stage.nodes(...nodes);
  const ips = Array.from({ length: addresses }, () => stage.cloud.addReservedIP({ region: 'nyc3' }).ip);
  const machines = new Map([...stage.cloud.state.droplets].map(([id, { name }]) => [id, name]));
  const operator = await names.start({ flags });
  await stage.pool('ingress', { ips, ...spec });
  const active = () => Promise.all(ips.map((ip) => stage.activeOn('ingress', ip)));
  const first = nodes.slice(0, addresses);
  await stage.until(`the addresses are active on ${first}`, async () => (await active()).join() === first.join());
  const annotated = () => Promise.all(first.map((node) => stage.annotation(node)));
  await stage.until('their nodes are annotated', async () => (await annotated()).join() === ips.join());
  return { names, stage, ips, ip: ips[0] ?? '', operator, machines };
}

export const conditionOf = async ({ stage }: CarefulPool, type: string): Promise<Condition | undefined> => {
  const conditions = (await stage.getPool('ingress')).status?.conditions ?? [];
  return (conditions as readonly Condition[]).find((condition) => condition.type === type);
};

export const untilReason = (pool: CarefulPool, type: string, reason: string): Promise<void> =>
  pool.stage.until(`${type} says ${reason}`, async () => (await conditionOf(pool, type))?.reason === reason);

/** The first address, as the status has it. */
export const statusOf = async ({ stage, ip }: CarefulPool): Promise<Partial<IPStatus>> =>
  (await stage.getPool('ingress')).status?.ips?.[ip] ?? {};

export const assignableNodes = async ({ stage }: CarefulPool): Promise<string> =>
  ((await stage.getPool('ingress')).status?.assignableNodes ?? []).join();

/** `reason: note` of the Events about this very pool, not about the one of the scenario before. */
export async function eventsOf({ stage }: CarefulPool): Promise<readonly string[]> {
  const { client } = stage.target;
  const { uid } = (await stage.getPool('ingress')).metadata as { readonly uid?: string };
  const events = await client.list('events.k8s.io/v1', 'Event', { namespace: 'default' });
  return events
    .filter(({ regarding }) => uid !== undefined && (regarding as { uid?: string } | undefined)?.uid === uid)
    .map(({ reason, note }) => `${reason}: ${note}`);
}

export const untilEvent = (pool: CarefulPool, beginning: string): Promise<void> =>
  pool.stage.until(`an Event says ${beginning}`, async () => (await eventsOf(pool)).some((event) => event.startsWith(beginning)));

/** Resolves once the operator has looked at all addresses of the provider after now: the second list began after the first one ended. */
export async function verified({ stage }: CarefulPool): Promise<void> {
  const since = stage.cloud.calls.all().at(-1)?.n ?? 0;
  const lists = () => stage.cloud.calls.select({ since }).filter(({ path }) => path.startsWith('/v2/reserved_ips?')).length;
  await stage.until('the addresses were listed twice', () => lists() >= 3);
}

/** By so much a timer that goes by a process's own clock may be before the wall clock, ms: that may be slewed meanwhile. */
export const CLOCKS_MS = 50;

/** When each assign of the address reached the provider, oldest first; ms since the epoch. */
export const assignedAt = ({ stage }: CarefulPool, address: string): readonly number[] =>
  stage.cloud.calls
    .select({ writes: true })
    .filter(({ path, body }) => path === `/v2/reserved_ips/${address}/actions` && (body as { type?: string }).type === 'assign')
    .map(({ at }) => at);

/** The names of the nodes whose machines the provider was asked for, in order. */
export const machinesAskedFor = ({ stage, machines }: CarefulPool): readonly string[] =>
  stage.cloud.calls.all().flatMap(({ method, path }) => {
    const id = /^\/v2\/droplets\/(\d+)$/.exec(path)?.[1];
    return method === 'GET' && id !== undefined ? [machines.get(Number(id)) ?? id] : [];
  });

/** Who had the address at the provider one after the other, by the nodes' names; null for nobody. */
export const holders = ({ stage, machines }: CarefulPool, address: string): readonly (string | null)[] =>
  stage.cloud.state.history(address).map(({ dropletId }) => (dropletId === null ? null : (machines.get(dropletId) ?? `${dropletId}`)));

/** The machine behind a node is gone at the provider; its Node stays. */
export function loseMachine({ stage, machines }: CarefulPool, node: string): void {
  const id = [...machines].find(([, name]) => name === node)?.[0];
  if (id === undefined) throw new Error(`there is no machine of ${node}`);
  stage.cloud.removeDroplet(id);
}

/** Ends the operator, which has MORTAL_FLAGS, as if its machine had gone, with what Redis has when that is asked for, and starts the next one. Resolves once the status is
 *  of the next one. */
export async function killed(pool: CarefulPool, redis: 'keeps' | 'loses'): Promise<void> {
  const { names, stage, operator } = pool;
  const term = async () => (await stage.getPool('ingress')).status?.term ?? 0;
  const former = await term();
  operator.kill('SIGKILL');
  await operator.exited;
  if (redis === 'loses') await stage.redis.command('FLUSHALL');
  await names.start({ flags: MORTAL_FLAGS });
  await stage.until('the status is of the next operator', async () => (await term()) > former);
}
