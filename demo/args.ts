import { parseArgs } from 'node:util';

export interface Args {
  /** Which of the nodes that hold an address fails: the seed-th by name, counted round. */
  readonly seed: number;
  /** The only part that is shown; null for all. */
  readonly act: Act | null;
  /** Stay up after the story, until a signal. */
  readonly keep: boolean;
  /** The operator starts again whenever one of its sources changes. */
  readonly watch: boolean;
  /** Print one line of JSON instead of the story. */
  readonly json: boolean;
  /** The longest that one step may take, ms. */
  readonly deadlineMs: number;
  /** Where the operator serves the dashboards, as it takes it itself; null for a free port of loopback. */
  readonly dashboardBindAddr: string | null;
  /** The same of the inspector. */
  readonly inspect: string | null;
  /** The port of loopback at which a debugger finds the operator; null when none is expected. */
  readonly debug: number | null;
}

/** A node fails; a DNS record follows; an address for a Service moves; Services share a range of addresses. */
export type Act = 1 | 2 | 3 | 4;

/** The command line cannot be followed: exit 2. */
export class UsageError extends Error {}

export const HELP = `Usage: npm run demo -- [options]

Starts a simulated Kubernetes API, a simulated DigitalOcean API and the real operator on this machine, applies a FloatingIPPool, a
RoutedIP and Services, lets nodes fail, and shows what happens and how long it takes. Everything it starts ends with it.

  --act <n>             shows one part only: 1 a node fails, 2 a DNS record follows the addresses, 3 an address and open ports for a
                        Service move with their node, while somebody connects to it all the time, 4 Services of type LoadBalancer
                        get addresses of a range, one waits for another to go, and
                        one takes over the address of a VirtualIP (default: all)
  --seed <n>            picks the node that fails, and the figures of chance (default 1)
  --keep                stays up afterwards and prints what to open and how to break things by hand; Ctrl-C ends it
  --keep --json         prints one line of JSON when all is up, and nothing else:
                        kubeconfig, metrics, jobs, inspector, kubernetes, digitalocean,
                        log, redis, operatorPid
  --watch               the same, and the operator starts again whenever one of its sources changes
  --dashboard-bind-addr <address>
                        where the dashboards listen, e.g. 0.0.0.0:8081 in a container (default: a free port of loopback); they ask for
                        ROUTEDIP_DASHBOARD_TOKEN then, and when that is not set for a token that is printed with --keep
  --inspect <address>   the same for the inspector, e.g. 0.0.0.0:8082
  --debug <port>        a debugger of Node finds the operator at this port of loopback
  --deadline <seconds>  the longest that one step may take (default 20)
  --help                this text

Exit codes: 0 all went well, 1 something did not (the message says what), 2 wrong use, 130 and 143 ended by a signal before the end.
NO_COLOR=1 draws without colours; without a terminal it prints plain lines.`;

/** Null when help was asked for. @throws UsageError */
export function parse(argv: readonly string[]): Args | null {
  const options = values(argv);
  const { seed, act, watch, json, deadline, help, debug, inspect = null, 'dashboard-bind-addr': dashboardBindAddr = null } = options;
  if (help) return null;
  const keep = options.keep || watch;
  if (json && !keep) throw new UsageError('--json goes with --keep: it tells where everything is while it stays up');
  const deadlineMs = numberOf('--deadline', deadline) * 1000;
  if (deadlineMs === 0) throw new UsageError('--deadline must be above 0');
  const chosen = numberOf('--seed', seed);
  if (!Number.isSafeInteger(chosen)) throw new UsageError(`--seed must be a whole number, not "${seed}"`);
  const chosenAct = act === undefined ? null : actOf(act);
  const port = debug === undefined ? null : portOf(debug);
  return { seed: chosen, act: chosenAct, keep, watch, json, deadlineMs, dashboardBindAddr, inspect, debug: port };
}

function values(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        seed: { type: 'string', default: '1' },
        act: { type: 'string' },
        keep: { type: 'boolean', default: false },
        watch: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        deadline: { type: 'string', default: '20' },
        'dashboard-bind-addr': { type: 'string' },
        inspect: { type: 'string' },
        debug: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function actOf(text: string): Act {
  if (text === '1') return 1;
  if (text === '2') return 2;
  if (text === '3') return 3;
  if (text === '4') return 4;
  throw new UsageError(`--act must be 1, 2, 3 or 4, not "${text}"`);
}

function portOf(text: string): number {
  const port = numberOf('--debug', text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new UsageError(`--debug must be a port, not "${text}"`);
  return port;
}

function numberOf(name: string, text: string): number {
  if (!/^\d+(\.\d+)?$/.test(text)) throw new UsageError(`${name} must be a number, not "${text}"`);
  return Number(text);
}
