// What is shipped (chart, manifests, alerts, dashboards, workflows), judged by the tools that its users have. Needs their binaries, of which none is needed for
// anything else: CHECK_TOOLS names a folder with them, KUBEBUILDER_ASSETS one with an API server; without these they are built, which takes Go and minutes.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { handOver } from './hand-over.mjs';
import { installDependencies } from './install.mjs';
import { ROOT } from './root.mjs';
import { SetupError } from './setup-error.mjs';

const PROVIDED = { CHECK_TOOLS: 'tools/checks/provision', KUBEBUILDER_ASSETS: 'tools/kubernetes/provision' };

/**
 * The folder that `variable` names, else the one that the script `provision` prints last.
 * @param {string} variable
 * @param {string} provision
 */
const folderOf = (variable, provision) => {
  const given = process.env[variable];
  if (given !== undefined && given !== '') return given;
  try {
    const output = execFileSync(join(ROOT, provision), { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
    return output.trimEnd().split('\n').at(-1) ?? '';
  } catch (cause) {
    throw new SetupError(`${variable} is not set, and ${provision} did not build what it would name.`, cause);
  }
};

const main = async () => {
  installDependencies(ROOT);
  const folders = Object.fromEntries(Object.entries(PROVIDED).map(([variable, provision]) => [variable, folderOf(variable, provision)]));
  return handOver(ROOT, ['node_modules/vitest/vitest.mjs', 'run', ...process.argv.slice(2)], { TEST_TARGET: 'tools', ...folders });
};

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  process.stderr.write(`test:tools: ${error.message}\n`);
  process.exitCode = 1;
}
