// The scenarios against a real API server: that of KUBEBUILDER_ASSETS, else the one that tools/kubernetes builds. Without one it says so and ends with 2: a run
// that skips everything must not look green. With --old what shows that servers of before Kubernetes 1.21 are still served, on one that has to be given.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { handOver } from './hand-over.mjs';
import { installDependencies } from './install.mjs';
import { isExecutable } from './on-path.mjs';
import { provided } from './provided.mjs';
import { findRedis } from './redis-find.mjs';
import { ROOT } from './root.mjs';
import { SetupError } from './setup-error.mjs';

const NEEDED = ['kube-apiserver', 'etcd'];
const HOW = 'Set it to a folder with kube-apiserver and etcd, e.g. the one that `setup-envtest use -p path` prints.';

/** Nothing can be tested here: nothing has failed, and nothing was shown. */
class NoServer extends Error {}

/**
 * The folder with an API server to test against. @throws NoServer
 * @param {boolean} isOld
 */
const serverFolder = (isOld) => {
  const { KUBEBUILDER_ASSETS: given = '' } = process.env;
  if (isOld && given === '') throw new NoServer(`KUBEBUILDER_ASSETS is not set. ${HOW}`);
  try {
    const folder = provided('KUBEBUILDER_ASSETS', 'tools/kubernetes/provision');
    const missing = NEEDED.filter((name) => !isExecutable(join(folder, name)));
    if (missing.length === 0) return folder;
    throw new NoServer(`KUBEBUILDER_ASSETS is ${folder}, which holds no ${missing.join(' and no ')} that can be run. ${HOW}`);
  } catch (error) {
    throw error instanceof SetupError ? new NoServer(`${error.message} ${HOW}`) : error;
  }
};

/** @param {readonly string[]} args */
const main = async ([first, ...rest]) => {
  const isOld = first === '--old';
  const env = { KUBEBUILDER_ASSETS: serverFolder(isOld) };
  installDependencies(ROOT);
  findRedis();
  const vitest = ['node_modules/vitest/vitest.mjs', 'run'];
  if (isOld) return await handOver(ROOT, [...vitest, ...rest], { ...env, TEST_TARGET: 'cluster-old' });
  const words = first === undefined ? [] : [first, ...rest];
  // What the operators of all scenarios ask for is gathered there, and compared with the roles in the end.
  const audits = mkdtempSync(join(tmpdir(), 'routedip-audits-'));
  try {
    return await handOver(ROOT, [...vitest, ...words], { ...env, TEST_TARGET: 'cluster', TEST_AUDITS: audits });
  } finally {
    rmSync(audits, { recursive: true, force: true });
  }
};

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof SetupError || error instanceof NoServer)) throw error;
  process.stderr.write(`test:cluster${process.argv[2] === '--old' ? ':old' : ''}: ${error.message}\n`);
  process.exitCode = error instanceof NoServer ? 2 : 1;
}
