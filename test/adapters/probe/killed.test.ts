import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import type { FaultSpec } from '../../../simulator/digitalocean/faults.ts';
import { endWithParent } from '../../../tools/leash.mjs';
import { entryOf } from '../../support/entry.ts';
import { extent } from '../../support/extent.ts';
import { waitFor } from '../../support/wait-for.ts';
import { DROPLETS, leftIn, recordingIn, run, type Stage, stage, TOKEN, ZONE } from './support.ts';

const ALL = ['--write', '--yes', `--droplets=${DROPLETS.join()}`, `--zone=${ZONE}`, '--firewall=zqfirewall', '--reads=1'];

/** `routedip-operator probe` as a user starts it. It ends with this process. */
function start({ simulator, state, folder }: Stage, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [entryOf('routedip-operator'), 'probe', `--state=${state}`, ...args], {
    cwd: folder,
    env: { DIGITALOCEAN_API_URL: simulator.url, DIGITALOCEAN_ACCESS_TOKEN: TOKEN, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const leash = child.pid === undefined ? null : endWithParent(child.pid);
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve)).finally(() => leash?.release());
  return { child, ended, out: text(child.stdout), problems: text(child.stderr) };
}

type Write = readonly [step: string, method: 'POST' | 'DELETE', path: string, after: number];

/** Every write of a run, in order. */
const WRITES: readonly Write[] = [
  ['the creation', 'POST', '/reserved_ips$', 0],
  ['the assignment', 'POST', '/actions$', 0],
  ['the move', 'POST', '/actions$', 1],
  ['the record', 'POST', '/records$', 0],
  ['the rule', 'POST', '/rules$', 0],
  ['the unassignment', 'POST', '/actions$', 2],
  ['the removal of the rule', 'DELETE', '/rules$', 0],
  ['the removal of the record', 'DELETE', '/records/', 0],
  ['the deletion of the address', 'DELETE', '/reserved_ips/', 0],
];

/** Resolves once a request has met the fault. */
const struck = async ({ simulator }: Stage, { child, out, problems }: ReturnType<typeof start>) => {
  const isStruck = () => simulator.calls.all().some(({ faults }) => faults.includes('hang'));
  await waitFor('a request hangs', () => isStruck() || child.exitCode !== null);
  if (!isStruck()) throw new Error(`it ended before: ${await out}${await problems}`);
};

const hangs = (set: Stage, [, method, path, after]: Write, more: Partial<FaultSpec> = {}) =>
  set.simulator.faults.add({ kind: 'hang', match: { method, path }, after, times: 1, ...more } as FaultSpec);

describe.concurrent('probe --write that is killed', () => {
  test('has these writes, and no others', async ({ onTestFinished }) => {
    const set = await stage({}, onTestFinished);
    const { ended, out } = start(set, ALL);
    expect([await ended, await out]).toEqual([0, expect.stringMatching(/operator expects\n +nothing\n$/)]);
    const writes = set.simulator.calls.select({ since: 0, writes: true });
    expect(writes.map(({ method }) => method)).toEqual(WRITES.map(([, method]) => method));
    for (const [index, [, , path]] of WRITES.entries()) expect(writes[index]?.path).toMatch(new RegExp(path));
  });

  const moments = WRITES.flatMap((write, index) =>
    [true, false].filter((applied) => extent(true, applied || index === 0)).map((applied) => ({ step: write[0], write, applied })),
  );

  test.for(moments)('at $step, effective: $applied, leaves nothing once it was cleaned', async ({ write, applied }, { onTestFinished }) => {
    const set = await stage({}, onTestFinished);
    hangs(set, write, { applied });
    const started = start(set, ALL);
    await struck(set, started);
    started.child.kill('SIGKILL');
    await started.ended;
    expect(leftIn(set)).toContain(set.state);
    const { code, out } = await run(set, { clean: set.state, wait: 5000 });
    expect([code, leftIn(set)]).toEqual([0, []]);
    expect(out).toMatch(/Differs from what the operator expects\n +nothing\n$/);
  });
});

describe.concurrent('probe --write that is interrupted', () => {
  test.for(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('by %s takes all back and ends with 1', async (signal, { onTestFinished }) => {
    const set = await stage({}, onTestFinished);
    hangs(set, ['the move', 'POST', '/actions$', 1], { ms: 100 });
    const started = start(set, ALL);
    const { child, ended, out, problems } = started;
    await struck(set, started);
    child.kill(signal);
    expect([await ended, await out, leftIn(set)]).toEqual([1, '', []]);
    expect(await problems).toContain('cannot go on: it was interrupted\nwhat was made was taken back');
    expect(set.simulator.calls.all().some(({ path, method }) => method === 'POST' && path.endsWith('/records'))).toBe(false);
  });

  test('a second time ends at once, and says by what it is taken back', async ({ onTestFinished }) => {
    const set = await stage({}, onTestFinished);
    hangs(set, ['the move', 'POST', '/actions$', 1]);
    const started = start(set, ALL);
    const { child, ended, problems } = started;
    await struck(set, started);
    child.kill('SIGINT');
    let said = '';
    child.stderr.on('data', (data) => {
      said += data;
    });
    await waitFor('it has heard of it', () => said.includes('a second signal ends it at once'));
    child.kill('SIGINT');
    expect(await ended).toBe(1);
    expect(await problems).toContain(`routedip-operator probe --clean ${set.state}`);
    set.simulator.faults.clear();
    expect((await run(set, { clean: set.state, wait: 5000 })).code).toBe(0);
    expect(leftIn(set)).toEqual([]);
  });
});

describe.concurrent('the command', () => {
  test('never says the token, nor records it, whoever repeats it', async ({ onTestFinished }) => {
    const set = await stage({}, onTestFinished);
    set.simulator.faults.add({ kind: 'status', code: 500, body: { id: 'x', message: `bad token ${TOKEN}` }, match: { path: 'tags' } });
    const { ended, out, problems } = start(set, ['--reads=1', '--json', `--record=${set.folder}/recorded`]);
    expect(await ended).toBe(3);
    const { text: recorded } = recordingIn(`${set.folder}/recorded`);
    expect(await out).toContain('bad token [redacted: DIGITALOCEAN_ACCESS_TOKEN]');
    for (const each of [await out, await problems, recorded]) expect(each).not.toContain(TOKEN);
  });

  test('asks no terminal where there is none, and makes nothing', async ({ onTestFinished }) => {
    const set = await stage({}, onTestFinished);
    const { ended, problems } = start(
      set,
      ALL.filter((flag) => flag !== '--yes'),
    );
    expect([await ended, await problems]).toEqual([2, expect.stringContaining('there is no terminal to ask on: give --yes')]);
    expect(set.simulator.calls.all()).toEqual([]);
  });

  test.for([
    ['no token', '', 'DIGITALOCEAN_ACCESS_TOKEN is not set'],
    ['a text that is none', 'short', 'DIGITALOCEAN_ACCESS_TOKEN is no token but a text shorter than 16 characters'],
  ])('asks nobody with %s', async ([, token = '', says = ''], { onTestFinished }) => {
    const set = await stage({}, onTestFinished);
    const { ended, problems } = start(set, [], { DIGITALOCEAN_ACCESS_TOKEN: token });
    expect([await ended, await problems]).toEqual([1, expect.stringContaining(says)]);
    expect(set.simulator.calls.all()).toEqual([]);
  });
});
