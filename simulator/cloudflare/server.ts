import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createApi } from './api.ts';
import { type CallLog, createCallLog } from './call-log.ts';
import { createControl } from './control.ts';
import { createFaults, type Faults } from './faults.ts';
import { createAccount, type Rights, type Zone, type ZoneRecord } from './model.ts';
import { createRateLimiter, type RateLimit } from './rate-limit.ts';
import { createRecord } from './records.ts';
import { placeZone, type ZoneWish } from './zones.ts';

export interface CloudflareOptions {
  /** 0, the default, takes a free port. */
  readonly port?: number;
  /** The only token accepted beside those that `allow` adds; any that is not empty when omitted. */
  readonly token?: string;
  /** Names of zones that are there from the start. */
  readonly zones?: readonly string[];
  /** Per token; 1200 in five minutes by default, as the real API has it. */
  readonly rateLimit?: RateLimit;
  /** Milliseconds since the epoch; a virtual clock in tests. */
  readonly now?: () => number;
}

export interface CloudflareSimulator {
  /** What CLOUDFLARE_API_URL is set to; /client/v4 and /_control are below it. */
  readonly url: string;
  readonly port: number;
  /** By id, as they are now. */
  readonly zones: ReadonlyMap<string, Readonly<Zone>>;
  readonly addZone: (wish: ZoneWish) => Zone;
  readonly removeZone: (id: string) => void;
  /** A record by hand, with the fields of the API. @throws Refusal as the API does */
  readonly addRecord: (zoneId: string, body: Readonly<Record<string, unknown>>) => ZoneRecord;
  /** From now on the token is known and may do this; what is not said it may. */
  readonly allow: (token: string, rights: Partial<Rights>) => void;
  readonly faults: Faults;
  readonly calls: CallLog;
  /** Connections are refused from now on, until `listenAgain`; the account stays as it is. */
  readonly stopListening: () => Promise<void>;
  readonly listenAgain: () => Promise<void>;
  readonly close: () => Promise<void>;
}

const everything: Rights = { zoneRead: true, dnsRead: true, dnsWrite: true };

/** Starts the part of the Cloudflare API that is zones and DNS records on loopback. */
export async function startCloudflare(options: CloudflareOptions = {}): Promise<CloudflareSimulator> {
  const now = options.now ?? Date.now;
  const account = createAccount(now);
  for (const name of options.zones ?? []) placeZone(account, { name });
  const faults = createFaults();
  const calls = createCallLog();
  const allowed = new Map<string, Rights>();
  const allow = (token: string, rights: Partial<Rights>): void => void allowed.set(token, { ...everything, ...rights });
  if (options.token !== undefined) allow(options.token, {});
  const anyone = options.token === undefined;
  const api = createApi({
    account,
    faults,
    log: calls,
    limiter: createRateLimiter(options.rateLimit ?? { requests: 1200, windowMs: 300_000 }, now),
    rightsOf: (token) => allowed.get(token) ?? (anyone ? everything : null),
  });
  const control = createControl({ account, faults, log: calls, allow });
  const server = createServer((request, response) => {
    const handle = request.url?.startsWith('/_control/') ? control : api;
    handle(request, response).catch(() => response.destroy());
  });
  const port = await listen(server, options.port ?? 0);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    zones: account.zones,
    addZone: (wish) => placeZone(account, wish),
    removeZone: (id) => void account.zones.delete(id),
    addRecord: (zoneId, body) => {
      const zone = account.zones.get(zoneId);
      if (zone === undefined) throw new Error(`there is no zone ${zoneId}`);
      return createRecord(account, zone, body);
    },
    allow,
    faults,
    calls,
    stopListening: () => stop(server),
    listenAgain: async () => {
      await listen(server, port);
    },
    close: () => stop(server),
  };
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function stop(server: Server): Promise<void> {
  if (!server.listening) return Promise.resolve();
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
