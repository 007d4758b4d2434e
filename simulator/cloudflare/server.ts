import { type CallLog, createCallLog } from '../http/call-log.ts';
import { createControl } from '../http/control.ts';
import { createFaults, type Faults } from '../http/faults.ts';
import { type Served, serve } from '../http/serve.ts';
import { createApi } from './api.ts';
import { controlRoutes } from './control.ts';
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

/** `url` is what CLOUDFLARE_API_URL is set to; /client/v4 and /_control are below it. */
export interface CloudflareSimulator extends Served {
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
}

const everything: Rights = { zoneRead: true, dnsRead: true, dnsWrite: true };

/** Starts the part of the Cloudflare API that is zones and DNS records on loopback. */
export async function startCloudflare(options: CloudflareOptions = {}): Promise<CloudflareSimulator> {
  const now = options.now ?? Date.now;
  const account = createAccount(now);
  for (const name of options.zones ?? []) placeZone(account, { name });
  const faults = createFaults({ reach: { truncatePages: { method: 'GET', path: /\/(zones|dns_records)$/ } } });
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
  const served = await serve(api, createControl(controlRoutes({ account, faults, log: calls, allow })), options.port ?? 0);
  return {
    ...served,
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
  };
}
