import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { ProbeOptions } from '../../../actors/ports/account-probe.ts';
import { findingOf } from '../../../adapters/digitalocean/probe/write.ts';
import type { Address } from '../../../machines/model/types.ts';
import type { FaultSpec } from '../../../simulator/digitalocean/faults.ts';
import { DROPLETS, HELD, leftIn, run, type Stage, stage, TOKEN, WRITES, ZONE } from './support.ts';

const CREATE = { method: 'POST', path: '^/v2/reserved_ips$' };
const ACT = { method: 'POST', path: '/actions$' };
const [FIRST, SECOND] = DROPLETS;
const writesOf = ({ simulator }: Stage) =>
  simulator.calls.select({ since: 0, writes: true }).map(({ method, path }) => `${method} ${path.replaceAll(/\d[\d.]+/g, 'N')}`);

describe('probe --write', () => {
  test('creates, assigns, moves and unassigns an address, makes a record and a rule, and takes all back', async () => {
    const set = await stage();
    const { code, report } = await run(set, { ...WRITES, json: true });
    expect([code, leftIn(set)]).toEqual([0, []]);
    const steps = report().steps ?? [];
    expect(steps.map(({ step, answered }) => [step, answered])).toEqual([
      ['create an address', '202'],
      ['assign to the first', '201'],
      ['move to the second', '201'],
      ['create a DNS record', '201'],
      ['add a firewall rule', '204'],
      ['unassign', '201'],
      ['remove the rule', '204'],
      ['delete the record', '204'],
      ['delete the address', '204'],
    ]);
    expect(steps.filter(({ action }) => action.length > 0).map(({ action }) => action.at(-1))).toEqual([
      'completed',
      'completed',
      'completed',
    ]);
    for (const { acceptedMs, shownMs } of steps) expect([acceptedMs, shownMs]).toEqual([expect.any(Number), expect.any(Number)]);
    const [made] = set.simulator.state.deletedIPs;
    expect(set.simulator.state.history(made?.ip ?? '').map(({ dropletId }) => dropletId)).toEqual([null, FIRST, SECOND, null]);
    expect(set.simulator.state.reservedIPs.get(HELD)?.dropletId).not.toBeNull();
  });

  test('notes each thing before it is sent, in a file that nobody else may read', async () => {
    const set = await stage();
    const noted: string[] = [];
    const sent = set.simulator.faults.strike;
    Object.assign(set.simulator.faults, {
      strike: (method: string, path: string) => {
        if (method === 'POST') noted.push(readFileSync(set.state, 'utf8'));
        return sent(method, path);
      },
    });
    expect((await run(set, WRITES)).code).toBe(0);
    const [create, assign, , record, rule] = noted.map((text) => JSON.parse(text) as Record<string, unknown>);
    expect(create).toMatchObject({ region: 'nyc3', address: { known: [HELD], askedAt: expect.any(Number) }, record: null, rule: null });
    expect(assign).toMatchObject({ address: { made: expect.any(String) }, record: null });
    expect(record).toMatchObject({ record: { zone: ZONE, name: expect.stringMatching(/^routedip-probe-[0-9a-f]{8}$/) }, rule: null });
    expect(rule).toMatchObject({ rule: { port: expect.any(Number) } });
    expect(noted.join()).not.toContain(TOKEN);
  });

  test('without a firewall leaves that step out, and says so', async () => {
    const set = await stage();
    const { firewall: _, ...others } = WRITES;
    const { code, out } = await run(set, others);
    expect([code, leftIn(set)]).toEqual([0, []]);
    expect(out).toContain('the firewall rule, since no --firewall is named');
    expect(writesOf(set).filter((each) => each.includes('firewalls'))).toEqual([]);
  });

  test.each<readonly [answer: boolean | null, code: number]>([
    [true, 0],
    [false, 1],
    [null, 2],
  ])('asked for without --yes, and answered %s, ends with %i', async (answer, expected) => {
    const set = await stage();
    const { code, problems } = await run(set, { ...WRITES, yes: false }, { confirm: answer === null ? null : async () => answer });
    expect([code, set.simulator.calls.all().length > 0]).toEqual([expected, answer === true]);
    for (const told of [
      `assigned to ${FIRST}, moved to ${SECOND}`,
      `in the zone ${ZONE}`,
      '5 USD a month',
      'zqfirewall',
      `--clean ${set.state}`,
    ])
      expect(problems).toContain(told);
    expect(problems.split('\n').filter((line) => line.length > 80 && !line.includes('--clean'))).toEqual([]);
  });

  test('makes nothing while a file of a former run is there', async () => {
    const set = await stage();
    writeFileSync(set.state, 'of a former run');
    const { code, problems } = await run(set, WRITES);
    expect([code, set.simulator.calls.all()]).toEqual([1, []]);
    expect(problems).toContain('take back what stands in it by --clean');
    expect(readFileSync(set.state, 'utf8')).toBe('of a former run');
  });

  test('makes nothing when such a file comes while a person thinks', async () => {
    const set = await stage();
    const confirm = async () => {
      writeFileSync(set.state, 'of another run');
      return true;
    };
    expect((await run(set, { ...WRITES, yes: false }, { confirm })).code).toBe(1);
    expect([writesOf(set), readFileSync(set.state, 'utf8')]).toEqual([[], 'of another run']);
  });

  test('makes nothing where the file cannot be written', async () => {
    const set = await stage();
    const { code, problems } = await run({ ...set, state: `${set.folder}/none/state.json` }, WRITES);
    expect([code, writesOf(set)]).toEqual([1, []]);
    expect(problems).toContain('no such file or directory');
  });
});

const nothing = () => undefined;

describe('probe --write makes nothing, and says why,', () => {
  test.each<readonly [title: string, change: Partial<ProbeOptions>, says: string, spoil: (set: Stage) => unknown]>([
    ['for a Droplet that is not there', { droplets: [FIRST, 5] }, 'read /droplets/5: 404', nothing],
    [
      'for Droplets of two regions',
      { droplets: [FIRST, 6] },
      'the Droplets are in nyc3 and ams3',
      ({ simulator }) => simulator.addDroplet({ id: 6, name: 'x', region: 'ams3' }),
    ],
    ['for a Droplet that holds an address', { droplets: [FIRST, 81_001_003] }, 'Droplet 81001003 holds a reserved IP', nothing],
    ['for a zone that is not there', { zone: 'zqnone.net' }, 'list the DNS records of zqnone.net: 404', nothing],
    ['for a firewall that is not there', { firewall: 'zqnone' }, 'there is no firewall zqnone', nothing],
    ['for a firewall of the cloud controller', { firewall: 'k8s-public-access-1' }, 'there is no firewall k8s-public-access-1', nothing],
    [
      'where the quota is reached',
      {},
      'the account has all 1 addresses that it may have',
      ({ simulator }) => simulator.setReservedIPQuota(1),
    ],
  ])('%s', async (_, change, says, spoil) => {
    const set = await stage();
    spoil(set);
    const { code, out } = await run(set, { ...WRITES, ...change });
    expect([code, writesOf(set), existsSync(set.state)]).toEqual([3, [], false]);
    expect(out.replaceAll(/\s+/g, ' ')).toContain(`nothing was made: ${says}`);
  });
});

describe('a step that fails', () => {
  test.each<readonly [title: string, fault: FaultSpec, trouble: RegExp]>([
    ['a creation that the quota refuses', { kind: 'quota' }, /create an address: .*422.*limit for your account/],
    [
      'a creation that the server fails after it took effect',
      { kind: 'resetAfter', match: CREATE, times: 1 },
      /create an address: .*no answer/,
    ],
    ['a creation that the server fails before', { kind: 'resetBefore', match: CREATE, times: 1 }, /create an address: .*no answer/],
    ['a creation that a proxy answers', { kind: 'status', code: 502, body: '<html></html>', match: CREATE }, /create an address: .*502/],
    ['an assignment that ends in an error', { kind: 'actionErrored', times: 1 }, /assign to the first: its action ended in an error/],
    ['an unassignment that ends in an error', { kind: 'actionErrored', after: 2, times: 1 }, /unassign: its action ended in an error/],
    ['a move that is refused', { kind: 'status', code: 422, after: 1, times: 1, match: ACT }, /move to the second: .*422/],
    [
      'an action of an unknown status',
      { kind: 'actionStatus', status: 'archived' },
      /its action says archived, which the adapter does not know/,
    ],
    ['a record that is refused', { kind: 'status', code: 403, match: { method: 'POST', path: '/records$' } }, /create a DNS record: .*403/],
    [
      'a rule that the server fails',
      { kind: 'status', code: 500, match: { method: 'POST', path: '/rules$' } },
      /add a firewall rule: .*500/,
    ],
    [
      'a record that is deleted late',
      { kind: 'status', code: 503, times: 2, match: { method: 'DELETE', path: '/records/' } },
      /delete the record: answered 503 \(2 times\), 204/,
    ],
    [
      'an address that is deleted late',
      { kind: 'status', code: 503, times: 1, match: { method: 'DELETE', path: 'reserved_ips' } },
      /delete the address: answered 503, 204/,
    ],
  ])('%s is told, and nothing is left', async (_, fault, trouble) => {
    const set = await stage();
    set.simulator.faults.add(fault);
    const { code, out } = await run(set, { ...WRITES, wait: 5000 });
    expect([code, leftIn(set)]).toEqual([3, []]);
    expect(out.replaceAll(/\s+/g, ' ')).toMatch(trouble);
  });

  test('a creation that is refused is not looked for', async () => {
    const set = await stage();
    set.simulator.faults.add({ kind: 'quota' });
    await run(set, WRITES);
    expect(set.simulator.calls.all().at(-1)).toMatchObject({ method: 'POST', path: '/v2/reserved_ips' });
  });

  test('a creation of unknown outcome that lists show late is found all the same', async () => {
    const set = await stage();
    set.simulator.faults.add({ kind: 'resetAfter', match: CREATE, times: 1 });
    set.simulator.faults.add({ kind: 'staleReads', ms: 300, match: { path: 'reserved_ips[?].*per_page=200' } });
    const { code } = await run(set, { ...WRITES, wait: 8000 });
    expect([code, set.simulator.state.deletedIPs.length, leftIn(set)]).toEqual([3, 1, []]);
  });

  test('of which nothing can be taken back leaves the file, by which it is taken back later', async () => {
    const set = await stage();
    set.simulator.faults.add({ kind: 'status', code: 503, match: { method: 'DELETE' } });
    const { code, out } = await run(set, { ...WRITES, wait: 1000 });
    expect(code).toBe(3);
    const told = out.replaceAll(/\s+/g, ' ');
    expect(told).toMatch(
      /Still there - the rule for TCP \d+ in the firewall .* - the record routedip-probe-\w+ in the zone .* - the address: /,
    );
    expect(told).toMatch(/remove the rule 503 \(\d+ times\) - \d+ ms FAILED/);
    expect(leftIn(set)).toHaveLength(4);
    expect(statSync(set.state).mode & 0o777).toBe(0o600);
    set.simulator.faults.clear();
    const later = await run(set, { clean: set.state });
    expect([later.code, leftIn(set)]).toEqual([0, []]);
  });
});

test('an interruption takes back what was made, and ends with 1', async () => {
  const set = await stage();
  const isStopping = () => writesOf(set).length > 2;
  const { code, problems } = await run(set, WRITES, { isStopping });
  expect([code, leftIn(set)]).toEqual([1, []]);
  expect(problems).toContain('cannot go on: it was interrupted\nwhat was made was taken back');
  expect(writesOf(set)).not.toContain(`POST /v2/domains/${ZONE}/records`);
});

describe('probe --clean', () => {
  const base = { probe: 1, droplets: DROPLETS, region: 'nyc3', address: null, record: null, rule: null };
  const cleaned = async (set: Stage, state: object) => {
    writeFileSync(set.state, JSON.stringify({ ...base, api: set.simulator.url, ...state }));
    return run(set, { clean: set.state, wait: 500 });
  };

  test('leaves an address alone that somebody has put elsewhere', async () => {
    const set = await stage();
    const other = set.simulator.addDroplet({ name: 'zqother', region: 'nyc3' });
    const { ip } = set.simulator.addReservedIP({ region: 'nyc3', dropletId: other.id });
    const { code, out } = await cleaned(set, { address: { made: ip } });
    expect([code, writesOf(set)]).toEqual([3, []]);
    expect(out.replaceAll(/\s+/g, ' ')).toContain(`${ip} is on digitalocean://${other.id}, where this command has not put it`);
    expect(existsSync(set.state)).toBe(true);
  });

  test('takes an address off the Droplet that it was put on', async () => {
    const set = await stage();
    const { ip } = set.simulator.addReservedIP({ region: 'nyc3', dropletId: SECOND });
    expect((await cleaned(set, { address: { made: ip } })).code).toBe(0);
    expect(leftIn(set)).toEqual([]);
  });

  test('has nothing to do for what is gone', async () => {
    const set = await stage();
    const gone = {
      address: { made: '203.0.113.77' },
      record: { zone: 'zqgone.net', name: 'routedip-probe-0' },
      rule: { firewall: '11111111-2222-4333-8444-555555555555', port: 50_000 },
    };
    expect((await cleaned(set, gone)).code).toBe(0);
    expect([writesOf(set), leftIn(set)]).toEqual([[], []]);
  });

  test('deletes none of two addresses that may be the one, and says which', async () => {
    const set = await stage();
    const askedAt = Date.now();
    const made = [0, 1].map(() =>
      fetch(`${set.simulator.url}/v2/reserved_ips`, {
        method: 'POST',
        headers: { authorization: `Bearer ${TOKEN}` },
        body: '{"region":"nyc3"}',
      }),
    );
    await Promise.all(made);
    set.simulator.calls.clear();
    const { code, out } = await cleaned(set, { address: { known: [HELD], askedAt } });
    const both = leftIn(set).slice(0, 2);
    expect([code, writesOf(set), both.length]).toEqual([3, [], 2]);
    expect(out.replaceAll(/\s+/g, ' ')).toContain(`${both.join(' or ')} may have been made by this command, or by somebody else`);
    expect(existsSync(set.state)).toBe(true);
  });

  test('deletes no address of another time, although it is the only new one', async () => {
    const set = await stage();
    await fetch(`${set.simulator.url}/v2/reserved_ips`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}` },
      body: '{"region":"nyc3"}',
    });
    const { code } = await cleaned(set, { address: { known: [HELD], askedAt: Date.now() - 3_600_000 } });
    expect([code, leftIn(set).length]).toEqual([0, 1]);
  });

  test.each<readonly [title: string, content: string | object, says: string]>([
    ['of another API', { ...base, api: 'https://api.example.com' }, 'is about https://api.example.com'],
    ['of another account', { ...base, droplets: [5, 6] }, 'is about the Droplets 5 and 6, and neither is in the account of this token'],
    ['that is none', 'words', 'is no state file of this command'],
    ['that is not there', '', 'no such file'],
  ])('refuses a file %s', async (_, content, says) => {
    const set = await stage();
    const text = typeof content === 'string' ? content : JSON.stringify({ api: set.simulator.url, ...content });
    if (text !== '') writeFileSync(set.state, text);
    const { code, problems } = await run(set, { clean: set.state });
    expect([code, writesOf(set)]).toEqual([1, []]);
    expect(problems).toContain(says);
  });

  test('takes an empty file away: nothing had been made', async () => {
    const set = await stage();
    writeFileSync(set.state, '');
    writeFileSync(`${set.state}.new`, '{"prob');
    expect((await run(set, { clean: set.state })).code).toBe(0);
    expect(leftIn(set)).toEqual([]);
  });
});

describe('a creation of unknown outcome', () => {
  const [a, b] = ['203.0.113.1', '203.0.113.2'] as Address[] as [Address, Address];

  test.each<readonly [title: string, reserved: readonly (readonly [Address, number | null])[], finding: object]>([
    ['nothing new', [], { addresses: [], isSure: false }],
    ['one of that time', [[a, 101_000]], { addresses: [a], isSure: true }],
    ['one of that second, by a clock that cuts it', [[a, 99_000]], { addresses: [a], isSure: true }],
    ['one from before', [[a, 90_000]], { addresses: [], isSure: false }],
    ['one from after', [[a, 170_000]], { addresses: [], isSure: false }],
    ['one from long after it was given up', [[a, 150_000]], { addresses: [a], isSure: false }],
    ['one of a time that nobody tells', [[a, null]], { addresses: [a], isSure: false }],
    [
      'one of that time, and one of another',
      [
        [a, 101_000],
        [b, 1000],
      ],
      { addresses: [a], isSure: true },
    ],
    [
      'two of that time',
      [
        [a, 101_000],
        [b, 102_000],
      ],
      { addresses: [a, b], isSure: false },
    ],
    [
      'one of that time, and one that may be',
      [
        [a, 101_000],
        [b, null],
      ],
      { addresses: [a, b], isSure: false },
    ],
  ])('is told by what is there: %s', (_, reserved, finding) => {
    expect(findingOf(100_000, new Map(reserved))).toEqual(finding);
    expect(findingOf(100_000, new Map(reserved.toReversed()))).toEqual(finding);
  });
});
