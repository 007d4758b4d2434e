import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** How one connection ended: `answered` when a whole line came back. */
export type Outcome = 'answered' | 'reset' | 'refused' | 'silent' | 'timedOut';

/** One connection. Times are milliseconds since the epoch with fractions, by the clock of the simulator. */
export interface Try {
  readonly startedAt: number;
  readonly endedAt: number;
  readonly outcome: Outcome;
  /** What was answered: the name of who listens; null without an answer. */
  readonly by: string | null;
}

export interface Target {
  readonly host: string;
  readonly loopbackPort: number;
}

/** Long enough that only what hangs is called so. Counted in steps: while this process stands still, and cannot hear of an answer either, no more than one of them passes. */
const PATIENCE = { steps: 20, stepMs: 100 };

const EVERY_MS = 3;

const preciseNow = (): number => performance.timeOrigin + performance.now();

/** Connects once and waits for a line. */
export function tryOnce({ host, loopbackPort }: Target, now = preciseNow): Promise<Try> {
  const startedAt = now();
  return new Promise((resolve) => {
    let heard = '';
    const socket = connect({ host, port: loopbackPort });
    const end = (outcome: Outcome): void => {
      clearInterval(timer);
      socket.destroy();
      resolve({ startedAt, endedAt: now(), outcome, by: outcome === 'answered' ? heard.trimEnd() : null });
    };
    let steps = 0;
    const timer = setInterval(() => {
      steps += 1;
      if (steps > PATIENCE.steps) end('timedOut');
    }, PATIENCE.stepMs);
    socket.on('data', (chunk) => {
      heard += chunk.toString('utf8');
      if (heard.includes('\n')) end('answered');
    });
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code === 'ECONNREFUSED' ? 'refused' : 'reset'));
    socket.once('end', () => end('silent'));
  });
}

export interface Prober {
  /** All tries that ended, oldest first. */
  readonly tries: readonly Try[];
  /** Resolves with all tries once the last one has ended. */
  readonly stop: () => Promise<readonly Try[]>;
}

/** Connects again and again, 3 ms after the end of the last try, until it is stopped. `now` is the clock of the simulator, unless that goes by its own. */
export function startProber(target: Target, now = preciseNow): Prober {
  const tries: Try[] = [];
  const stopping = new AbortController();
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      tries.push(await tryOnce(target, now));
      await pause(EVERY_MS);
    }
  };
  const running = run();
  return {
    tries,
    stop: async () => {
      stopping.abort();
      await running;
      return tries;
    },
  };
}

export interface Greeter {
  readonly port: number;
  readonly close: () => Promise<void>;
}

/** A program on loopback that tells its name to whoever connects. */
export async function startGreeter(name: string): Promise<Greeter> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.end(`${name}\n`);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return { port: (server.address() as AddressInfo).port, close: () => new Promise((resolve) => server.close(() => resolve())) };
}
