import { type Command, Option } from 'commander';

/** Options of `routedip-operator migrate gsm`. */
export interface MigrateGSM {
  /** Read instead of a cluster; `-` for the standard input. */
  readonly file?: string;
  /** Absent for KUBECONFIG, else the Pod's own. */
  readonly kubeconfig?: string;
}

const FOOTER = `
Writes nothing to the cluster. Look at what it prints, then: routedip-operator migrate gsm | kubectl apply -f -

Exit codes: 0 all were printed, 1 they cannot be read, 2 wrong use, 3 printed, but for what is said on the standard error.`;

/** Adds the command `migrate gsm`; `take` is called with its options. */
export function addMigrate(program: Command, take: (asked: MigrateGSM) => void): void {
  const migrate = program.command('migrate').description('Helps to leave VirtualIPs for Services of type LoadBalancer.').exitOverride();
  migrate
    .command('gsm')
    .description('Prints the IPGroups that take the place of the GroupSegmentMappings of a cluster, as YAML.')
    .exitOverride()
    .addOption(
      new Option(
        '-f, --file <file>',
        'read GroupSegmentMappings from YAML or JSON, as kubectl get -o yaml has it; - for the standard input',
      ),
    )
    .addOption(
      new Option('--kubeconfig <file>', 'configuration of the cluster to read (default: KUBECONFIG, else the Pod’s own)').conflicts('file'),
    )
    .addHelpText('after', FOOTER)
    .action(take);
}
