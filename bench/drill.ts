import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '../demo/time.ts';
import type { Call } from '../simulator/digitalocean/call-log.ts';
import type { World } from './world.ts';

/** The times of one failover, ms since the epoch with fractions, all by one clock. */
export interface Failover {
  readonly address: string;
  /** Just before the API server took the NotReady: what it needs to tell its watches counts as the operator's time. */
  readonly acceptedAt: number;
  /** The first assign that reached DigitalOcean. */
  readonly receivedAt: number;
  /** When DigitalOcean's action ended. */
  readonly finishedAt: number;
  /** When DigitalOcean was next asked for something that shows the end of it. */
  readonly readAt: number;
  /** When a watch of the pool showed it active on the other node. */
  readonly activeAt: number;
  /** Assigns of this address from the NotReady to the end of the drill's turn on it. */
  readonly assigns: number;
}

export interface DrillPlan {
  readonly failovers: number;
  /** From one NotReady to the next, ms; drawn evenly. */
  readonly everyMs: { readonly min: number; readonly max: number };
  /** In the interval [0, 1). */
  readonly random: () => number;
}

const LONGEST_MS = 60_000;

/**
 * Lets nodes that hold an address fail, one after another without waiting for the end of a failover; a failed node is Ready again as soon as its
 * address is active elsewhere, and is then a spare. There must be spare nodes for as many failovers as overlap.
 */
export async function drill(world: World, plan: DrillPlan): Promise<readonly Failover[]> {
  const busy = new Set<string>();
  const running: Promise<Failover>[] = [];
  for (let index = 0; index < plan.failovers; index += 1) {
    let idle = idleIn(world, busy);
    for (; idle.length === 0; idle = idleIn(world, busy)) await sleep(5);
    const victim = idle[Math.floor(plan.random() * idle.length)];
    if (victim === undefined) throw new Error('a number below 1 was expected of `random`');
    busy.add(victim.address);
    running.push(failOver(world, victim).finally(() => busy.delete(victim.address)));
    await sleep(plan.everyMs.min + plan.random() * (plan.everyMs.max - plan.everyMs.min));
  }
  return Promise.all(running);
}

const idleIn = ({ statuses }: World, busy: ReadonlySet<string>) => statuses.active().filter(({ address }) => !busy.has(address));

/** One failover from the NotReady to the Ready. */
export async function failOver(world: World, { address, node }: { readonly address: string; readonly node: string }): Promise<Failover> {
  const { cloud, statuses } = world;
  const since = cloud.calls.all().at(-1)?.n ?? 0;
  const acceptedAt = now();
  world.setReady(node, false);
  const active = await Promise.race([statuses.activeElsewhere(address, node), late(world, address, node)]);
  const assigns = cloud.calls.select({ since, writes: true }).filter((call) => isAssign(call) && call.path.includes(`/${address}/`));
  const action = [...cloud.state.actions.values()].findLast((one) => one.ip === address && one.type === 'assign_ip');
  world.setReady(node, true);
  if (assigns[0] === undefined || !action?.completedAt) throw new Error(`${address} left ${node} without an assign`);
  const finishedAt = action.completedAt;
  const read = cloud.calls.select({ since }).find((call) => call.at >= finishedAt && shows(call, address));
  return {
    address,
    acceptedAt,
    receivedAt: assigns[0].at,
    finishedAt,
    readAt: read?.at ?? Number.NaN,
    activeAt: active.since,
    assigns: assigns.length,
  };
}

async function late({ operator, statuses }: World, address: string, node: string): Promise<never> {
  await sleep(LONGEST_MS, undefined, { ref: false });
  const status = JSON.stringify(statuses.of(address));
  throw new Error(`${address} did not leave ${node} within ${LONGEST_MS} ms: ${status}\n${operator.lastLines(15).join('\n')}`);
}

export const isAssign = ({ method, path, body }: Call): boolean =>
  method === 'POST' && path.endsWith('/actions') && (body as { readonly type?: string } | null)?.type === 'assign';

/** A read of the address or of all. */
const shows = ({ method, path }: Call, address: string): boolean =>
  method === 'GET' && (path.startsWith('/v2/reserved_ips?') || path.startsWith(`/v2/reserved_ips/${address}`));
