import type { Budget } from '../../../actors/ports/budget.ts';
import type { Log } from '../../../actors/ports/observers.ts';
import type { Purpose } from '../../../actors/ports/provider.ts';
import {
  createDigitalOceanProvider,
  type DigitalOceanOptions,
  type DigitalOceanProvider,
} from '../../../adapters/digitalocean/provider.ts';
import {
  type DigitalOceanSimulator,
  type DigitalOceanOptions as SimulatorOptions,
  startDigitalOcean,
} from '../../../simulator/digitalocean/server.ts';
import { freePort } from '../../../tools/free-ports.mjs';

export const secret = 'dop_v1_the_secret_of_the_test';

export interface RecordingBudget extends Budget {
  readonly paid: Purpose[];
  readonly observed: { remaining: number; resetAtMs: number }[];
  readonly closed: number[];
}

/** Grants everything, or what `pay` says, and keeps what it was told. */
export function recordingBudget(pay: () => Promise<number> = () => Promise.resolve(0)): RecordingBudget {
  const paid: Purpose[] = [];
  const observed: { remaining: number; resetAtMs: number }[] = [];
  const closed: number[] = [];
  return {
    paid,
    observed,
    closed,
    pay: (purpose, calls = 1) => {
      paid.push(...Array<Purpose>(calls).fill(purpose));
      return pay();
    },
    observe: (limits) => {
      observed.push({ ...limits });
    },
    close: async (ms) => {
      closed.push(ms);
    },
  };
}

export interface LoggedLine {
  readonly message: string;
  readonly fields: unknown;
}

export function recordingLog(): Log & { readonly lines: LoggedLine[] } {
  const lines: LoggedLine[] = [];
  const keep = (message: string, fields?: unknown): void => {
    lines.push({ message, fields });
  };
  return { lines, debug: keep, info: keep, warn: keep, error: keep };
}

export interface TestBed {
  readonly simulator: DigitalOceanSimulator;
  readonly provider: DigitalOceanProvider;
  readonly budget: RecordingBudget;
  readonly close: () => Promise<void>;
}

/** The adapter against a simulator of its own that has no limits of the account, on a port that nobody else is given while it does not listen. */
export async function startTestBed(
  options: Partial<DigitalOceanOptions> = {},
  simulated: SimulatorOptions = {},
  budget: RecordingBudget = recordingBudget(),
): Promise<TestBed> {
  const port = await freePort();
  const simulator = await startDigitalOcean({ port, actionMs: 20, firewallMs: 20, reservedIPQuota: 1000, token: secret, ...simulated });
  const provider = createDigitalOceanProvider({ token: secret, url: simulator.url, budget, log: recordingLog(), ...options });
  const close = async (): Promise<void> => {
    provider.close();
    await simulator.close();
  };
  return { simulator, provider, budget, close };
}
