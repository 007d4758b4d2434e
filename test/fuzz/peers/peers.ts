import { setTimeout as sleep } from 'node:timers/promises';
import { drawingOf } from '../drawing.ts';
import type { Took } from '../prober.ts';
import { startProbing } from '../probing.ts';
import type { Peers } from './world.ts';

export interface PeersPlan {
  /** How long garbage comes, seconds. */
  readonly seconds: number;
  /** Which answers are spoilt, and how often a key of the store, of all changes of the cluster. */
  readonly part: { readonly api: number; readonly cloud: number; readonly store: number };
}

/** So much that it hardly comes to anything, and not so much that it never does. */
export const PARTS: PeersPlan['part'] = { api: 0.3, cloud: 0.3, store: 0.15 };

export interface PeersReport {
  /** Of all answers by what was done to them. */
  readonly answers: ReadonlyMap<string, number>;
  /** Bytes. */
  readonly memory: { readonly before: number; readonly most: number; readonly after: number };
  readonly probes: readonly Took[];
  /** From the end of the garbage to the next failover, ms; null when there was none. */
  readonly recoveredMs: number | null;
  /** What it said most often: level, message and how often. */
  readonly said: ReadonlyMap<string, number>;
  readonly harm: string | null;
}

/** A change of the cluster so often, ms: something is to be done all the time. */
const BEAT_MS = 250;
const RECOVERY_MS = 60_000;

/** How the operator was harmed; null when it was not. */
export function harmTo({ operator, strayed }: Peers): string | null {
  if (!operator.isRunning()) return `the process ended: ${operator.noise.slice(-15).join('\n')}`;
  if (operator.noise.length > 0) return `it printed what is no log line: ${operator.noise.slice(-15).join('\n')}`;
  if (strayed.length > 0) return `it followed a redirect: ${strayed[0]}`;
  const error = operator.log.find(({ level }) => level === 'error' || level === 'fatal');
  return error ? `it logged an error: ${JSON.stringify(error)}` : null;
}

export async function spoilPeers(peers: Peers, { seconds, part }: PeersPlan): Promise<PeersReport> {
  const { stage, api, cloud, operator } = peers;
  const before = peers.memory().now;
  const probing = await startProbing(peers.telemetry);
  const until = performance.now() + seconds * 1_000;
  api.spoil(part.api);
  cloud.spoil(part.cloud);
  let harm: string | null = null;
  for (let beat = 0; harm === null && performance.now() < until; beat += 1) {
    const node = ['a', 'b', 'c'][beat % 3] ?? 'a';
    await (beat % 2 === 0 ? stage.notReady(node) : stage.ready(node));
    if (drawingOf(beat, 0).chance(part.store)) await peers.store.spoil();
    await sleep(BEAT_MS);
    harm = harmTo(peers);
  }
  const probes = await probing.end();
  api.calm();
  cloud.calm();
  const recoveredMs = harm === null ? await recovered(peers) : null;
  harm ??= harmTo(peers) ?? (recoveredMs === null ? 'it does not serve any more' : null);
  const answers = new Map<string, number>();
  for (const [name, { counts }] of Object.entries({ api, cloud, store: peers.store }))
    for (const [what, count] of counts) answers.set(`${name} ${what}`, count);
  const { now, most } = operator.isRunning() ? peers.memory() : { now: 0, most: 0 };
  const lines = Map.groupBy(operator.log, ({ level, msg }) => `${level} ${msg}`);
  const said = new Map([...lines].map(([line, all]) => [line, all.length] as const).sort(([, a], [, b]) => b - a));
  return { said, answers, memory: { before, most, after: now }, probes, recoveredMs, harm };
}

/** A failover works: of an address that stands on a node that is ready, from one that is not. */
export async function recovered({ stage, address }: Peers, withinMs = RECOVERY_MS): Promise<number | null> {
  const startedAt = performance.now();
  try {
    for (const node of ['a', 'b', 'c']) await stage.ready(node);
    await stage.until('the pool is served', async () => (await stage.activeOn('ingress', address)) === stage.heldBy(address), withinMs);
    const holder = stage.heldBy(address) ?? '';
    await stage.notReady(holder);
    const moved = async (): Promise<boolean> => {
      const now = stage.heldBy(address);
      return now !== null && now !== holder && (await stage.activeOn('ingress', address)) === now;
    };
    await stage.until('the address has moved', moved, withinMs);
    return performance.now() - startedAt;
  } catch {
    return null;
  }
}
