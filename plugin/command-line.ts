import { Command, CommanderError, Option } from 'commander';

/** What is asked of the plugin, besides the cluster that is meant. */
export type Asked = { readonly command: 'status'; readonly address?: string };

/** Which cluster, and how to answer. */
export interface Flags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  readonly output: 'table' | 'json';
}

export interface Parsed {
  readonly asked: Asked;
  readonly flags: Flags;
}

const FOOTER = `
Exit codes: 0 done, and all is well; 1 failed (the message says why); 2 wrong use;
3 done, and something needs a look.`;

/** Reads `kubectl routedip …`. Else the exit code: help, the version or what is wrong was printed. */
export function parsePlugin(argv: readonly string[], version: string): Parsed | 0 | 2 {
  let asked: Asked | null = null;
  const program = new Command('kubectl routedip')
    .description('Shows where routable addresses are and why.')
    .version(version)
    .exitOverride()
    .addOption(new Option('-n, --namespace <name>', 'of this namespace (default: that of the context)'))
    .addOption(new Option('-A, --all-namespaces', 'of all namespaces').conflicts('namespace'))
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['table', 'json']).default('table'))
    .addOption(new Option('--context <name>', 'of the kubeconfig (default: its current one)'))
    .addOption(new Option('--kubeconfig <file>', 'default: KUBECONFIG, else ~/.kube/config'))
    .addHelpText('after', FOOTER);
  const command = (usage: string, text: string): Command => program.command(usage).description(text).exitOverride();
  command('status [address]', 'Where each address is, since when, why, and what is next. Needs no operator.').action((address?: string) => {
    asked = { command: 'status', ...(address !== undefined && { address }) };
  });
  try {
    program.parse(argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? 0 : 2;
  }
  return asked === null ? 2 : { asked, flags: program.opts<Flags>() };
}
