// What is shipped (chart, manifests, alerts, dashboards, workflows), judged by the tools that its users have. Needs their binaries, of which none is needed for
// anything else: CHECK_TOOLS names a folder with them, KUBEBUILDER_ASSETS one with an API server; without these they are built.
import { handOver } from './hand-over.mjs';
import { installDependencies } from './install.mjs';
import { provided } from './provided.mjs';
import { ROOT } from './root.mjs';
import { SetupError } from './setup-error.mjs';

const main = async () => {
  installDependencies(ROOT);
  const folders = {
    CHECK_TOOLS: provided('CHECK_TOOLS', 'tools/checks/provision'),
    KUBEBUILDER_ASSETS: provided('KUBEBUILDER_ASSETS', 'tools/kubernetes/provision'),
  };
  return handOver(ROOT, ['node_modules/vitest/vitest.mjs', 'run', ...process.argv.slice(2)], { TEST_TARGET: 'tools', ...folders });
};

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  process.stderr.write(`test:tools: ${error.message}\n`);
  process.exitCode = 1;
}
