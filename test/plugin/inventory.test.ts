import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Address, ObservedAddress, ProviderID } from '../../machines/model/types.ts';
import { type AccountFacts, INVENTORY_KEY, type Inventory, inventoryOf } from '../../machines/status/inventory.ts';
import { parsePlugin } from '../../plugin/command-line.ts';
import { inventory } from '../../plugin/inventory.ts';
import { EXIT, type Session } from '../../plugin/ports.ts';
import { NOW, world } from './support.ts';

const PATH = '/api/v1/namespaces/routedip-operator/configmaps/routedip-operator-inventory';
const DAY = 86_400_000;
const NODES = new Map([['digitalocean://1', 'node-a']]);

const observed = (address: string, machine: string | null = null): ObservedAddress => ({
  ...{ address: address as Address, region: 'fra1', locked: false },
  providerID: machine as ProviderID | null,
});
const account = (key: string, addresses: readonly ObservedAddress[], change: Partial<AccountFacts> = {}): AccountFacts => ({
  ...{ key, readAt: NOW - 40_000, problem: null, note: null, addresses },
  ...change,
});
const OWNERS: Readonly<Record<string, string>> = { '203.0.113.20': 'RoutedIP web/shop', '2604:a880::7': 'FloatingIPPool default/ingress' };
const MADE = new Map([
  ['203.0.113.9' as Address, { for: 'RoutedIP web/old', since: NOW - 40 * DAY }],
  ['203.0.113.20' as Address, { for: 'RoutedIP web/shop', since: NOW - 3 * DAY }],
]);
const taken = (accounts: readonly AccountFacts[], at = NOW - 30_000): Inventory =>
  inventoryOf({ at, accounts, ownerOf: (address) => OWNERS[address] ?? null, made: MADE, isSeen: () => true, nodes: NODES });

const OWN = account('digitalocean', [
  observed('203.0.113.20', 'digitalocean://1'),
  observed('203.0.113.9'),
  observed('203.0.113.30', 'digitalocean://1'),
  observed('203.0.113.31', 'digitalocean://99'),
  observed('2604:a880::7'),
]);

/** What the plugin answers to what stands in the cluster. */
async function asked(written: Inventory, more: Partial<Session> = {}, options = { orphans: false }) {
  const binaryData = { [INVENTORY_KEY]: gzipSync(JSON.stringify(written)).toString('base64') };
  const made = world({ [PATH]: { binaryData } }, more);
  const code = await inventory(made.session, options);
  return { code, out: made.out(), problems: made.problems };
}

describe('kubectl routedip inventory', () => {
  test('shows each address, with orphans first, whose it is and what it costs, and sums up the account', async () => {
    const { code, out, problems } = await asked(taken([OWN]));
    expect(out.split('\n')).toEqual([
      'ACCOUNT        ADDRESS        WHERE               WHOSE                               MADE   A MONTH',
      'digitalocean   203.0.113.9    -                   nobody, made for RoutedIP web/old   40d    5.00 USD',
      'digitalocean   203.0.113.30   node-a              nobody, and yet on a node           -      free',
      'digitalocean   203.0.113.31   digitalocean://99   outside this cluster                -      free',
      'digitalocean   203.0.113.20   node-a              RoutedIP web/shop                   3d     free',
      'digitalocean   2604:a880::7   -                   FloatingIPPool default/ingress      -      free',
      '',
      'digitalocean: 5 addresses, 1 orphan that nobody in this cluster claims; 5.00 USD a month. Read 40s ago',
    ]);
    expect([code, problems]).toEqual([EXIT.attention, []]);
  });

  test('shows more with -o wide', async () => {
    const { out } = await asked(taken([OWN]), { output: 'wide' });
    expect(out).toMatch(/^ACCOUNT +ADDRESS +FAMILY +REGION +WHERE +MACHINE +WHOSE +MADE FOR +MADE +A MONTH$/m);
    expect(out).toMatch(
      /^digitalocean +203\.0\.113\.20 +IPv4 +fra1 +node-a +digitalocean:\/\/1 +RoutedIP web\/shop +RoutedIP web\/shop +3d +free$/m,
    );
    expect(out).toMatch(/^digitalocean +2604:a880::7 +IPv6 +fra1 +- +- /m);
  });

  test('says the same as JSON and as YAML', async () => {
    const written = taken([OWN]);
    const wanted = { ...JSON.parse(JSON.stringify(written)), problems: [] };
    expect(JSON.parse((await asked(written, { output: 'json' })).out)).toEqual(wanted);
    const { out } = await asked(written, { output: 'yaml' });
    for (const version of ['1.1', '1.2'] as const) expect(parse(out, { version })).toEqual(wanted);
  });

  test('shows orphans alone when they are asked for, and sums up all the same', async () => {
    const { out } = await asked(taken([OWN]), {}, { orphans: true });
    expect(out.split('\n').filter((line) => line.startsWith('digitalocean '))).toHaveLength(1);
    expect(out).toContain('digitalocean: 5 addresses, 1 orphan that');
  });

  test('ends with 0 where everything is claimed, and for an account that is empty', async () => {
    const claimed = account('digitalocean', [observed('203.0.113.20', 'digitalocean://1')]);
    const full = await asked(taken([claimed]));
    expect([full.code, full.out.split('\n').at(-1)]).toEqual([EXIT.ok, 'digitalocean: 1 address, no orphans; free. Read 40s ago']);
    const { code, out } = await asked(taken([account('digitalocean', [])]));
    expect([code, out]).toEqual([EXIT.ok, 'digitalocean: no addresses. Read 40s ago']);
  });

  test('says of an account that cannot be read what it held and why, and of one that was never read that nothing is known', async () => {
    const held = account('digitalocean', OWN.addresses, { problem: 'list: 401', readAt: NOW - 7_200_000 });
    const never = account('digitalocean@web.token', [], { problem: 'the Secret is not there', readAt: null });
    const ofJobs = account('job.http', [], { note: 'Jobs drive its addresses', readAt: null });
    const { code, out, problems } = await asked(taken([held, never, ofJobs]));
    expect(out).toContain('digitalocean: 5 addresses, 1 orphan that nobody in this cluster claims; 5.00 USD a month. Read 2h ago');
    expect(out).toMatch(/^digitalocean@web.token: not known$/m);
    expect(out).toMatch(/^job.http: not known, since Jobs drive its addresses$/m);
    expect([code, problems]).toEqual([EXIT.attention, ['digitalocean: list: 401', 'digitalocean@web.token: the Secret is not there']]);
  });

  test('says what a provider without a price costs: unknown, and not nothing', async () => {
    const { out } = await asked(taken([account('elsewhere', [observed('203.0.113.40')])]));
    expect(out).toMatch(/^elsewhere +203\.0\.113\.40 +- +nobody +- +unknown$/m);
    expect(out).toContain('elsewhere: 1 address, 1 orphan that nobody in this cluster claims; cost unknown. Read');
  });

  test('says since when no operator has looked', async () => {
    const { code, problems } = await asked(taken([account('digitalocean', [])], NOW - 3 * DAY));
    expect([code, problems]).toEqual([EXIT.attention, ['no operator has looked for 3d: this is what was so then']]);
  });

  test('says what is missing where there is none, and whom to ask who may not read it', async () => {
    const none = world({}, { operatorNamespace: 'elsewhere' });
    await expect(inventory(none.session, { orphans: false })).rejects.toThrow('there is no inventory in namespace elsewhere');
    const refused = world({ [PATH]: 'you may not get configmaps in routedip-operator' });
    await expect(inventory(refused.session, { orphans: false })).rejects.toThrow(
      'you may not get configmaps in routedip-operator. The inventory is of all accounts; what has an address in your namespaces is told by status',
    );
  });

  test('is asked for by its name', () => {
    expect(parsePlugin(['inventory', '--orphans', '-o', 'yaml', '--operator-namespace', 'flipop'], '0')).toMatchObject({
      asked: { command: 'inventory', orphans: true },
      flags: { output: 'yaml', operatorNamespace: 'flipop' },
    });
    expect(parsePlugin(['inventory'], '0')).toMatchObject({ asked: { orphans: false }, flags: { operatorNamespace: 'routedip-operator' } });
  });
});
