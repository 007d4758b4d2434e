import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Recording } from '../../adapters/digitalocean/probe/recording.ts';
import { createDigitalOceanProvider } from '../../adapters/digitalocean/provider.ts';
import { playedBy, Replaying, troubleOf } from '../support/replaying.ts';
import { serving } from '../support/serving.ts';
import { recordingBudget, recordingLog, secret } from './digitalocean/support.ts';

const FOLDER = join(import.meta.dirname, '../recorded-exchanges');
const files = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
const recordingOf = (file: string): Recording => JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Recording;

/** The adapter, exchange by exchange: what it does otherwise than it should, and by which verbs it came to them. */
async function replayed(recording: Recording) {
  const server = new Replaying(recording);
  const url = await serving(server.answer);
  const troubles: string[] = [];
  const verbs = new Set<string>();
  for (const [index, exchange] of recording.exchanges.entries()) {
    const played = playedBy(exchange);
    if (played === null) continue;
    server.at = index;
    verbs.add(played.verb);
    // One that has learned nothing of what was answered before.
    const provider = createDigitalOceanProvider({ token: secret, url, budget: recordingBudget(), log: recordingLog() });
    onTestFinished(() => provider.close());
    const trouble = await troubleOf(played, provider, exchange);
    if (trouble !== null) troubles.push(`${index}: ${trouble}`);
  }
  return { troubles: [...troubles, ...server.unknown], verbs: [...verbs].sort() };
}

describe('what an API has answered', () => {
  test.each(files)('in %s, the adapter reads as it should', async (file) => {
    const { troubles, verbs } = await replayed(recordingOf(file));
    expect(troubles).toEqual([]);
    expect(verbs.length).toBeGreaterThan(2);
  });

  test('in simulator.json, goes through every verb that writes or reads one thing', async () => {
    const { verbs } = await replayed(recordingOf('simulator.json'));
    const firewall = ['addRoutedIPFirewallPort', 'deleteRoutedIPFirewallPort', 'findRoutedIPFirewall'];
    const address = ['actionState', 'assignRoutedIP', 'createRoutedIP', 'deleteRoutedIP', 'findRoutedIP', 'listRoutedIPs'];
    expect(verbs).toEqual([...address, ...firewall, 'createDNSRecord', 'deleteDNSRecord', 'listDNSRecords', 'findNode'].sort());
  });

  const recording = recordingOf('simulator.json');
  const changed = (path: RegExp, change: (answer: string) => string, status?: number): Recording => ({
    ...recording,
    exchanges: recording.exchanges.map((each) =>
      path.test(`${each.method} ${each.path}`)
        ? { ...each, status: status ?? each.status, answer: JSON.parse(change(JSON.stringify(each.answer ?? null))) }
        : each,
    ),
  });

  test.each<readonly [title: string, recording: Recording, says: RegExp]>([
    [
      'an address without a region',
      changed(/GET .*reserved_ips\/[\d.]+$/, (answer) => answer.replaceAll('"slug"', '"sludge"')),
      /findRoutedIP.*readable region/,
    ],
    [
      'a list that says another total',
      changed(/GET .*reserved_ips\?/, (answer) => answer.replace(/"total":\d+/, '"total":9')),
      /listRoutedIPs.*of 9 were shown/,
    ],
    [
      'an action of another status',
      changed(/GET .*actions\/\d+$/, (answer) => answer.replace(/"status":"[a-z-]+"/, '"status":"archived"')),
      /actionState.*it is unknown/,
    ],
    [
      'an answer that is gone',
      { ...recording, exchanges: recording.exchanges.filter(({ path }) => !/firewalls\/[0-9a-f-]+$/.test(path)) },
      /GET \/v2\/firewalls/,
    ],
  ])('would be found out: %s', async (_, spoilt, says) => {
    expect((await replayed(spoilt)).troubles.join('\n')).toMatch(says);
  });

  test('may be a refusal, as long as the adapter takes it for that', async () => {
    const refused = changed(/POST .*records$/, () => '{"id":"unprocessable_entity","message":"Data is invalid."}', 422);
    expect((await replayed(refused)).troubles).toEqual([]);
  });
});
