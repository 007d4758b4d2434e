import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import type { Evacuate, Unassign } from './marks.ts';
import type { Session } from './ports.ts';

/** The command and its arguments, without the cluster. */
export type Asked =
  | { readonly command: 'status'; readonly address?: string }
  | { readonly command: 'explain' | 'journal' | 'replay'; readonly address: string }
  | { readonly command: 'plan'; readonly file: string | null }
  | { readonly command: 'inventory'; readonly orphans: boolean }
  | { readonly command: 'move'; readonly address: string; readonly to: string }
  | { readonly command: 'pause' | 'resume'; readonly object: string }
  | ({ readonly command: 'unassign' } & Unassign)
  | ({ readonly command: 'evacuate' } & Evacuate);

/** Which cluster, and how to print. */
export interface Flags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  readonly output: Session['output'];
  readonly journalService: Session['journalService'];
  readonly operatorNamespace: string;
}

export interface Parsed {
  readonly asked: Asked;
  readonly flags: Flags;
}

const JOURNAL_SERVICE = 'routedip-operator/routedip-operator-journal:journal';

function serviceIn(text: string): Flags['journalService'] {
  const [, namespace, service] = /^([a-z0-9-]+)\/([a-z0-9-]+(?::[a-z0-9-]+)?)$/.exec(text) ?? [];
  if (!namespace || !service) throw new InvalidArgumentError(`"${text}" is no namespace/name:port`);
  return { namespace, service };
}

function secondsIn(text: string): number {
  if (!/^\d{1,6}s?$/.test(text)) throw new InvalidArgumentError(`"${text}" is no number of seconds`);
  return Number.parseInt(text, 10);
}

const FOOTER = `
Exit codes: 0 done, and all is well; 1 failed (the message says why); 2 wrong use;
3 done, and something needs a look.`;

/** Parses `kubectl routedip …`. Returns an exit code when help, the version or an error was printed. */
export function parsePlugin(argv: readonly string[], version: string): Parsed | 0 | 2 {
  let asked: Asked | null = null;
  const program = new Command('kubectl routedip')
    .description('Shows where routable addresses are and why.')
    .version(version)
    .exitOverride()
    .addOption(new Option('-n, --namespace <name>', 'of this namespace (default: that of the context)'))
    .addOption(new Option('-A, --all-namespaces', 'of all namespaces').conflicts('namespace'))
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['table', 'wide', 'json', 'yaml']).default('table'))
    .addOption(new Option('--context <name>', 'of the kubeconfig (default: its current one)'))
    .addOption(new Option('--kubeconfig <file>', 'default: KUBECONFIG, else ~/.kube/config'))
    .addOption(
      new Option('--journal-service <service>', 'where the operator serves its journal, namespace/name:port')
        .argParser(serviceIn)
        .default(serviceIn(JOURNAL_SERVICE), JOURNAL_SERVICE),
    )
    .addOption(new Option('--operator-namespace <name>', 'where the operator runs and writes its inventory').default('routedip-operator'))
    .addHelpText('after', FOOTER);
  const command = (usage: string, text: string): Command => program.command(usage).description(text).exitOverride();
  command('status [address]', 'Where each address is, since when, why, and what is next. Needs no operator.').action((address?: string) => {
    asked = { command: 'status', ...(address !== undefined && { address }) };
  });
  command('explain <address>', 'How each node stands to an address and why, and what happened last.').action((address: string) => {
    asked = { command: 'explain', address };
  });
  command('journal <address>', 'What has happened to an address. Asks the operator.').action((address: string) => {
    asked = { command: 'journal', address };
  });
  command('replay <address>', 'Lets the chart of this program take the journal again, and says what it does.').action((address: string) => {
    asked = { command: 'replay', address };
  });
  command('plan', 'What would move if a manifest were applied. Nothing is done. Without one: what an operator with --observe would do.')
    .option('-f, --filename <file>', 'the manifest; - for the standard input')
    .action(({ filename = null }: { readonly filename?: string | null }) => {
      asked = { command: 'plan', file: filename };
    });
  command('inventory', 'What the accounts hold, whose it is and what it costs, as the operator wrote it down last.')
    .option('--orphans', 'only what nobody claims', false)
    .action(({ orphans }: { readonly orphans: boolean }) => {
      asked = { command: 'inventory', orphans };
    });
  command('move <address>', 'Asks the operator to move an address to another node, and not to wait for a reason.')
    .requiredOption('--to <node>', 'the node')
    .action((address: string, { to }: { readonly to: string }) => {
      asked = { command: 'move', address, to };
    });
  command('unassign <address>', 'Has an address leave its node and stay on none, until that is undone.')
    .option('--by <name>', 'who asks for it (default: the user of the kubeconfig)')
    .option('--undo', 'nodes are granted to it again')
    .action((address: string, options: Omit<Unassign, 'address'>) => {
      asked = { command: 'unassign', address, ...options };
    });
  for (const [name, text] of [
    ['pause', 'Has the operator decide nothing for a pool, or for routedip/<name>.'],
    ['resume', 'Ends that.'],
  ] as const) {
    command(`${name} <object>`, text).action((object: string) => {
      asked = { command: name, object };
    });
  }
  command('evacuate <node>', 'Has all addresses leave a node while it works.')
    .option('--undo', 'the node may hold addresses again')
    .option('--wait', 'until no address is on it')
    .addOption(new Option('--timeout <seconds>', 'how long --wait waits').argParser(secondsIn).default(600))
    .action((node: string, options: Omit<Evacuate, 'node'>) => {
      asked = { command: 'evacuate', node, ...options };
    });
  try {
    program.parse(argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? 0 : 2;
  }
  return asked === null ? 2 : { asked, flags: program.opts<Flags>() };
}
