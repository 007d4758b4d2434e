// Runs on Node 20 and with no dependency installed: everything it imports is beside it and plain JavaScript.
import { findChromium } from './chromium-find.mjs';
import { handOver } from './hand-over.mjs';
import { installDependencies } from './install.mjs';
import { findRedis, startRedis } from './redis.mjs';
import { ROOT } from './root.mjs';
import { SetupError } from './setup-error.mjs';

const USAGE = `Usage: node tools/setup.mjs [--redis=find | --redis=run] [--chromium] [SCRIPT [ARGUMENT...]]

Installs what package-lock.json asks for when it is not installed, then runs SCRIPT under the project's own Node.
  --redis=find  makes sure that a Redis can be started on this machine
  --redis=run   starts a private Redis for as long as SCRIPT runs; its address is in REDIS_URL
  --chromium    makes sure that there is a Chromium; its command is in CHROMIUM_PATH`;

const OPTIONS = ['--redis=find', '--redis=run', '--chromium'];

/** @param {readonly string[]} argv */
const parse = (argv) => {
  const first = argv.findIndex((word) => !word.startsWith('--'));
  const options = first === -1 ? argv : argv.slice(0, first);
  const unknown = options.find((option) => !OPTIONS.includes(option));
  if (unknown !== undefined) throw new SetupError(`Unknown option ${unknown}.\n${USAGE}`);
  return { options, command: first === -1 ? [] : argv.slice(first) };
};

/** @param {readonly string[]} argv */
const main = async (argv) => {
  const { options, command } = parse(argv);
  installDependencies(ROOT);
  if (options.includes('--redis=find')) findRedis();
  /** @type {Record<string, string>} */
  const env = options.includes('--chromium') ? { CHROMIUM_PATH: findChromium() } : {};
  if (command.length === 0) return 0;
  if (!options.includes('--redis=run')) return handOver(ROOT, command, env);
  const redis = await startRedis({ aof: true });
  try {
    return await handOver(ROOT, command, { ...env, REDIS_URL: redis.url });
  } finally {
    await redis.stop();
  }
};

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  process.stderr.write(`setup: ${error.message}\n`);
  process.exitCode = 1;
}
