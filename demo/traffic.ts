import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Verdict } from '../simulator/digitalocean/network/reach.ts';
import type { DigitalOceanSimulator } from '../simulator/digitalocean/server.ts';
import { now } from './time.ts';

/** How connections to one port of an address ended. Each is counted once. */
export interface TrafficRow {
  readonly address: string;
  readonly port: number;
  /** Who answered last; empty when nobody did. */
  readonly by: string;
  readonly answered: number;
  /** Failed while DigitalOcean was moving the address: no droplet has it then. */
  readonly inTransit: number;
  /** Failed since the node at which the address points is dead. */
  readonly nodeDown: number;
  /** Failed for any other reason. */
  readonly refused: number;
  /** Why one was refused last, empty for none. */
  readonly reason: string;
}

/** Whoever connects to a port of an address, one connection after the other. */
export interface Prober {
  readonly row: TrafficRow;
  /** Connects less often from now on. */
  slowDown(): void;
  stop(): Promise<void>;
}

/** A program that tells its name to whoever connects. */
export interface Greeter {
  /** On loopback. */
  readonly port: number;
  close(): void;
}

interface Probed {
  readonly cloud: Pick<DigitalOceanSimulator, 'network' | 'state'>;
  readonly address: string;
  readonly port: number;
  /** Whether nobody listens on this droplet any more. */
  readonly isDown: (dropletId: number) => boolean;
}

const EVERY_MS = 10;
const EVERY_MS_AT_REST = 200;
/** Long enough that only what hangs is given up, on a machine that stalls too. */
const GIVE_UP_MS = 10_000;

export async function startGreeter(name: string): Promise<Greeter> {
  const server: Server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.end(`${name}\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() };
}

export async function startProber(probed: Probed): Promise<Prober> {
  const { cloud, address, port } = probed;
  const endpoint = await cloud.network.endpoint({ address, port });
  const state = {
    row: { address, port, by: '', answered: 0, inTransit: 0, nodeDown: 0, refused: 0, reason: '' },
    everyMs: EVERY_MS,
  };
  const stopping = new AbortController();
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const startedAt = now();
      const by = await connectOnce(endpoint);
      const { row } = state;
      if (by !== '') state.row = { ...row, by, answered: row.answered + 1 };
      else state.row = failed(row, probed, { startedAt, refusal: () => cloud.network.reach(endpoint) });
      await sleep(state.everyMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  const running = run();
  return {
    get row() {
      return state.row;
    },
    slowDown: () => {
      state.everyMs = EVERY_MS_AT_REST;
    },
    stop: () => {
      stopping.abort();
      return running;
    },
  };
}

/** What the other side says; empty when it says nothing. */
function connectOnce({ host, loopbackPort }: { readonly host: string; readonly loopbackPort: number }): Promise<string> {
  return new Promise((resolve) => {
    let heard = '';
    const socket = connect({ host, port: loopbackPort, timeout: GIVE_UP_MS });
    socket.on('data', (chunk) => {
      heard += chunk.toString();
    });
    socket.on('timeout', () => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => resolve(heard.endsWith('\n') ? heard.trimEnd() : ''));
  });
}

interface Failed {
  readonly startedAt: number;
  readonly refusal: () => Verdict;
}

/** `row` with one more connection without an answer. One that overlaps with a transit may be due to it. */
function failed(row: TrafficRow, { cloud, address, isDown }: Probed, { startedAt, refusal }: Failed): TrafficRow {
  const { reservedIPs, actions } = cloud.state;
  const held = reservedIPs.get(address);
  const last = held?.actionIds.map((id) => actions.get(id)).findLast((action) => action?.type === 'assign_ip');
  if (last !== undefined && (last.completedAt === null || last.completedAt >= startedAt)) {
    return { ...row, by: '', inTransit: row.inTransit + 1 };
  }
  if (held?.dropletId != null && isDown(held.dropletId)) return { ...row, by: '', nodeDown: row.nodeDown + 1 };
  const verdict = refusal();
  return { ...row, by: '', refused: row.refused + 1, reason: 'refused' in verdict ? verdict.refused : 'nobody listens there' };
}
