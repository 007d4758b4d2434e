import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type KubeClient, kubeClient } from '../../simulator/kubernetes/client.ts';
import { at, type JsonObject, type KubeObject } from '../../simulator/kubernetes/objects.ts';
import { findRedis } from '../../tools/redis-find.mjs';
import { findKubectl } from '../support/kubectl.ts';
import { atThreeAm, type Outage, type OutageCondition, type OutageLine, outagesOf, samplesOfSeries } from '../support/outages.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { redisClient, without } from '../support/redis-offers.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Scrape, whySilent } from './outage-alerts.ts';

const MAIN = join(import.meta.dirname, '../../demo/main.ts');
const UP_WITHIN_MS = 170_000;
/** What the page promises. */
const SHOWN_WITHIN_MS = 60_000;
/** What waited for longer and longer is tried again in this time. */
const OVER_WITHIN_MS = 120_000;
/** Until it is shown, over, and what was wrong before is. */
const LONG = { timeout: 300_000 };
const API_VERSIONS: Readonly<Record<string, string>> = {
  FloatingIPPool: 'flipop.digitalocean.com/v1alpha1',
  RoutedIP: 'routedip.io/v1alpha1',
  ClusterRoutedIPClass: 'routedip.io/v1alpha1',
  IPGroup: 'paas.org/v1',
};

let folder: string;
let redis: TestRedis;
let demo: ChildProcess;
let env: Readonly<Record<string, string>>;
let client: KubeClient;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'at-3-am-'));
  redis = await startTestRedis();
  demo = spawn(process.execPath, [MAIN, '--keep', '--json', '--deadline', '60'], {
    env: { ...process.env, REDIS_URL: redis.operatorUrl },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  demo.stdout?.on('data', (data) => {
    said += data;
  });
  await waitFor('the demo is up', () => said.endsWith('\n') || demo.exitCode !== null, UP_WITHIN_MS);
  const { kubeconfig, metrics, kubernetes, digitalocean, log } = JSON.parse(said);
  // As Debian has it: with its libraries.
  if (redisClient !== undefined) {
    const libraries = findRedis().env.LD_LIBRARY_PATH ?? '';
    const script = `#!/bin/sh\nLD_LIBRARY_PATH='${libraries}' exec '${redisClient}' "$@"\n`;
    writeFileSync(join(folder, 'redis-cli'), script, { mode: 0o755 });
  }
  env = {
    KUBECONFIG: kubeconfig,
    API: kubernetes,
    CLOUD: digitalocean,
    OPERATOR: metrics.replace('/metrics', ''),
    REDIS: redis.url,
    LOG: log,
    HOME: folder,
    PATH: `${folder}:${dirname(findKubectl())}:${process.env.PATH}`,
  };
  client = kubeClient({ url: kubernetes });
}, UP_WITHIN_MS + 10_000);

afterAll(async () => {
  client?.close();
  if (demo && demo.exitCode === null) {
    const ended = new Promise((resolve) => demo.once('close', resolve));
    demo.kill('SIGTERM');
    await ended;
  }
  await redis?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const scrape = async (): Promise<Scrape> => ({ time: Date.now(), text: await (await fetch(`${env.OPERATOR}/metrics`)).text() });

const objectsOf = (kind: string): Promise<readonly KubeObject[]> => client.list(API_VERSIONS[kind] ?? 'v1', kind);

/** As the log names it. */
const nameOf = (kind: unknown, { namespace, name }: { readonly namespace?: unknown; readonly name?: unknown }): string =>
  `${kind} ${namespace ? `${namespace}/${name}` : name}`;

const says = (object: KubeObject, { type, status, reason }: Omit<OutageCondition, 'kinds'>): boolean =>
  ((at(object, 'status', 'conditions') ?? []) as readonly { readonly [key: string]: unknown }[]).some(
    (each) => each.type === type && each.status === status && each.reason === reason,
  );

/** All of those that the section names. */
async function allSay({ condition, objects }: Outage): Promise<boolean> {
  const named = (await Promise.all(condition?.kinds.map(objectsOf) ?? []))
    .flat()
    .filter((object) => objects.includes(nameOf(object.kind, object.metadata)));
  const wanted = objects.filter((object) => condition?.kinds.includes(object.split(' ')[0] ?? ''));
  return named.length === wanted.length && named.every((object) => condition !== null && says(object, condition));
}

/** Those about the objects since `began`, ms since the epoch; what is told again and again is counted in one. */
const reasonsSince = async (began: number, objects: readonly string[]): Promise<readonly string[]> =>
  (await client.list('events.k8s.io/v1', 'Event'))
    .filter((event) => [at(event, 'eventTime'), at(event, 'series', 'lastObservedTime')].some((time) => Date.parse(String(time)) >= began))
    .filter(({ regarding }) => objects.includes(nameOf(at(regarding, 'kind'), regarding as JsonObject)))
    .map((event) => String(event.reason));

interface LogLine {
  readonly msg: string;
  readonly [key: string]: unknown;
}

const linesIn = (log: string): readonly LogLine[] =>
  log
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as LogLine);

/** Of what works for several objects at once: the token, a zone, a firewall. */
const SHARED = /^(verify|zone|firewall)\//;

/** The line is about an object of the section, and says what the section says. */
function isTold(line: LogLine, { message, reason }: OutageLine, { objects, condition, events }: Outage): boolean {
  const { msg, object, actor } = line;
  if (msg !== message) return false;
  const reasons: readonly unknown[] = reason === null ? [condition?.reason, ...events] : [reason];
  if (line.reason !== undefined && !reasons.includes(line.reason)) return false;
  if (object !== undefined) return objects.includes(String(object));
  const isOurs = objects.some((each) => `${actor}/`.includes(`/${each.split(' ')[1]}/`));
  return actor === undefined || isOurs || SHARED.test(String(actor));
}

/** Both blocks are typed into one shell, the second one when asked for. */
function trying({ breaks, ends }: Outage) {
  const shell = spawn('bash', ['-e', '-o', 'pipefail', '-c', `${breaks}\nprintf "\\nbroken\\n"\nread -r\n${ends}`], { env, cwd: folder });
  let output = '';
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (data) => (output += data));
  const code = new Promise<number | null>((resolve) => shell.once('close', resolve));
  const isBroken = new Promise<void>((resolve, reject) => {
    createInterface({ input: shell.stdout }).on('line', (line) => line === 'broken' && resolve());
    void code.then((ended) => reject(new Error(`ended with ${ended}: ${output}`)));
  });
  isBroken.catch(() => undefined);
  return {
    isBroken,
    end: async () => {
      shell.stdin.end('\n');
      expect(await code, output).toBe(0);
    },
  };
}

const SERVED = [/^routedip_leader 1$/m, /^routedip_store_away 0$/m];
const UNSERVED = [
  /^routedip_machines\{chart="vip-service",state="Pending"\} [1-9]/m,
  /^routedip_objects_unserved\{.*\} [1-9]/m,
  /^routedip_providers_unread\{.*\} [1-9]/m,
  /^routedip_orphaned_addresses\{.*\} [1-9]/m,
  /^routedip_provider_budget_left\{.*\} 0$/m,
];

/** Nothing is wrong any more with anything. */
const isOver = async (): Promise<boolean> => {
  const { text } = await scrape();
  const objects = [...(await objectsOf('FloatingIPPool')), ...(await objectsOf('RoutedIP'))];
  return (
    SERVED.every((line) => line.test(text)) &&
    !UNSERVED.some((line) => line.test(text)) &&
    objects.every((object) => says(object, { type: 'Degraded', status: 'False', reason: 'AsExpected' }) && isReady(object))
  );
};

const isReady = (object: KubeObject): boolean =>
  ['AllActive', 'Assigned'].some((reason) => says(object, { type: 'Ready', status: 'True', reason }));

interface Since {
  /** Ms since the epoch. */
  readonly time: number;
  /** Where the log ended then. */
  readonly logEnd: number;
  readonly scraped: Scrape;
}

const logNow = (): string => readFileSync(env.LOG ?? '', 'utf8');

/** Resolves with what is scraped once all is shown that its table has. @throws Error with what is not shown in time */
async function shown(outage: Outage, { time, logEnd, scraped }: Since): Promise<Scrape> {
  const { condition, events, lines, objects, series } = outage;
  const within = (what: string, holds: () => boolean | Promise<boolean>) => waitFor(what, holds, SHOWN_WITHIN_MS);
  await Promise.all([
    within(`the condition ${condition?.reason}`, async () => condition === null || allSay(outage)),
    ...events.map((event) => within(`the Event ${event}`, async () => (await reasonsSince(time, objects)).includes(event))),
    ...lines.map((line) =>
      within(`the log has ${line.message}, with the reason ${line.reason ?? condition?.reason ?? events}`, () =>
        linesIn(logNow().slice(logEnd)).some((each) => isTold(each, line, outage)),
      ),
    ),
    within(`the series ${series.sample.name}`, async () => samplesOfSeries((await scrape()).text, series, scraped.text).length > 0),
  ]);
  return scrape();
}

/** The API server may be cut off, or answer that it cannot. */
const alsoAs503 = (outage: Outage): readonly Outage[] =>
  outage.breaks.includes('{"mode":"reset"}')
    ? [outage, { ...outage, title: `${outage.title} (503)`, breaks: outage.breaks.replace('reset', '503') }]
    : [outage];

const outages = outagesOf(atThreeAm())
  .filter(({ breaks }) => redisClient !== undefined || !breaks.includes('redis-cli'))
  .flatMap(alsoAs503);

describe(`docs/at-3-am.md, in the demo${without.client}`, () => {
  test('tells of the likely outages', () => expect(outagesOf(atThreeAm()).length).toBeGreaterThanOrEqual(19));

  test.each(outages)(
    '$title: shows within a minute what its table has, lets its alerts fire, and is over when it is ended',
    LONG,
    async (outage) => {
      await waitFor('nothing is wrong', isOver, OVER_WITHIN_MS);
      const scraped = await scrape();
      const since: Since = { time: Date.now(), logEnd: logNow().length, scraped };
      if (outage.series.relation !== 'grows') expect(samplesOfSeries(scraped.text, outage.series, '')).toEqual([]);
      let last = scraped;
      const trial = trying(outage);
      try {
        await trial.isBroken;
        last = await shown(outage, since);
        console.log(`${outage.title}: all of it after ${((Date.now() - since.time) / 1_000).toFixed(1)} s`);
      } finally {
        await trial.end();
      }
      expect(whySilent(outage.alerts, scraped, last)).toBe('');
      await waitFor('nothing is wrong any more', isOver, OVER_WITHIN_MS);
    },
  );
});
