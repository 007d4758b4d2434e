import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { parseDuration, parseDurations } from './duration.ts';

/** Parts of the operator: FloatingIPPools and NodeDNSRecordSets, RoutedIPs with their classes and issuers, and Services with addresses of IPGroups. */
export const CONTROLLERS = ['flipop', 'routedip', 'vip'] as const;
type Controller = (typeof CONTROLLERS)[number];

/** Options from the command line and the environment. Durations in ms; absent options keep their defaults. */
export interface Options {
  readonly kubeconfig?: string;
  readonly metricsBindAddr: string;
  readonly metricsAuth: 'none' | 'token-review';
  readonly debug: boolean;
  /** Absent for all: each starts once its CRDs are served. */
  readonly controllers?: readonly Controller[];
  /** How writes of IPs and VirtualIPs are validated. */
  readonly admission: 'auto' | 'webhook' | 'policy' | 'off';
  readonly webhookBindAddr: string;
  readonly webhookService?: string;
  readonly webhookUrl?: string;
  readonly loadBalancerClass?: string;
  readonly loadBalancerClassOnly: boolean;
  /** Lease of another IPGroup allocator: Services are not served while that one holds it. */
  readonly vipLease?: { readonly namespace: string; readonly name: string };
  readonly leaderElect: boolean;
  readonly namespace?: string;
  /** Nothing is changed at any provider, nor in the cluster. */
  readonly observe: boolean;
  /** Where records and jobs are stored. */
  readonly jobs: 'redis' | 'memory';
  readonly redisPrefix?: string;
  readonly dashboardBindAddr?: string;
  readonly jobsWritable: boolean;
  readonly journalBindAddr?: string;
  readonly inspect?: string;
  readonly inspectOrigins?: readonly string[];
  readonly inspectViewerUrl?: string;
  readonly digitaloceanAddressApi: 'reserved_ips' | 'floating_ips';
  readonly adopt: 'any' | 'unassigned';
  readonly maxAddressesPerNamespace?: number;
  /** Namespaces that may use the operator's credentials, `*` for all. */
  readonly allowOperatorCredentials?: readonly string[];
  readonly tokensSecret?: { readonly namespace?: string; readonly name: string };
  readonly rateLimitPerMinute?: number;
  readonly rateLimitPerHour?: number;
  readonly backoffFast?: readonly number[];
  readonly backoffSlow?: readonly number[];
  readonly pollSteps?: readonly number[];
  readonly verifyInterval?: number;
  readonly resyncInterval?: number;
  readonly callDeadline?: number;
  readonly leaseDuration: number;
  readonly renewDeadline: number;
  readonly retryPeriod: number;
  readonly lockDuration?: number;
}

/** Address and credentials of Redis. Certificates and keys are PEM files. */
interface RedisSettings {
  readonly url: string;
  readonly username: string | null;
  readonly password: string | null;
  readonly sentinelUsername: string | null;
  readonly sentinelPassword: string | null;
  readonly caFile: string | null;
  readonly certFile: string | null;
  readonly keyFile: string | null;
}

/** Secrets come only from the environment: command lines are visible to every user of the machine. */
export interface Environment {
  readonly redis: RedisSettings;
  readonly digitaloceanToken: string | null;
  readonly digitaloceanUrl: string | null;
  readonly digitaloceanUserAgent: string | null;
  readonly cloudflareToken: string | null;
  readonly cloudflareUrl: string | null;
  readonly cloudflareUserAgent: string | null;
  readonly dashboardToken: string | null;
  /** A trace collector is configured. */
  readonly isTraced: boolean;
  /** Problems with values that do not prevent startup. */
  readonly warnings: readonly string[];
}

const FOOTER = `
Environment:
  DIGITALOCEAN_ACCESS_TOKEN   token of the provider "digitalocean", 16 to 512 visible ASCII characters; without it, objects that use this provider report the missing token in their status
  DIGITALOCEAN_API_URL        base URL of the API (default https://api.digitalocean.com)
  DIGITALOCEAN_USER_AGENT     User-Agent of the requests to it (default routedip-operator/VERSION)
  CLOUDFLARE_TOKEN            token of the provider "cloudflare", which serves DNS only; optional as above
  CLOUDFLARE_API_URL          base URL of the API (default https://api.cloudflare.com)
  CLOUDFLARE_USER_AGENT       User-Agent of the requests to it (default routedip-operator/VERSION)
  HTTPS_PROXY, HTTP_PROXY     proxy for requests to providers, and to an API server without a proxy of its own in the kubeconfig (default: none)
  NO_PROXY                    what is reached without it: names with what is below them, addresses and networks, also with a port, separated by commas; * for everything
  KUBECONFIG                  kubeconfig file when --kubeconfig is absent; a Pod uses its ServiceAccount
  REDIS_URL                   Redis for records and jobs: redis://[:password@]host:port[/db] (default redis://127.0.0.1:6379), redis+sentinel://host:port,host:port/master[/db] or redis+cluster://host:port,host:port; with TLS rediss://… or rediss+…
  REDIS_PASSWORD              Redis password, instead of the one in the URL; kept out of the log from 8 characters on
  REDIS_USERNAME              Redis user, instead of the one in the URL (default "default")
  REDIS_SENTINEL_USERNAME     user for the Sentinels themselves
  REDIS_SENTINEL_PASSWORD     password for the Sentinels themselves
  REDIS_CA_FILE               CA of the Redis certificates, PEM file (default: the CAs that Node trusts)
  REDIS_CERT_FILE             client certificate for a Redis that requires one, PEM file
  REDIS_KEY_FILE              key of that certificate, PEM file
  ROUTEDIP_DASHBOARD_TOKEN    token that browsers must present when a dashboard listens on another interface than loopback; kept out of the log from 8 characters on
  OTEL_EXPORTER_OTLP_ENDPOINT  base URL of an OpenTelemetry collector, OTLP over HTTP, for traces of failovers; the other variables of its SDK hold, too (default: no traces)
  RECONCILIATION_INTERVAL_MS  the VIP allocator's variable for --resync-interval, in ms; the flag wins

Exit codes: 0 stopped as asked, 1 cannot run (the message says why), 2 wrong use.`;

export interface Parsed {
  readonly options: Options;
  readonly environment: Environment;
}

/** Parses `routedip-operator run …`, and the commands of `addMore`. Null when there is nothing to run: another command was given, or it has printed the help, the
 *  version, or an error, and set the exit code (0 or 2). */
export function parseCommandLine(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  version: string,
  addMore: (program: Command) => void = () => undefined,
): Parsed | null {
  let asked: Options | null = null;
  const program = new Command('routedip-operator')
    .description('Keeps routable IP addresses on the right nodes and Services.')
    .version(version);
  program.exitOverride();
  const run = program
    .command('run', { isDefault: true })
    .description('Operates the FloatingIPPools, NodeDNSRecordSets and RoutedIPs of a cluster.')
    .exitOverride();
  const known = flags();
  for (const option of known) run.addOption(option);
  run.addHelpText('after', FOOTER).action((options: Options, command: Command) => {
    const needsRedis = options.jobs === 'memory' ? redisFlagIn(options) : null;
    if (needsRedis) command.error(`error: option '${needsRedis}' has no meaning with '--jobs=memory': there is no Redis`, { exitCode: 2 });
    asked = options;
  });
  addMore(program);
  // `run` is the usual command: its flags belong in the main help.
  program.addHelpText('after', () => `\n${run.helpInformation()}${FOOTER}`);
  try {
    program.parse(withoutValues(argv, known), { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    process.exitCode = error.exitCode === 0 ? 0 : 2;
    return null;
  }
  if (asked === null) return null;
  const options = asked as Options;
  const { interval, warnings } = reconciliation(env.RECONCILIATION_INTERVAL_MS);
  const unused = options.jobs === 'memory' && env.REDIS_URL ? ['REDIS_URL is set, and is not used: --jobs=memory goes without Redis'] : [];
  return {
    options: { ...(interval !== null && { resyncInterval: interval }), ...options },
    environment: environmentOf(env, [...warnings, ...unused]),
  };
}

/** A given flag that only applies to Redis; null for none. */
const redisFlagIn = ({ redisPrefix, jobsWritable }: Options): string | null => {
  if (redisPrefix !== undefined) return '--redis-prefix';
  return jobsWritable ? '--jobs-writable' : null;
};

function flags(): Option[] {
  const duration = (name: string, text: string) => new Option(`${name} <duration>`, text).argParser(checked(parseDuration));
  const table = (name: string, text: string) => new Option(`${name} <durations>`, text).argParser(checked(parseDurations));
  const count = (name: string, text: string) => new Option(`${name} <n>`, text).argParser(checked(positive));
  return [
    new Option('--kubeconfig <file>', 'kubeconfig of the cluster (default: KUBECONFIG, else the Pod’s ServiceAccount)'),
    new Option('--metrics-bind-addr <address>', 'address of /metrics, /healthz and /readyz; empty for none').default(':8080'),
    new Option(
      '--metrics-auth <way>',
      'access to /metrics; token-review: callers need a cluster token that may get the nonResourceURL /metrics',
    )
      .choices(['none', 'token-review'])
      .default('none'),
    new Option('--debug', 'log at debug level').default(false),
    new Option(
      '--controllers <names>',
      `controllers to run, comma-separated: ${CONTROLLERS.join(', ')} (default: those whose CRDs are served)`,
    ).argParser(checked(controllers)),
    new Option(
      '--admission <way>',
      'who validates writes of IPs and VirtualIPs; auto: the webhook if it has a Service or URL and no policies are installed, else policies if the cluster supports them',
    )
      .choices(['auto', 'webhook', 'policy', 'off'])
      .default('auto'),
    new Option('--webhook-bind-addr <address>', 'address of the admission webhook, e.g. :9443').default('127.0.0.1:9443'),
    new Option('--webhook-service <name>', 'Service in front of the webhook, [namespace/]name'),
    new Option('--webhook-url <url>', 'URL at which the API server calls the webhook, instead of a Service'),
    new Option('--load-balancer-class <name>', 'loadBalancerClass to serve besides Services without a class (default: none)'),
    new Option(
      '--load-balancer-class-only',
      'serve Services without a class only if they ask for an address of an IPGroup, or have one',
    ).default(false),
    new Option(
      '--vip-lease <namespace/name>',
      'Lease of another IPGroup allocator; Services are left alone while it is held (default: none)',
    ).argParser(checked(lease)),
    new Option('--leader-elect [yes]', 'elect a leader; =false for a single process')
      .default(true)
      .argParser((text: string) => text !== 'false'),
    new Option('--namespace <name>', 'namespace of the Lease (default: the operator’s own)'),
    new Option(
      '--jobs <where>',
      'store for records and jobs; memory needs no Redis, but runs one process at a time and has no job dashboard',
    )
      .choices(['redis', 'memory'])
      .default('redis'),
    new Option(
      '--observe',
      'only observe: decide everything, change nothing at any provider or in the cluster, and show what would be done; needs neither Redis nor the Lease',
    ).default(false),
    new Option('--redis-prefix <name>', 'prefix of all keys (default: the UID of the namespace kube-system)'),
    new Option('--dashboard-bind-addr <address>', 'serve the dashboard and the job dashboard, e.g. 127.0.0.1:8081 (default: off)'),
    new Option('--jobs-writable', 'let the job dashboard retry and remove jobs').default(false),
    new Option('--journal-bind-addr <address>', 'serve the journal for `kubectl routedip`, e.g. :8084 (default: off)'),
    new Option('--inspect [address]', 'serve the Stately inspector (default address 127.0.0.1:8082)').preset('127.0.0.1:8082'),
    new Option('--inspect-viewer-url <url>', 'viewer page to embed (default https://stately.ai/inspect)').argParser(checked(pageUrl)),
    new Option(
      '--inspect-origins <urls>',
      'origins at which the inspector is opened besides loopback, comma-separated (default: none)',
    ).argParser(checked(origins)),
    new Option(
      '--tokens-secret <name>',
      'Secret, [namespace/]name, with the tokens that the environment does not set, under the names of their variables; a change of it is used at once (default: none)',
    ).argParser(checked(secretName)),
    new Option('--digitalocean-address-api <paths>', 'API paths to use for addresses')
      .choices(['reserved_ips', 'floating_ips'])
      .default('reserved_ips'),
    new Option(
      '--adopt <addresses>',
      'what FloatingIPPools take that they list: any address, or none that is on a machine outside of this cluster',
    )
      .choices(['any', 'unassigned'])
      .default('any'),
    count(
      '--max-addresses-per-namespace',
      'addresses that may be made for one namespace and kept, retained ones included (default: no limit)',
    ),
    new Option(
      '--allow-operator-credentials <namespaces>',
      `namespaces whose RoutedIPIssuers may use the operator's token, comma-separated, * for all; those labelled routedip.io/allow-operator-credentials=true may too; once given, even empty, FloatingIPPools and NodeDNSRecordSets are for the same namespaces only (default: none; these kinds everywhere)`,
    ).argParser(checked(namespaces)),
    count('--rate-limit-per-minute', 'request budget per DigitalOcean token and minute (default 250)'),
    count('--rate-limit-per-hour', 'request budget per DigitalOcean token and hour (default 5000)'),
    table('--backoff-fast', 'delays between retries of transient errors (default 1s,1s,5s,5s,10s,10s,10s,1m,1m,1m,1m,1m,5m)'),
    table('--backoff-slow', 'delays between retries of errors that a person has to fix (default 1m,5m,10m)'),
    table('--poll-steps', 'delays between polls of a running assignment (default: learnt from how long assignments take)'),
    duration(
      '--verify-interval',
      'interval between verifications of all addresses, and of all records of a zone (default 5m); addresses moved by hand are looked for five times as often, once a minute at most',
    ),
    duration('--resync-interval', 'interval between resyncs of all observed objects (default 1m)'),
    duration('--call-deadline', 'deadline of a provider call (default 15s)'),
    duration('--leader-elect-lease-duration', 'duration of the leader Lease').default(15_000, '15s'),
    duration('--leader-elect-renew-deadline', 'time the leader keeps trying to renew before it steps down').default(10_000, '10s'),
    duration('--leader-elect-retry-period', 'interval between tries to acquire or renew the Lease').default(2_000, '2s'),
    duration('--lock-duration', 'lock of a running job; the job of a dead process is retried after it (default 5s)'),
  ].map(renamed);
}

/** Go programs such as FLIPOP also accept switches as `--debug=true` and `--debug=false`. */
const withoutValues = (argv: readonly string[], known: readonly Option[]): string[] =>
  argv.flatMap((argument) => {
    const [, name, value] = /^(--[\w-]+)=(true|false)$/.exec(argument) ?? [];
    if (!known.some((option) => option.isBoolean() && option.long === name)) return [argument];
    return value === 'true' && name !== undefined ? [name] : [];
  });

/** Long flag names as in Kubernetes components, short names in the program. */
function renamed(option: Option): Option {
  const attribute = {
    '--leader-elect-lease-duration': 'leaseDuration',
    '--leader-elect-renew-deadline': 'renewDeadline',
    '--leader-elect-retry-period': 'retryPeriod',
  }[option.long ?? ''];
  if (attribute) option.attributeName = () => attribute;
  return option;
}

/** An argument parser for commander: any error counts as wrong usage. */
export const checked =
  <T>(parse: (text: string) => T) =>
  (text: string): T => {
    try {
      return parse(text);
    } catch (error) {
      throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
    }
  };

function controllers(text: string): readonly Controller[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !isController(name));
  if (unknown !== undefined) throw new Error(`"${unknown}" is no controller of this version; there are ${CONTROLLERS.join(', ')}`);
  return CONTROLLERS.filter((name) => names.includes(name));
}

const isController = (name: string): boolean => CONTROLLERS.some((known) => known === name);

/** Empty for none. */
function namespaces(text: string): readonly string[] {
  const names = text.split(',').flatMap((name) => name.trim() || []);
  const wrong = names.find((name) => !/^(\*|[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)$/.test(name));
  if (wrong !== undefined) throw new Error(`"${wrong}" is no name of a namespace; * stands for all`);
  return names;
}

function lease(text: string): { readonly namespace: string; readonly name: string } {
  const [, namespace, name] = /^([a-z0-9-]+)\/([a-z0-9.-]+)$/.exec(text) ?? [];
  if (namespace === undefined || name === undefined)
    throw new Error(`"${text}" is no name of a Lease with its namespace, as in vip-allocator-operator/88cd116a.org`);
  return { namespace, name };
}

function secretName(text: string): { readonly namespace?: string; readonly name: string } {
  const [, namespace, name] = /^(?:([a-z0-9-]+)\/)?([a-z0-9.-]+)$/.exec(text) ?? [];
  if (name === undefined) throw new Error(`"${text}" is no name of a Secret, as in routedip-operator or web/routedip-operator`);
  return { ...(namespace !== undefined && { namespace }), name };
}

/** A page with an origin of its own: the origin of `data:` etc. is "null", as in every sandboxed frame. */
function pageUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) throw new Error(`"${text}" is no http or https URL`);
  return url.href;
}

/** As browsers send them: `https://inspect.example.com`. */
const origins = (text: string): readonly string[] => text.split(',').map((name) => new URL(pageUrl(name.trim())).origin);

function positive(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`"${text}" is no number above 0`);
  return value;
}

/** Reads the environment; `warnings` are passed through. */
export const environmentOf = (env: NodeJS.ProcessEnv, warnings: readonly string[] = []): Environment => ({
  redis: {
    url: env.REDIS_URL?.trim() || 'redis://127.0.0.1:6379',
    username: tokenIn(env.REDIS_USERNAME),
    password: tokenIn(env.REDIS_PASSWORD),
    sentinelUsername: tokenIn(env.REDIS_SENTINEL_USERNAME),
    sentinelPassword: tokenIn(env.REDIS_SENTINEL_PASSWORD),
    caFile: env.REDIS_CA_FILE || null,
    certFile: env.REDIS_CERT_FILE || null,
    keyFile: env.REDIS_KEY_FILE || null,
  },
  digitaloceanToken: tokenIn(env.DIGITALOCEAN_ACCESS_TOKEN),
  digitaloceanUrl: env.DIGITALOCEAN_API_URL || null,
  digitaloceanUserAgent: headerIn(env.DIGITALOCEAN_USER_AGENT),
  cloudflareToken: tokenIn(env.CLOUDFLARE_TOKEN),
  cloudflareUrl: env.CLOUDFLARE_API_URL || null,
  cloudflareUserAgent: headerIn(env.CLOUDFLARE_USER_AGENT),
  dashboardToken: env.ROUTEDIP_DASHBOARD_TOKEN || null,
  isTraced: [env.OTEL_EXPORTER_OTLP_ENDPOINT, env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT].some(Boolean),
  warnings,
});

/** The VIP allocator uses its default for a value that is not a number, so its replacement does too. */
function reconciliation(text: string | undefined): { readonly interval: number | null; readonly warnings: readonly string[] } {
  if (!text) return { interval: null, warnings: [] };
  if (/^[1-9]\d{0,9}$/.test(text)) return { interval: Number(text), warnings: [] };
  const warning = `RECONCILIATION_INTERVAL_MS is "${text}", which is no whole number of milliseconds above 0: the default is used, 60000`;
  return { interval: null, warnings: [warning] };
}

/** Without characters that are invalid in a header. */
const headerIn = (text: string | undefined): string | null => text?.replaceAll(/[^\x20-\x7e]/g, '').trim() || null;

/** A Secret created from a file often ends in a line feed, which is invalid in a header. */
const tokenIn = (text: string | undefined): string | null => text?.trim() || null;
