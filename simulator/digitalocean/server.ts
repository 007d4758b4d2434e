import { createCallLog } from '../http/call-log.ts';
import { createControl } from '../http/control.ts';
import { type Served, serve } from '../http/serve.ts';
import { moveByHand, placeAddress, placePrefix } from './addresses.ts';
import { createApi } from './api.ts';
import type { CallLog } from './call-log.ts';
import { defaultRegions } from './catalogue.ts';
import { createCloud } from './cloud.ts';
import { controlRoutes } from './control.ts';
import { type DropletWish, placeDroplet, removeDroplet } from './droplets.ts';
import { createFaults, type Faults } from './faults.ts';
import { setHanging } from './firewall-policy.ts';
import type { Action, Domain, Droplet, Firewall, HistoryEntry, ReservedIP } from './model.ts';
import { createNetwork, type Network } from './network/network.ts';
import { bringToPresent } from './present.ts';
import { type Duration, seededRandom } from './random.ts';
import { createRateLimiter, type RateLimit } from './rate-limit.ts';
import { createRouter } from './router.ts';
import { allRoutes } from './routes/all.ts';
import { tagDroplet, untagDroplet } from './tags.ts';

export interface DigitalOceanOptions {
  /** 0, the default, takes a free port. */
  readonly port?: number;
  /** The address to listen at; 127.0.0.1 by default. */
  readonly host?: string;
  /** The only token accepted; any that is not empty when omitted. */
  readonly token?: string;
  /** How long an action is `in-progress`, in milliseconds; 50 by default. */
  readonly actionMs?: Duration;
  /** How long a firewall change stays in `pending_changes`, in milliseconds; 50 by default. */
  readonly firewallMs?: number;
  /** Per token; 5000 an hour and 250 a minute by default, as the real API has it. */
  readonly rateLimit?: RateLimit;
  /** Three by default, as a new account has. */
  readonly reservedIPQuota?: number;
  /** 12 by default. */
  readonly createsPerMinute?: number;
  readonly regions?: readonly string[];
  readonly seed?: number;
  /** Whether it answers below /_control, where whoever reaches it may change everything. Default true. */
  readonly isControlled?: boolean;
  /** Milliseconds since the epoch; a virtual clock in tests. */
  readonly now?: () => number;
}

/** The account as it is now, for tests in the same process. Reading it lets due actions end first. */
export interface SimulatorState {
  readonly droplets: ReadonlyMap<number, Readonly<Droplet>>;
  readonly reservedIPs: ReadonlyMap<string, Readonly<ReservedIP>>;
  readonly deletedIPs: readonly Readonly<ReservedIP>[];
  readonly actions: ReadonlyMap<number, Readonly<Action>>;
  readonly domains: ReadonlyMap<string, Readonly<Domain>>;
  readonly firewalls: ReadonlyMap<string, Readonly<Firewall>>;
  /** Who held the address when; also of a deleted one, empty for one that never was. */
  readonly history: (ip: string) => readonly HistoryEntry[];
}

/** `url` is what DIGITALOCEAN_API_URL is set to; /v2 and /_control are below it. */
export interface DigitalOceanSimulator extends Served {
  readonly state: SimulatorState;
  readonly addDroplet: (wish: DropletWish) => Droplet;
  readonly removeDroplet: (id: number) => void;
  /** Of IPv4 unless `ip` or `family` says otherwise; listed for all tokens unless one is named. */
  readonly addReservedIP: (wish: { ip?: string; region: string; dropletId?: number; family?: 4 | 6; token?: string }) => ReservedIP;
  /** By hand, as a person in the control panel: at once, and seen in the history as such. */
  readonly moveReservedIP: (ip: string, dropletId: number | null) => void;
  readonly setReservedIPQuota: (quota: number) => void;
  /** From now on these tokens are accepted, and no others: as after a token was made and another one revoked. */
  readonly setTokens: (tokens: readonly string[]) => void;
  readonly setFirewallMs: (ms: number) => void;
  /** From now on no change of a firewall is applied on the droplet, and the API says so; null for all again. */
  readonly setFirewallHanging: (dropletId: number, status: 'waiting' | 'failed' | null) => void;
  /** A network that the account brings along. */
  readonly addPrefix: (wish: { prefix: string; region: string; status?: string }) => void;
  /** Firewalls that bear the tag cover the droplet from now on. */
  readonly tagDroplet: (id: number, tag: string) => void;
  readonly untagDroplet: (id: number, tag: string) => void;
  /** What traffic to the addresses does. */
  readonly network: Network;
  readonly faults: Faults;
  readonly calls: CallLog;
}

/** Starts a DigitalOcean API that follows the published description (repository digitalocean/openapi). */
export async function startDigitalOcean(options: DigitalOceanOptions = {}): Promise<DigitalOceanSimulator> {
  const now = options.now ?? preciseNow;
  const seed = options.seed ?? 1;
  const cloud = createCloud({
    actionMs: options.actionMs ?? 50,
    firewallMs: options.firewallMs ?? 50,
    reservedIPQuota: options.reservedIPQuota ?? 3,
    createsPerMinute: options.createsPerMinute ?? 12,
    regions: options.regions ?? defaultRegions,
    seed,
    now,
  });
  const faults = createFaults();
  const calls: CallLog = createCallLog();
  const network = createNetwork(cloud);
  let tokens = options.token === undefined ? null : [options.token];
  const api = createApi({
    cloud,
    faults,
    log: calls,
    route: createRouter(allRoutes),
    limiter: createRateLimiter(options.rateLimit ?? { perHour: 5000, perMinute: 250 }, now),
    accepts: (token) => (tokens === null ? token !== '' : tokens.includes(token)),
    random: seededRandom(seed + 1),
  });
  const control = createControl(controlRoutes({ cloud, faults, log: calls, network }));
  const settled: typeof control = (request, response) => {
    bringToPresent(cloud);
    return control(request, response);
  };
  const { isControlled = true, port = 0, host } = options;
  const served = await serve(api, isControlled ? settled : api, port, host);
  return {
    ...served,
    state: liveState(cloud),
    addDroplet: (wish) => {
      const droplet = placeDroplet(cloud, wish);
      bringToPresent(cloud);
      return droplet;
    },
    removeDroplet: (id) => {
      bringToPresent(cloud);
      removeDroplet(cloud, id);
    },
    addReservedIP: ({ ip, region, dropletId, family = 4, token }) =>
      placeAddress(cloud, { ip, region, family, dropletId: dropletId ?? null, token }),
    moveReservedIP: (ip, dropletId) => moveByHand(cloud, ip, dropletId),
    setReservedIPQuota: (quota) => {
      cloud.reservedIPQuota = quota;
    },
    setTokens: (accepted) => {
      tokens = [...accepted];
    },
    setFirewallMs: (ms) => {
      cloud.firewallMs = ms;
    },
    setFirewallHanging: (dropletId, status) => setHanging(cloud, dropletId, status),
    addPrefix: (wish) => placePrefix(cloud, wish),
    tagDroplet: (id, tag) => {
      tagDroplet(cloud, id, tag);
      bringToPresent(cloud);
    },
    untagDroplet: (id, tag) => {
      untagDroplet(cloud, id, tag);
      bringToPresent(cloud);
    },
    network,
    faults,
    calls,
    close: async () => {
      await network.close();
      await served.close();
    },
  };
}

/** With fractions, since a bench measures less than a millisecond. */
const preciseNow = (): number => performance.timeOrigin + performance.now();

function liveState(cloud: ReturnType<typeof createCloud>): SimulatorState {
  const current = <T>(value: T): T => {
    bringToPresent(cloud);
    return value;
  };
  return {
    get droplets() {
      return current(cloud.droplets);
    },
    get reservedIPs() {
      return current(cloud.reservedIPs);
    },
    get deletedIPs() {
      return current(cloud.deletedIPs);
    },
    get actions() {
      return current(cloud.actions);
    },
    get domains() {
      return current(cloud.domains);
    },
    get firewalls() {
      return current(cloud.firewalls);
    },
    history: (ip) => {
      bringToPresent(cloud);
      const lives = [...cloud.deletedIPs, ...cloud.reservedIPs.values()].filter((address) => address.ip === ip);
      return lives.flatMap((address) => address.history);
    },
  };
}
