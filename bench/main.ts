import { SetupError } from '../tools/setup-error.mjs';
import { help, parse, UsageError } from './args.ts';
import { bench } from './bench.ts';
import { contest } from './contest.ts';
import { SCENARIOS } from './scenarios.ts';

async function main(argv: readonly string[]): Promise<number> {
  try {
    const args = parse(argv, SCENARIOS);
    if (args !== null) return await (args.against === undefined ? bench(args) : contest(args, args.against));
    console.log(help(SCENARIOS));
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof SetupError)) throw error;
    console.error(`bench: ${error.message}${error instanceof UsageError ? '\nTry --help.' : ''}`);
    return 2;
  }
}

process.exitCode = await main(process.argv.slice(2));
