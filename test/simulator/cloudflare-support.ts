import { type CloudflareOptions, type CloudflareSimulator, startCloudflare } from '../../simulator/cloudflare/server.ts';
import { freePort } from '../../tools/free-ports.mjs';
import { request, type TestClock, type TestReply, testClock } from './digitalocean-support.ts';

export interface TestCloudflare {
  readonly simulator: CloudflareSimulator;
  readonly clock: TestClock;
  /** Of the zone that is there from the start, example.com. */
  readonly zone: string;
  /** The path of its records. */
  readonly records: string;
  /** A path below /client/v4; the empty token sends no header. */
  readonly call: (method: string, path: string, body?: unknown, token?: string) => Promise<TestReply>;
  readonly control: (method: string, path: string, body?: unknown) => Promise<TestReply>;
}

export async function startTestCloudflare(options: CloudflareOptions = {}): Promise<TestCloudflare> {
  const clock = testClock();
  // Nobody else is given such a port while it does not listen.
  const simulator = await startCloudflare({ port: await freePort(), now: clock.now, zones: ['example.com'], ...options });
  const [zone = ''] = simulator.zones.keys();
  return {
    simulator,
    clock,
    zone,
    records: `/zones/${zone}/dns_records`,
    call: (method, path, body, token = 'test-token') => request(simulator.url, { method, path: `/client/v4${path}`, body, token }),
    control: (method, path, body) => request(simulator.url, { method, path: `/_control${path}`, body, token: '' }),
  };
}

/** The codes of the errors in an envelope. */
export const codesOf = (reply: TestReply): unknown[] => reply.body.at('errors').items.map((error) => error.at('code').raw);
