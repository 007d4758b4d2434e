import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { redaction } from '../../../adapters/telemetry/redaction.ts';
import type { FaultSpec } from '../../../simulator/digitalocean/faults.ts';
import { DROPLETS, leftIn, recordingIn, run, stage, TOKEN, WRITES, ZONE } from './support.ts';

describe('a state file that is garbage', () => {
  const base = { probe: 1, droplets: DROPLETS, region: 'nyc3', address: null, record: null, rule: null };
  const droplet = '../droplets/81001001';
  test.each<readonly [title: string, state: unknown]>([
    ['JSON of another form', { probe: 2 }],
    ['a list', [1]],
    ['null', null],
    ['no Droplets', { ...base, droplets: [] }],
    ['names in the place of Droplets', { ...base, droplets: ['a', 'b'] }],
    ['a number in the place of an address', { ...base, address: 5 }],
    ['the path of a Droplet in the place of an address', { ...base, address: { made: droplet } }],
    ['a time that is none', { ...base, address: { known: [], askedAt: 'now' } }],
    ['a record that this command does not make', { ...base, record: { zone: ZONE, name: '@' } }],
    ['a record without a zone', { ...base, record: { name: 'routedip-probe-1' } }],
    ['a port that is none', { ...base, rule: { firewall: 'zqfirewall', port: '22' } }],
  ])('is refused: %s', async (_, state) => {
    const set = await stage();
    writeFileSync(set.state, JSON.stringify(Array.isArray(state) || !state ? state : { api: set.simulator.url, ...(state as object) }));
    const { code, problems } = await run(set, { clean: set.state });
    expect([code, set.simulator.calls.all()]).toEqual([1, []]);
    expect(problems).toContain('is no state file of this command');
    expect(leftIn(set)).toEqual([set.state]);
  });
});

test('a firewall that is full gets no rule, and nothing else is made', async () => {
  const set = await stage();
  const inbound_rules = Array.from({ length: 50 }, (_, n) => ({
    protocol: 'tcp',
    ports: `${1000 + n}`,
    sources: { addresses: ['45.55.0.0/16'] },
  }));
  await fetch(`${set.simulator.url}/v2/firewalls`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify({ name: 'zqfull', inbound_rules }),
  });
  set.simulator.calls.clear();
  const { code, out } = await run(set, { ...WRITES, firewall: 'zqfull' });
  expect([code, set.simulator.calls.select({ since: 0, writes: true })]).toEqual([3, []]);
  expect(out.replaceAll(/\s+/g, ' ')).toContain('nothing was made: the firewall zqfull takes no more rules');
});

test('where the file can be written no more, all is taken back all the same', async () => {
  const set = await stage();
  const strike = set.simulator.faults.strike;
  Object.assign(set.simulator.faults, {
    strike: (method: string, path: string) => {
      if (path.endsWith('/records') && method === 'POST') rmSync(set.folder, { recursive: true });
      return strike(method, path);
    },
  });
  const { code, problems } = await run(set, WRITES);
  mkdirSync(set.folder);
  expect([code, leftIn(set)]).toEqual([1, []]);
  expect(problems).toContain('cannot go on: ENOENT');
  expect(problems).toContain('what was made was taken back');
});

describe('an answer of somebody else', () => {
  test.each<readonly [title: string, fault: FaultSpec]>([
    ['a redirect', { kind: 'status', code: 302, headers: { location: 'https://elsewhere.example/v2' }, body: '' }],
    ['a page of HTML', { kind: 'status', code: 200, headers: { 'content-type': 'text/html' }, body: '<html>zq</html>' }],
  ])('%s to every write leaves nothing', async (_, fault) => {
    const set = await stage();
    set.simulator.faults.add({ ...fault, match: { method: 'POST' } } as FaultSpec);
    const { code, out } = await run(set, { ...WRITES, wait: 2000 });
    expect([code, leftIn(set)]).toEqual([3, []]);
    expect(out).not.toContain('zq<');
  });
});

const QUOTED = '"token-of-digits-12345"';

test.each(['abc/1234567/defghijklm+no=', '10.11.12.13/aaaaaaaaaaaaaaaa', 'user@corp.net:0123456789abc', QUOTED, '1234567890123456'])(
  'the token %s, of which a part looks like an id, is told nowhere',
  async (token) => {
    const set = await stage();
    set.simulator.setTokens([token]);
    const message = `bad token ${token}, not ${encodeURIComponent(token)}`;
    set.simulator.faults.add({ kind: 'status', code: 422, body: { id: 'x', message, other: token }, match: { path: 'tags' } });
    set.simulator.faults.add({ kind: 'status', code: 422, body: { id: token, message }, match: { path: 'domains' } });
    const account = { token, userAgent: 'probe', url: set.simulator.url };
    const { hide } = redaction([{ text: token, what: 'token' }]);
    const record = `${set.folder}/recorded`;
    const said = await run(set, { ...WRITES, record, json: true }, { account, hide });
    expect(said.code).toBe(3);
    const { text } = recordingIn(record);
    for (const part of token.split(/[/:"]/).filter(({ length }) => length > 6))
      for (const each of [text, hide(said.out)]) expect(each).not.toContain(part);
  },
);
