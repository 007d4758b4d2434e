import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { simulated } from '../adapters/kubernetes/support.ts';
import { isRunning } from '../support/processes.ts';
import { waitFor } from '../support/wait-for.ts';

test('an operator ends with the process of the test that started it, even when that is killed', async () => {
  const simulator = await simulated();
  const folder = mkdtempSync(join(tmpdir(), 'routedip-orphan-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, simulator.kubeconfig());
  const options = { kubeconfig, redisUrl: 'redis://127.0.0.1:1', digitaloceanUrl: 'http://127.0.0.1:1' };
  const script = `import { startOperator } from ${JSON.stringify(join(import.meta.dirname, '../support/operator.ts'))};
    console.log(startOperator(${JSON.stringify(options)}).pid);`;
  const parent = spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void parent.kill('SIGKILL'));
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const pid = Number(line.toString());
  onTestFinished(() => {
    if (isRunning(pid)) process.kill(pid, 'SIGKILL');
  });
  await waitFor('it asks for what it needs', () => simulator.requests.length > 0, 30_000);
  expect(isRunning(pid)).toBe(true);
  parent.kill('SIGKILL');
  await waitFor('it has ended', () => !isRunning(pid));
});
