import { type DigitalOceanOptions, type DigitalOceanSimulator, startDigitalOcean } from '../../simulator/digitalocean/server.ts';
import { freePort } from '../../tools/free-ports.mjs';

export interface TestClock {
  readonly now: () => number;
  readonly advance: (ms: number) => void;
}

/** A clock that moves only when told to; starts at 1 January 2026. */
export function testClock(): TestClock {
  let time = Date.UTC(2026, 0, 1);
  return {
    now: () => time,
    advance: (ms) => {
      time += ms;
    },
  };
}

export interface TestReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; an empty object where there is none. */
  readonly body: Tree;
}

/** JSON whose shape the tests assert instead of the compiler: reading a missing part gives an empty tree. */
export interface Tree {
  readonly raw: unknown;
  readonly at: (...path: readonly (string | number)[]) => Tree;
  readonly items: readonly Tree[];
}

export function tree(raw: unknown): Tree {
  return {
    raw,
    at: (...path) =>
      tree(path.reduce<unknown>((value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined), raw)),
    get items() {
      return Array.isArray(raw) ? raw.map(tree) : [];
    },
  };
}

export interface TestCloud {
  readonly simulator: DigitalOceanSimulator;
  readonly clock: TestClock;
  readonly call: (method: string, path: string, body?: unknown, token?: string) => Promise<TestReply>;
}

/** A simulator on a clock of the test's own; actions take 1000 ms of that clock. Nobody else is given its port while it does not listen. */
export async function startTestCloud(options: DigitalOceanOptions = {}): Promise<TestCloud> {
  const clock = testClock();
  const simulator = await startDigitalOcean({ port: await freePort(), now: clock.now, actionMs: 1000, firewallMs: 1000, ...options });
  return { simulator, clock, call: (method, path, body, token = 'test-token') => request(simulator.url, { method, path, body, token }) };
}

export async function request(url: string, wanted: { method: string; path: string; body?: unknown; token: string }): Promise<TestReply> {
  const { method, path, body, token } = wanted;
  const headers: Record<string, string> = token === '' ? {} : { authorization: `Bearer ${token}` };
  const init: RequestInit = { method, headers };
  if (body !== undefined) {
    headers['content-type'] = 'application/json';
    init.body = typeof body === 'string' ? body : JSON.stringify(body);
  }
  const response = await fetch(url + path, init);
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: tree(parse(text)) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return {};
  }
}
