import { type CloudflareOptions, type CloudflareProvider, createCloudflareProvider } from '../../../adapters/cloudflare/provider.ts';
import {
  type CloudflareSimulator,
  type CloudflareOptions as SimulatorOptions,
  startCloudflare,
} from '../../../simulator/cloudflare/server.ts';
import { freePort } from '../../../tools/free-ports.mjs';
import { type RecordingBudget, recordingBudget, recordingLog } from '../digitalocean/support.ts';

export const secret = 'cf_the_secret_of_the_test';

export interface TestBed {
  readonly simulator: CloudflareSimulator;
  readonly provider: CloudflareProvider;
  readonly budget: RecordingBudget;
  readonly close: () => Promise<void>;
}

/** The adapter against a simulator of its own, on a port that nobody else is given while it does not listen. */
export async function startTestBed(
  options: Partial<CloudflareOptions> = {},
  simulated: SimulatorOptions = {},
  budget: RecordingBudget = recordingBudget(),
): Promise<TestBed> {
  const simulator = await startCloudflare({ port: await freePort(), token: secret, ...simulated });
  const provider = createCloudflareProvider({ token: secret, url: simulator.url, budget, log: recordingLog(), ...options });
  const close = async (): Promise<void> => {
    provider.close();
    await simulator.close();
  };
  return { simulator, provider, budget, close };
}
