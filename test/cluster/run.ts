import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { clusterUnavailable } from '../support/kube.ts';

/** `npm run test:cluster`: the suite against a real API server. Exits 2 when there is none to start, so that it is never taken for passed. */
const unavailable = clusterUnavailable();
if (unavailable === null) {
  const config = join(import.meta.dirname, 'vitest.config.ts');
  const vitest = join(import.meta.dirname, '../../node_modules/vitest/vitest.mjs');
  const child = spawn(process.execPath, [vitest, 'run', '--config', config, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  child.on('exit', (code) => {
    process.exitCode = code ?? 1;
  });
} else {
  console.error(`The tests on a real API server cannot run: ${unavailable}.`);
  process.exitCode = 2;
}
