import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { shareOf } from '../support/extent.ts';
import { isRunning } from '../support/processes.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

const MAIN = join(import.meta.dirname, '../../demo/main.ts');

interface Demo {
  readonly child: ChildProcess;
  readonly said: { out: string; err: string };
  /** Exit code, or the name of the signal that ended it. */
  readonly exited: Promise<number | string>;
}

const running = new Set<Demo>();

function startDemo(args: readonly string[], redisUrl: string | undefined): Demo {
  const { REDIS_URL: _, ...inherited } = process.env;
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { ...inherited, ...(redisUrl !== undefined && { REDIS_URL: redisUrl }) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { out: '', err: '' };
  child.stdout.on('data', (data) => {
    said.out += data;
  });
  child.stderr.on('data', (data) => {
    said.err += data;
  });
  const exited = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
  const demo = { child, said, exited };
  running.add(demo);
  return demo;
}

/** The operator's process, as soon as the demo has said it. */
async function operatorOf({ said }: Demo): Promise<number> {
  const found = () => /the operator starts as process (\d+)/.exec(said.out)?.[1];
  await waitFor('the operator is started', () => found() !== undefined, 20_000);
  return Number(found());
}

/** The inspector tells of the addresses as parts of their pool, each with a machine that it can draw. */
async function inspects(inspector: string): Promise<void> {
  const told: { readonly type: string; readonly sessionId: string; readonly parentId?: string; readonly definition?: string }[] = [];
  const socket = new WebSocket(`${inspector.replace('http', 'ws')}/ws`);
  socket.addEventListener('message', ({ data }) => told.push(JSON.parse(data)));
  await waitFor('the inspector tells of the addresses', () => told.filter(({ sessionId }) => sessionId.includes('/ip/')).length === 3);
  socket.close();
  for (const { sessionId, parentId, definition = '{}' } of told.filter(({ type }) => type === '@xstate.actor')) {
    if (sessionId.includes('/ip/')) expect(parentId).toBe('pool/default/ingress-pool');
    const { id } = JSON.parse(definition) as { readonly id?: string };
    const drawing = await fetch(`${inspector}/drawings/${id}`);
    expect(drawing.status, sessionId).toBe(200);
    expect(await drawing.json()).toMatchObject({ root: { id } });
  }
}

describe('the demo', () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startTestRedis();
  });
  afterEach(async () => {
    for (const { child } of running) child.kill('SIGTERM');
    // One that has not ended yet would write to the Redis of the next one.
    await Promise.all([...running].map(({ exited }) => exited));
    running.clear();
    await redis.flushAll();
  });
  afterAll(async () => {
    const refused = await redis?.refused();
    await redis?.stop();
    expect(refused).toEqual([]);
  });

  test('shows a failover with the time of each step, and ends by itself', { timeout: 90_000 }, async () => {
    const demo = startDemo(['--seed', '1'], redis.operatorUrl);
    const operator = await operatorOf(demo);
    expect(await demo.exited, demo.said.err).toBe(0);
    const lines = demo.said.out.split('\n');
    // Without a terminal: plain lines, no drawing.
    expect(demo.said.out).not.toContain('\x1b');
    for (const address of ['203.0.113.1', '203.0.113.2', '203.0.113.3']) {
      expect(lines).toContainEqual(expect.stringMatching(new RegExp(`${address} is listed in spec.ips`)));
      expect(lines).toContainEqual(expect.stringMatching(new RegExp(`${address} is active on ingress-\\d`)));
    }
    expect(lines).toContainEqual(expect.stringMatching(/ingress-1, which holds 203\.0\.113\.\d, turns NotReady/));
    const summary = lines.slice(lines.findIndex((line) => /^Failover of 203\.0\.113\.\d, ingress-1 -> ingress-[45]$/.test(line)));
    for (const step of ['NotReady accepted', 'assign received', 'action finished', '`active` in the status', 'annotation moved'])
      expect(summary).toContainEqual(expect.stringMatching(new RegExp(`^ {2}${step}.* m?s$`)));
    expect(summary).toContainEqual(expect.stringContaining('1 assign for the failover, none for the node that came back'));
    const trace = lines.slice(lines.indexOf('Its trace, as a collector of OpenTelemetry gets it') + 1);
    const parts = trace.slice(0, trace.indexOf('')).map((line) => /^ {2}(\w.*?) +[.=]{32} +[\d.]+ m?s$/.exec(line)?.[1]);
    // The job is run again until the provider has ended its action.
    expect([...new Set(parts)]).toEqual(['failover', 'elect', 'queue assign', 'run assign', 'confirm', 'show']);
    const name = 'www\\.example\\.com';
    expect(lines).toContainEqual(
      expect.stringMatching(new RegExp(`${name} lists 203\\.0\\.113\\.1, 203\\.0\\.113\\.2, 203\\.0\\.113\\.3$`)),
    );
    expect(lines).toContainEqual(expect.stringMatching(new RegExp(`${name} lists 203\\.\\S+ and 203\\.\\S+ only, after`)));
    expect(lines).toContainEqual(expect.stringMatching(new RegExp(`${name} lists 203\\.\\S+ again, after`)));
    expect(summary).toContainEqual(expect.stringMatching(/^ {2}\d+ writes of records, \d+ of them for a failover$/));
    expect(summary).toContainEqual('Connections to 203.0.113.4');
    expect(isRunning(operator)).toBe(false);
  });

  test('moves an address with open ports while somebody connects to it, and says how many connections failed; that alone when asked for act 3', {
    timeout: 90_000,
  }, async () => {
    const demo = startDemo(['--act', '3'], redis.operatorUrl);
    expect(await demo.exited, demo.said.err).toBe(0);
    const lines = demo.said.out.split('\n');
    const told = (title: string) => {
      const at = lines.findIndex((line) => line.startsWith(`${title} of 203.0.113.1, web-`));
      const [, from, to] = /, (web-\d) -> (web-\d)$/.exec(lines[at] ?? '') ?? [];
      return { from, to, steps: lines.slice(at + 1, at + 9).map((line) => /^ {2}(.*?) {2,}/.exec(line)?.[1]) };
    };
    const [planned, failover] = [told('Planned move'), told('Failover')];
    // The status is written beside the closing of the port, in no order with it.
    const shown = '`Stable` in the status';
    expect(planned.steps.indexOf(shown)).toBeGreaterThan(planned.steps.indexOf('action finished'));
    expect(planned.steps.filter((step) => step !== shown)).toEqual([
      `${planned.from} is cordoned`,
      `${planned.to} added to the firewall`,
      `in force on ${planned.to}`,
      `assign to ${planned.to} received`,
      'action finished',
      `${planned.from} taken out of the firewall`,
      `closed on ${planned.from}`,
    ]);
    expect(failover.from).toBe(planned.to);
    expect(failover.steps[0]).toBe(`${failover.from} dies`);
    const lost = (to: string | undefined, rest: string) =>
      expect.stringMatching(new RegExp(`${to} answers; lost were \\d+ in transit, ${rest}$`));
    expect(lines).toContainEqual(lost(planned.to, '0 otherwise'));
    expect(lines).toContainEqual(lost(failover.to, '[1-9]\\d* with the node down, 0 otherwise'));
    expect(lines).toContainEqual(
      expect.stringMatching(/^ {2}port 80: [1-9]\d* answered, [1-9]\d* lost in transit, [1-9]\d* with the node down, 0 refused$/),
    );
    expect(lines).toContainEqual(expect.stringMatching(/^ {2}port 9090: 0 answered, .* [1-9]\d* refused$/));
    expect(lines.filter((line) => /^DNS record |ingress/.test(line))).toEqual([]);
  });

  test('fails when a connection to a healthy node does', { timeout: 60_000 }, async () => {
    const demo = startDemo(['--act', '3'], redis.operatorUrl);
    // Looked up before: the address is soon moved from the node.
    await waitFor('the nodes are there', () => demo.said.out.includes('nodes serve the shop'), 50_000);
    const cloud = `http://127.0.0.1:${/DigitalOcean API at \S*:(\d+)/.exec(demo.said.out)?.[1]}`;
    const state = (await (await fetch(`${cloud}/_control/state`)).json()) as { droplets: { id: number; name: string }[] };
    const holder = () => /203\.0\.113\.1:80 is answered by (web-\d)/.exec(demo.said.out)?.[1];
    await waitFor('somebody connects', () => holder() !== undefined, 50_000);
    const droplet = state.droplets.find(({ name }) => name === holder())?.id;
    // Its program ends, and Kubernetes does not hear of it.
    expect((await fetch(`${cloud}/_control/listeners/${droplet}/80`, { method: 'DELETE' })).status).toBe(204);
    expect(await demo.exited).toBe(1);
    expect(demo.said.err).toMatch(/FAILED: \d+ connections to a healthy node failed, the last one with "nobody listens there"/);
  });

  const acts: readonly (readonly [number, RegExp, RegExp])[] = [
    [1, /^Failover of /, /^DNS record |^Connections to /],
    [2, /^DNS record /, /^Failover of |^Connections to /],
    [4, /^198\.51\.100\.16, VirtualIP -> Service forum$/, /^DNS record |^Connections to |ingress/],
  ];

  test.each(shareOf(acts, 3))('shows act %i alone when asked for it', { timeout: 60_000 }, async (act, shown, left) => {
    const demo = startDemo(['--act', String(act)], redis.operatorUrl);
    expect(await demo.exited, demo.said.err).toBe(0);
    const lines = demo.said.out.split('\n');
    expect(lines).toContainEqual(expect.stringMatching(shown));
    expect(lines.filter((line) => left.test(line))).toEqual([]);
  });

  test('stays up with --keep, tells a program where everything is, and takes all of it with it', { timeout: 90_000 }, async () => {
    const demo = startDemo(['--keep', '--json', '--act', '1', '--seed', '2'], redis.operatorUrl);
    await waitFor('it is up', () => demo.said.out.includes('\n') || demo.child.exitCode !== null, 80_000);
    expect(demo.said.out.trimEnd().split('\n'), demo.said.err).toHaveLength(1);
    const { kubeconfig, metrics, jobs, inspector, digitalocean, redis: redisUrl, operatorPid } = JSON.parse(demo.said.out);
    expect(redisUrl).toBe(redis.operatorUrl);
    expect(existsSync(kubeconfig)).toBe(true);
    expect(isRunning(operatorPid)).toBe(true);
    const urls: readonly string[] = [metrics, jobs, inspector, `${digitalocean}/_control/calls?writes=1`];
    for (const url of urls) expect((await fetch(url)).status, url).toBe(200);
    expect(await (await fetch(metrics)).text()).toContain('flipop_floatingippoolcontroller_ip_state');
    await inspects(inspector);

    demo.child.kill('SIGTERM');
    expect(await demo.exited).toBe(0);
    expect(demo.said.out.trimEnd().split('\n')).toHaveLength(1);
    expect(isRunning(operatorPid)).toBe(false);
    expect(existsSync(kubeconfig)).toBe(false);
    for (const url of urls) await expect(fetch(url), url).rejects.toThrow();
  });

  test('starts the operator again with --watch when one of its sources changes, and its pages stay where they were', {
    timeout: 90_000,
  }, async () => {
    const demo = startDemo(['--watch', '--json', '--act', '1'], redis.operatorUrl);
    await waitFor('it is up', () => demo.said.out.includes('\n') || demo.child.exitCode !== null, 80_000);
    const { log, metrics, operatorPid } = JSON.parse(demo.said.out);
    const began = () => readFileSync(log, 'utf8').match(/"msg":"leads"/g)?.length ?? 0;
    expect(began(), demo.said.err).toBe(1);
    utimesSync(join(import.meta.dirname, '../../machines/address/decisions.ts'), new Date(), new Date());
    await waitFor('another process leads', () => began() === 2, 60_000);
    expect((await fetch(metrics)).status).toBe(200);
    demo.child.kill('SIGTERM');
    expect(await demo.exited).toBe(0);
    expect(isRunning(operatorPid)).toBe(false);
    await expect(fetch(metrics)).rejects.toThrow();
  });

  test('fails with the reason and the last words of the operator when that dies', { timeout: 60_000 }, async () => {
    const demo = startDemo([], redis.operatorUrl);
    process.kill(await operatorOf(demo), 'SIGKILL');
    expect(await demo.exited).toBe(1);
    expect(demo.said.err).toMatch(/FAILED: the operator is ready: no longer possible, since the operator is gone: it was ended by SIGKILL/);
  });

  test('fails with what is missing when a step takes too long', { timeout: 60_000 }, async () => {
    // Nothing listens on port 1.
    const demo = startDemo(['--deadline', '15'], 'redis://127.0.0.1:1');
    const operator = await operatorOf(demo);
    expect(await demo.exited).toBe(1);
    expect(demo.said.err).toContain('FAILED: the operator is ready: not within 15.0 s');
    expect(demo.said.err).toMatch(/readyz says: .*redis/);
    expect(demo.said.err).toContain("The operator's last words:");
    expect(isRunning(operator)).toBe(false);
  });

  test('ends what it has started when it is interrupted in the middle', { timeout: 60_000 }, async () => {
    const demo = startDemo([], redis.operatorUrl);
    const operator = await operatorOf(demo);
    demo.child.kill('SIGINT');
    expect(await demo.exited).toBe(130);
    expect(isRunning(operator)).toBe(false);
    expect(demo.said.err).toContain('ended by SIGINT before the end');
  });

  test.each([
    [['--colour'], 2, '--colour'],
    [[], 2, 'REDIS_URL'],
  ])('started wrongly with %j it exits %d and says why', { timeout: 30_000 }, async (args, code, named) => {
    const demo = startDemo(args, undefined);
    expect(await demo.exited).toBe(code);
    expect(demo.said.err).toContain(named);
    expect(demo.said.out).toBe('');
  });
});
