import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type KubeClient, kubeClient } from '../../simulator/kubernetes/client.ts';
import { at, type KubeObject } from '../../simulator/kubernetes/objects.ts';
import { findRedis } from '../../tools/redis-find.mjs';
import type { Sample } from '../adapters/telemetry-scrape.ts';
import { findKubectl } from '../support/kubectl.ts';
import { atThreeAm, type Outage, type OutageCondition, outagesOf, samplesOfSeries } from '../support/outages.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { redisClient, without } from '../support/redis-offers.ts';
import { waitFor } from '../support/wait-for.ts';
import { unitTest } from './promtool.ts';

const MAIN = join(import.meta.dirname, '../../demo/main.ts');
const UP_WITHIN_MS = 170_000;
/** What the page promises. */
const SHOWN_WITHIN_MS = 60_000;
/** What waited for longer and longer is tried again in this time. */
const OVER_WITHIN_MS = 120_000;
/** Until it is shown, over, and what was wrong before is. */
const LONG = { timeout: 300_000 };
/** Longer than any alert waits. */
const FIRES_AFTER_MINUTES = 30;

const { groups } = (
  parse(readFileSync(new URL('../../deploy/prometheus/rules.yaml', import.meta.url), 'utf8')) as {
    readonly spec: { readonly groups: readonly object[] };
  }
).spec;

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

const metricsNow = async (): Promise<string> => (await fetch(`${env.OPERATOR}/metrics`)).text();

const objectsOf = (kind: string): Promise<readonly KubeObject[]> => client.list(API_VERSIONS[kind] ?? 'v1', kind);

const says = (object: KubeObject, { type, status, reason }: Omit<OutageCondition, 'kinds'>): boolean =>
  ((at(object, 'status', 'conditions') ?? []) as readonly { readonly [key: string]: unknown }[]).some(
    (each) => each.type === type && each.status === status && each.reason === reason,
  );

/** Those since `began`, ms since the epoch; what is told again and again is counted in one. */
const reasonsSince = async (began: number): Promise<readonly string[]> =>
  (await client.list('events.k8s.io/v1', 'Event'))
    .filter((event) => [at(event, 'eventTime'), at(event, 'series', 'lastObservedTime')].some((time) => Date.parse(String(time)) >= began))
    .map((event) => String(event.reason));

const messagesIn = (log: string): readonly string[] =>
  log
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => String(JSON.parse(line).msg));

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

/** Why the alert does not fire where these samples stay; empty when it does. */
function whySilent(alert: string, samples: readonly Sample[]): string {
  const series = samples.map(({ name, labels, value }) => ({
    series: `${name}{${Object.entries(labels).map(([label, text]) => `${label}=${JSON.stringify(text)}`)}}`,
    values: `${value}x${FIRES_AFTER_MINUTES}`,
  }));
  const expr = `min(count by (alertname) (ALERTS{alertname="${alert}",alertstate="firing"})) > bool 0`;
  const fires = { expr, eval_time: `${FIRES_AFTER_MINUTES}m`, exp_samples: [{ labels: '{}', value: 1 }] };
  return unitTest([{ name: alert, interval: '1m', input_series: series, promql_expr_test: [fires] }], groups);
}

/** Nothing is wrong any more with anything. */
const isOver = async (): Promise<boolean> => {
  const scrape = await metricsNow();
  const isWell = [/^routedip_leader 1$/m, /^routedip_store_away 0$/m].every((line) => line.test(scrape));
  const waits = /^routedip_machines\{chart="vip-service",state="Pending"\} [1-9]/m.test(scrape);
  const objects = [...(await objectsOf('FloatingIPPool')), ...(await objectsOf('RoutedIP'))];
  return (
    isWell &&
    !waits &&
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
}

/** Resolves with the samples of its series once all is shown that its table has. @throws Error with what is not shown in time */
async function shown({ condition, event, messages, series }: Outage, { time, logEnd }: Since): Promise<readonly Sample[]> {
  let samples: readonly Sample[] = [];
  const within = (what: string, holds: () => boolean | Promise<boolean>) => waitFor(what, holds, SHOWN_WITHIN_MS);
  await Promise.all([
    within(`the condition ${condition?.reason}`, async () => {
      const all = await Promise.all(condition?.kinds.map(objectsOf) ?? []);
      return all.every((objects) => objects.some((object) => condition !== null && says(object, condition)));
    }),
    within(`the Event ${event}`, async () => event === null || (await reasonsSince(time)).includes(event)),
    ...messages.map((message) =>
      within(`the log has ${message}`, () => messagesIn(readFileSync(env.LOG ?? '', 'utf8').slice(logEnd)).includes(message)),
    ),
    within(`the series ${series.sample.name}`, async () => {
      samples = samplesOfSeries(await metricsNow(), series);
      return samples.length > 0;
    }),
  ]);
  return samples;
}

const outages = outagesOf(atThreeAm()).filter(({ breaks }) => redisClient !== undefined || !breaks.includes('redis-cli'));

describe(`docs/at-3-am.md, in the demo${without.client}`, () => {
  test('tells of the likely outages', () => expect(outagesOf(atThreeAm()).length).toBeGreaterThanOrEqual(12));

  test.each(outages)(
    '$title: shows within a minute what its table has, lets its alert fire, and is over when it is ended',
    LONG,
    async (outage) => {
      await waitFor('nothing is wrong', isOver, OVER_WITHIN_MS);
      const since: Since = { time: Date.now(), logEnd: readFileSync(env.LOG ?? '', 'utf8').length };
      let samples: readonly Sample[] = [];
      const trial = trying(outage);
      try {
        await trial.isBroken;
        samples = await shown(outage, since);
        console.log(`${outage.title}: all of it after ${((Date.now() - since.time) / 1_000).toFixed(1)} s`);
      } finally {
        await trial.end();
      }
      expect(whySilent(outage.alert, samples)).toBe('');
      await waitFor('nothing is wrong any more', isOver, OVER_WITHIN_MS);
    },
  );
});
