import { type Command, Option } from 'commander';

/** Options of `routedip-operator generate-secret`. */
export interface GenerateSecret {
  readonly secret: string;
  readonly key: string;
  /** Absent for the operator's own. */
  readonly namespace?: string;
  /** Absent for KUBECONFIG, else the Pod's own. */
  readonly kubeconfig?: string;
}

const FOOTER = `
Never changes a Secret that is there: one with another key only is an error. Waits for an API server that does not answer.

Exit codes: 0 the Secret has the key, 1 it has not (the message says why), 2 wrong use.`;

/** Adds the command `generate-secret`; `take` is called with its options. */
export function addGenerateSecret(program: Command, take: (asked: GenerateSecret) => void): void {
  program
    .command('generate-secret')
    .description('Makes a Secret with 64 random hexadecimal digits, unless it is there.')
    .exitOverride()
    .addOption(new Option('--secret <name>', 'name of the Secret').makeOptionMandatory())
    .addOption(new Option('--key <key>', 'key under which the digits are').makeOptionMandatory())
    .addOption(new Option('--namespace <name>', 'namespace of the Secret (default: the operator’s own)'))
    .addOption(new Option('--kubeconfig <file>', 'configuration of the cluster (default: KUBECONFIG, else the Pod’s own)'))
    .addHelpText('after', FOOTER)
    .action(take);
}
