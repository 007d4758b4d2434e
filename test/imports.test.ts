import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { importViolations, purityViolations } from './support/conventions.ts';
import { filesOf } from './support/files.ts';
import { ROOMS, ruleFor } from './support/import-table.ts';
import { factsOf } from './support/source-facts.ts';

const ROOT = join(import.meta.dirname, '..');
const LINES = 400;

const sources = filesOf(ROOT).filter(({ path }) => /\.(ts|mts|mjs|js)$/.test(path));

/** Between rooms of the folder: file, what it imports, and the rooms of both. */
function importsBetween(folder: string) {
  const roomOf = (path: string): string =>
    path.slice(folder.length + 1).includes('/') ? (path.slice(folder.length + 1).split('/')[0] ?? '.') : '.';
  return sources
    .filter(({ path }) => path.startsWith(`${folder}/`))
    .flatMap(({ path, text }) => {
      const imported = factsOf(text).imports.filter((specifier) => specifier.startsWith('.'));
      return [...new Set(imported.map((specifier) => normalize(join(dirname(path), specifier))))].map((to) => ({ path, to }));
    })
    .filter(({ to }) => to.startsWith(`${folder}/`))
    .map(({ path, to }) => ({ path, to, from: roomOf(path), into: roomOf(to) }))
    .filter(({ from, into }) => from !== into);
}

describe.each(Object.entries(ROOMS))('the rooms of %s', (folder, rooms) => {
  const all = importsBetween(folder);

  test('import only those that the table lets them', () => {
    const wrong = all.filter((each) => !rooms[each.from]?.includes(each.into));
    expect(wrong.map(({ path, to, from, into }) => `${path} imports ${to}: ${folder}/${from} may not import ${folder}/${into}`)).toEqual(
      [],
    );
  });

  test('are imported by all that the table says', () => {
    const said = Object.entries(rooms).flatMap(([from, allowed]) => allowed.map((into) => `${from} → ${into}`));
    const used = new Set(all.map(({ from, into }) => `${from} → ${into}`));
    expect(said.filter((arrow) => !used.has(arrow))).toEqual([]);
  });

  test('stand in no circle but with what only brings them together', () => {
    const order: string[] = [];
    const names = Object.keys(rooms).filter((name) => name !== '.');
    while (order.length < names.length) {
      const next = names.find((name) => !order.includes(name) && rooms[name]?.every((each) => each === '.' || order.includes(each)));
      if (next === undefined) break;
      order.push(next);
    }
    expect(order.toSorted()).toEqual(names.toSorted());
  });
});

describe('the import table', () => {
  test('is checked on every folder that the architecture names, and sees their imports', () => {
    const folders = new Set(sources.map(({ path }) => path.split('/')[0]));
    for (const folder of ['composition', 'machines', 'actors', 'adapters', 'simulator', 'tools', 'test']) expect(folders).toContain(folder);
    const imports = sources.flatMap(({ text }) => factsOf(text).imports);
    expect(imports).toContain('xstate');
    expect(imports.filter((specifier) => specifier.startsWith('.')).length).toBeGreaterThan(50);
  });

  test('holds', () => {
    expect(sources.flatMap(({ path, text }) => importViolations(path, text))).toEqual([]);
  });

  // Each row is a file that must be refused: a rule that catches nothing would otherwise go unseen.
  test.each([
    ['machines/address/address.machine.ts', "import { after } from '../../actors/ports/records.ts'"],
    ['machines/address/address.machine.ts', "import { createHash } from 'node:crypto'"],
    ['machines/address/address.machine.ts', "import { createHash } from 'crypto'"],
    ['machines/address/address.machine.ts', "import parse from 'ipaddr.js'"],
    ['machines/pool/assignment.ts', "import { assign } from 'xstate'"],
    ['machines/pool/assignment.ts', "import { assign } from 'xstate/actions'"],
    ['machines/pool/assignment.ts', "import type { IpMachine } from '../address/address.machine.ts'"],
    ['machines/pool/assignment.ts', "import { isEqual } from 'lodash'"],
    ['actors/runtime/cell.ts', "import { store } from '../../adapters/redis/store.ts'"],
    ['actors/runtime/cell.ts', "import type { Queue } from 'bullmq'"],
    ['actors/runtime/cell.ts', "type Queue = import('bullmq').Queue"],
    ['actors/jobs/assign.ts', "const { Redis } = await import('ioredis')"],
    ['actors/jobs/assign.ts', "export { KubeConfig } from '@kubernetes/client-node'"],
    ['actors/jobs/assign.ts', 'const name = "./x.ts"; await import(name)'],
    ['adapters/redis/store.ts', "import { Queue } from 'bullmq'"],
    ['adapters/redis/store.ts', "import { keep } from '../memory/store.ts'"],
    ['adapters/cloudflare/records.ts', "import { addressVerbs } from '../digitalocean/addresses.ts'"],
    ['adapters/redis/store.ts', "import { exchange } from '../http/exchange.ts'"],
    ['adapters/redis/store.ts', "import { listen } from '../listener/listen.ts'"],
    ['adapters/listener/listen.ts', "import { accessTo } from '../telemetry/access.ts'"],
    ['adapters/http/exchange.ts', "import { dnsVerbs } from '../cloudflare/records.ts'"],
    ['adapters/http/exchange.ts', "import axios from 'axios'"],
    ['adapters/redis/store.ts', "import { cell } from '../../actors/runtime/cell.ts'"],
    ['adapters/redis/store.ts', "import { elect } from '../../machines/pool/assignment.ts'"],
    ['adapters/redis/store.ts', "import { ip } from '../../machines/address/address.machine.ts'"],
    ['adapters/telemetry/logs.ts', "import axios from 'axios'"],
    ['crds/generated/pool.ts', "import { Address } from '../../machines/model/types.ts'"],
    ['simulator/kubernetes/api.ts', "import { match } from '../../machines/model/matching.ts'"],
    ['simulator/kubernetes/api.ts', "import { retry } from '../../adapters/kubernetes/retry.ts'"],
    ['demo/main.ts', "import { cell } from '../actors/runtime/cell.ts'"],
    ['demo/main.ts', "import { main } from '../main.ts'"],
    ['demo/main.ts', "import { startRedis } from '../tools/redis.mjs'"],
    ['tools/generate-types.ts', "import { cell } from '../actors/runtime/cell.ts'"],
    ['tools/generate-types.ts', "import { createMachine } from 'xstate'"],
    ['tools/generate-diagram.ts', "import { cell } from '../actors/runtime/cell.ts'"],
    ['tools/generate-architecture.ts', "import { importViolations } from '../test/support/conventions.ts'"],
    ['dashboard/page.js', "import { elect } from '../machines/pool/assignment.ts'"],
    ['bin/routedip-operator.mjs', "import { main } from '../main.ts'"],
    ['test/e2e/run.ts', "import { main } from '../../main.ts'"],
    ['bench/main.ts', "import { main } from '../main.ts'"],
    ['test/e2e/run.ts', "import { registry } from '../../composition/providers.ts'"],
    ['bench/world.ts', "import { registry } from '../composition/providers.ts'"],
    ['adapters/cli/options.ts', "import { settingsOf } from '../../composition/settings.ts'"],
    ['actors/leadership/leader.ts', "import { registry } from '../../composition/providers.ts'"],
    ['main.ts', "import { main } from './main.ts'"],
    ['composition/signals.ts', "import { main } from '../main.ts'"],
  ])('refuses in %s: %s', (path, text) => {
    const violations = importViolations(path, text);
    expect(violations).toHaveLength(1);
    expect(violations[0]).toContain(path);
    expect(violations[0]).toContain(ruleFor(path)?.name);
    expect(violations[0]).toContain(ruleFor(path)?.instead);
  });

  test('refuses a file in a folder that the architecture does not know', () => {
    expect(importViolations('utils/strings.ts', '')).toEqual([expect.stringContaining('no rule of test/support/import-table.ts')]);
    expect(importViolations('index.ts', '')).toHaveLength(1);
  });

  test.each([
    ['machines/address/address.machine.ts', "import { setup } from 'xstate'; import type { Address } from './types.ts'"],
    ['machines/model/address.ts', "import ipaddr from 'ipaddr.js'"],
    ['actors/runtime/step.ts', "import { transition } from 'xstate'; import { ip } from '../machines/address/address.machine.ts'"],
    [
      'adapters/redis/store.ts',
      "import { Redis } from 'ioredis'; import type { Store } from '../../actors/ports/records.ts'; import { key } from './key.ts'",
    ],
    ['adapters/digitalocean/gaps.ts', "import axios from 'axios'; import { exchange } from '../http/exchange.ts'"],
    ['adapters/journal/server.ts', "import { listen } from '../listener/listen.ts'"],
    ['adapters/http/exchange.ts', "import { request } from 'node:http'; import { ProviderError } from '../../actors/ports/errors.ts'"],
    ['main.ts', "import { store } from './adapters/redis/store.ts'; import { settingsOf } from './composition/settings.ts'"],
    ['composition/redis.ts', "import { store } from '../adapters/redis/store.ts'; import { StoppedEarly } from './redis-prefix.ts'"],
  ])('allows in %s: %s', (path, text) => {
    expect(importViolations(path, text)).toEqual([]);
  });
});

describe('machines and actors', () => {
  test('take no clock, timer, chance, output or surroundings but by argument or port', () => {
    expect(sources.flatMap(({ path, text }) => purityViolations(path, text))).toEqual([]);
  });

  test.each([
    ['machines/pool/assignment.ts', 'export const now = () => Date.now()'],
    ['machines/pool/assignment.ts', 'export const now = () => new Date()'],
    ['machines/pool/assignment.ts', 'export const dice = Math.random'],
    ['machines/pool/assignment.ts', 'const { random } = Math; export const dice = random'],
    ['machines/pool/assignment.ts', "export const dice = Math['random']()"],
    ['machines/pool/assignment.ts', 'console.log(1)'],
    ['machines/pool/assignment.ts', 'export const home = process.env.HOME'],
    ['machines/pool/assignment.ts', 'export const elect = async () => 1'],
    ['actors/runtime/mailbox.ts', 'setTimeout(() => {}, 5)'],
    ['actors/runtime/mailbox.ts', 'const later = setInterval; later(() => {}, 5)'],
    ['actors/runtime/mailbox.ts', 'export const at = performance.now()'],
    ['actors/runtime/mailbox.ts', 'globalThis.setTimeout(() => {}, 5)'],
    ['actors/runtime/mailbox.ts', 'export const id = crypto.randomUUID()'],
  ])('%s is refused with: %s', (path, text) => {
    expect(purityViolations(path, text)).toEqual([expect.stringContaining(path)]);
  });

  test.each([
    ['machines/pool/assignment.ts', 'export const later = (now: number) => new Date(now + 5).toISOString() + Math.max(1, 2)'],
    ['actors/runtime/mailbox.ts', 'export const run = async (process: () => Promise<void>) => { await process() }'],
    ['actors/ports/records.ts', 'export interface Timers { setTimeout(ms: number): void }'],
    ['adapters/system/clock.ts', 'export const now = () => Date.now()'],
  ])('%s is accepted with: %s', (path, text) => {
    expect(purityViolations(path, text)).toEqual([]);
  });
});

test(`no source file is longer than ${LINES} lines`, () => {
  expect(sources.length).toBeGreaterThan(50);
  const long = sources.map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 })).filter(({ lines }) => lines > LINES);
  expect(long.filter(({ path }) => !path.includes('/generated/'))).toEqual([]);
});
