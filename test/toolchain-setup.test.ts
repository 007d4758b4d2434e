import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { isRunning } from './support/processes.ts';
import { PATIENCE_MS, waitFor } from './support/wait-for.ts';

const SETUP = join(import.meta.dirname, '../tools/setup.mjs');
const folder = mkdtempSync(join(tmpdir(), 'routedip-setup-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Run {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly exit: Promise<number | null>;
}

/** Runs `source` as setup.mjs runs the demo and the tests. */
const setUp = (source: string, ...options: string[]): Run => {
  const script = join(mkdtempSync(join(folder, 'script-')), 'script.mjs');
  writeFileSync(script, source);
  const child = spawn(process.execPath, [SETUP, ...options, script, 'one', '--two'], { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  child.stdout.on('data', (data) => (text += String(data)));
  child.stderr.on('data', (data) => (text += String(data)));
  return { child, output: () => text, exit: once(child, 'close').then(([code]) => code as number | null) };
};

const saying = ({ output }: Run, word: string): Promise<void> => waitFor(`it says ${word}`, () => output().includes(word), PATIENCE_MS);
const ending = (pid: number): Promise<void> => waitFor(`${pid} ends`, () => !isRunning(pid), PATIENCE_MS);

const WAITS = `
  let heard = 0;
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {
    console.log('heard', ++heard, signal);
    setTimeout(() => process.exit(40 + heard), 700);
  });
  setInterval(() => {}, 1000);
  console.log('ready', process.pid);
`;

describe('the set-up', () => {
  test('runs the script under Node 24 with its arguments and ends with its exit code, adding nothing to its output', async () => {
    const run = setUp('console.log(process.versions.node.split(".")[0], process.argv.slice(2).join(" ")); process.exitCode = 7;');
    await expect(run.exit).resolves.toBe(7);
    expect(run.output()).toBe('24 one --two\n');
  });

  test('ends with 128 and the number of the signal that ended the script', async () => {
    const run = setUp("process.kill(process.pid, 'SIGKILL'); setInterval(() => {}, 1000);");
    await expect(run.exit).resolves.toBe(137);
  });

  test('passes SIGTERM on and waits until the script has ended', async () => {
    const run = setUp(WAITS);
    await saying(run, 'ready');
    run.child.kill('SIGTERM');
    await expect(run.exit).resolves.toBe(41);
    expect(run.output()).toContain('heard 1 SIGTERM');
  });

  test('passes Ctrl-C on once, though a terminal and npm both send it', async () => {
    const run = setUp(WAITS);
    await saying(run, 'ready');
    run.child.kill('SIGINT');
    await saying(run, 'heard 1 SIGINT');
    run.child.kill('SIGINT');
    await expect(run.exit).resolves.toBe(41);
    expect(run.output()).not.toContain('heard 2');
  });

  test('ends the script when it is killed itself', async () => {
    const run = setUp(WAITS);
    await saying(run, 'ready');
    const pid = Number(/ready (\d+)/.exec(run.output())?.[1]);
    expect(isRunning(pid)).toBe(true);
    run.child.kill('SIGKILL');
    await ending(pid);
    // What it said may still be on its way.
    await saying(run, 'heard 1 SIGTERM');
  });

  test('starts a Redis for as long as the script runs', async () => {
    const run = setUp(
      `import { connect } from 'node:net';
       const socket = connect(new URL(process.env.REDIS_URL).port, '127.0.0.1', () => socket.write('INFO server\\r\\n'));
       socket.on('data', (data) => { console.log('pid', /process_id:(\\d+)/.exec(String(data))[1]); socket.destroy(); });`,
      '--redis=run',
    );
    await expect(run.exit).resolves.toBe(0);
    const pid = Number(/pid (\d+)/.exec(run.output())?.[1]);
    expect(pid).toBeGreaterThan(0);
    expect(isRunning(pid)).toBe(false);
  });

  test('refuses an option that it does not know, and says which there are', async () => {
    const run = setUp('', '--reddis=run');
    await expect(run.exit).resolves.toBe(1);
    expect(run.output()).toContain('setup: Unknown option --reddis=run.');
    expect(run.output()).toContain('--redis=find');
  });
});

test('a process on a leash that does not heed SIGTERM is killed when its time is over', async () => {
  const leash = join(import.meta.dirname, '../tools/leash.mjs');
  const deaf = "process.on('SIGTERM', () => console.log('deaf')); setInterval(() => {}, 1000); console.log('ready', process.pid);";
  const source = `import { spawn } from 'node:child_process';
    import { endWithParent } from ${JSON.stringify(leash)};
    const child = spawn(process.execPath, ['-e', ${JSON.stringify(deaf)}], { stdio: 'inherit', detached: true });
    endWithParent(child.pid, { signal: 'TERM', graceSeconds: 2 });
    setInterval(() => {}, 1000);`;
  const parent = spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  parent.stdout.on('data', (data) => {
    output += String(data);
  });
  await waitFor('it is ready', () => output.includes('ready'), PATIENCE_MS);
  const pid = Number(/ready (\d+)/.exec(output)?.[1]);
  parent.kill('SIGKILL');
  await ending(pid);
  await waitFor('it has heard of it', () => output.includes('deaf'));
});
