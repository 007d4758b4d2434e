import { type Command, Option } from 'commander';
import type { ProbeOptions } from '../../actors/ports/account-probe.ts';
import { parseDuration } from './duration.ts';
import { checked } from './options.ts';

const FOOTER = `
The token is read from DIGITALOCEAN_ACCESS_TOKEN, the base URL of the API from DIGITALOCEAN_API_URL, as by "run".
Without --write and --clean nothing is changed.

Exit codes: 0 all is as the operator expects, 1 it could not ask, or was interrupted (the message says why), 2 wrong use,
3 something differs, a scope is missing, a step failed, or something could not be taken back.`;

/** Adds the command `probe`; `take` is called with its options. */
export function addProbe(program: Command, take: (asked: ProbeOptions) => void): void {
  program
    .command('probe')
    .description('Asks a DigitalOcean account whether it answers as the operator expects.')
    .exitOverride()
    .option('--json', 'print the report as JSON, without addresses, ids and names: fit for being sent', false)
    .option('--reads <n>', 'reads from which the latency is taken', checked(reads), 30)
    .option('--record <folder>', 'write what was asked and answered into a file there, without token, addresses, ids and names')
    .option('--zone <name>', 'DNS zone to read, and to make a record in with --write')
    .option('--firewall <name>', 'firewall to read, and to add a rule to with --write')
    .option('--write', 'also create an address, assign, move and unassign it, make a DNS record and a rule, and take all back', false)
    .option('--droplets <a,b>', 'ids of two Droplets of one region without a reserved IP, for --write', checked(droplets))
    .option('--yes', 'do not ask before anything is made', false)
    .option('--state <file>', 'file that says what is made, until it is taken back', 'routedip-probe.json')
    .addOption(new Option('--clean <file>', 'take back what stands in such a file').conflicts(['write', 'zone', 'firewall', 'droplets']))
    .addOption(
      new Option('--wait <duration>', 'how long to wait for what was asked for').argParser(checked(parseDuration)).default(120_000, '2m'),
    )
    .addHelpText('after', FOOTER)
    .action((asked: ProbeOptions, command: Command) => {
      const missing = (['droplets', 'zone'] as const).filter((flag) => asked.write && !asked[flag]).map((flag) => `--${flag}`);
      if (missing.length > 0) command.error(`error: option '--write' needs ${missing.join(' and ')}`, { exitCode: 2 });
      if (!asked.write && asked.droplets) command.error("error: option '--droplets' has no meaning without '--write'", { exitCode: 2 });
      take(asked);
    });
}

/** So many requests a minute are allowed, and some. */
function reads(text: string): number {
  const count = Number(text);
  if (!Number.isSafeInteger(count) || count < 1 || count > 150) throw new Error('It is not a number from 1 to 150.');
  return count;
}

function droplets(text: string): readonly [number, number] {
  const [, a, b] = /^(\d{1,15}),(\d{1,15})$/.exec(text)?.map(Number) ?? [];
  if (!a || !b || a === b) throw new Error('It is not the ids of two Droplets, as in 123,456.');
  return [a, b];
}
