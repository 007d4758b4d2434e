// The scenarios against a real API server. Without one it says so and ends with 2: a run that skips everything must not look green.
// With --old what shows that servers of before Kubernetes 1.21 are still served.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { handOver } from './hand-over.mjs';
import { installDependencies } from './install.mjs';
import { isExecutable } from './on-path.mjs';
import { findRedis } from './redis-find.mjs';
import { ROOT } from './root.mjs';
import { SetupError } from './setup-error.mjs';

const NEEDED = ['kube-apiserver', 'etcd'];

/**
 * Why there is no API server to test against, null when there is one.
 * @param {string | undefined} folder
 */
const absence = (folder) => {
  const how = 'Set it to a folder with kube-apiserver and etcd, e.g. the one that `setup-envtest use -p path` prints.';
  if (folder === undefined || folder === '') return `KUBEBUILDER_ASSETS is not set. ${how}`;
  const missing = NEEDED.filter((name) => !isExecutable(join(folder, name)));
  return missing.length === 0
    ? null
    : `KUBEBUILDER_ASSETS is ${folder}, which holds no ${missing.join(' and no ')} that can be run. ${how}`;
};

const main = async () => {
  const isOld = process.argv[2] === '--old';
  const name = isOld ? 'test:cluster:old' : 'test:cluster';
  const absent = absence(process.env.KUBEBUILDER_ASSETS);
  if (absent !== null) {
    process.stderr.write(`${name}: ${absent}\n`);
    return 2;
  }
  installDependencies(ROOT);
  findRedis();
  const vitest = ['node_modules/vitest/vitest.mjs', 'run'];
  if (isOld) return await handOver(ROOT, [...vitest, ...process.argv.slice(3)], { TEST_TARGET: 'cluster-old' });
  // What the operators of all scenarios ask for is gathered there, and compared with the roles in the end.
  const audits = mkdtempSync(join(tmpdir(), 'routedip-audits-'));
  try {
    const env = { TEST_TARGET: 'cluster', TEST_AUDITS: audits };
    return await handOver(ROOT, [...vitest, ...process.argv.slice(2)], env);
  } finally {
    rmSync(audits, { recursive: true, force: true });
  }
};

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  process.stderr.write(`test:cluster: ${error.message}\n`);
  process.exitCode = 1;
}
