import { beforeEach, describe, expect, test } from 'vitest';
import { Withheld } from '../../actors/ports/errors.ts';
import type { Call, Provider } from '../../actors/ports/provider.ts';
import { virtualClock } from '../../adapters/memory/clock.ts';
import { type MemoryProvider, memoryProvider } from '../../adapters/memory/provider.ts';
import { byName, shadowOf } from '../../adapters/shadow/provider.ts';
import type { Address, Difference, Port, ProviderID } from '../../machines/model/types.ts';

const CALL: Call = { purpose: 'verify' };
const [ONE, TWO] = ['198.51.100.1', '198.51.100.2'] as [Address, Address];
const [A, B, C] = ['memory://a', 'memory://b', 'memory://c'] as [ProviderID, ProviderID, ProviderID];
const HTTPS: Port = { port: 443, protocol: 'TCP' };
const DNS: Port = { port: 53, protocol: 'UDP' };

let real: MemoryProvider;
let provider: Provider;
let changes: () => readonly Difference[];

beforeEach(() => {
  real = memoryProvider(virtualClock());
  for (const node of [A, B, C]) real.cloud.addNodeIn('nyc3', node);
  real.cloud.addAddress(ONE, 'nyc3', A);
  real.cloud.addAddress(TWO, 'nyc3', null);
  real.cloud.addFirewall('edge', ['tcp/80', 'tcp/22'], [A], { otherRules: 1 });
  real.cloud.addZone('example.com', 'id-1');
  ({ provider, changes } = shadowOf(real));
});

const holder = async (address: Address) => (await provider.findRoutedIP(address, CALL)).providerID;
const listed = async () =>
  Object.fromEntries((await provider.listRoutedIPs({ ...CALL, family: 4 })).map((each) => [each.address, each.providerID]));

describe('a provider that is only read', () => {
  test('shows addresses where they would be, and says from where to where', async () => {
    expect(await provider.assignRoutedIP(ONE, B, CALL)).toBeNull();
    await provider.assignRoutedIP(TWO, C, CALL);
    expect([await holder(ONE), await holder(TWO), await listed()]).toEqual([B, C, { [ONE]: B, [TWO]: C }]);
    const moves = [
      { what: 'move', subject: ONE, from: A, to: B },
      { what: 'assign', subject: TWO, from: null, to: C },
    ];
    expect(changes()).toEqual(moves);
    await provider.assignRoutedIP(ONE, C, CALL);
    expect(changes()[0]).toEqual({ what: 'move', subject: ONE, from: A, to: C });
    await provider.assignRoutedIP(ONE, A, CALL);
    expect([await holder(ONE), changes()]).toEqual([A, moves.slice(1)]);
    expect(real.writes()).toEqual([]);
  });

  test('holds back nothing any more once somebody else has done it, or something else', async () => {
    await provider.assignRoutedIP(ONE, B, CALL);
    await provider.assignRoutedIP(TWO, B, CALL);
    real.cloud.moveByHand(ONE, C);
    real.cloud.moveByHand(TWO, B);
    expect([await holder(ONE), (await listed())[TWO], changes()]).toEqual([C, B, []]);
  });

  test('forgets an address that is gone', async () => {
    await provider.assignRoutedIP(TWO, B, CALL);
    real.cloud.removeByHand(TWO);
    expect([await listed(), changes()]).toEqual([{ [ONE]: A }, []]);
  });

  test.each([
    ['makes', () => provider.createRoutedIP('nyc3', CALL), { what: 'create', subject: 'a new address', from: null, to: 'nyc3' }],
    ['deletes', () => provider.deleteRoutedIP(TWO, CALL), { what: 'delete', subject: TWO, from: null, to: null }],
    ['detaches', () => provider.unassignRoutedIP(ONE, CALL), { what: 'leave', subject: ONE, from: null, to: null }],
  ])('%s no address, and says so', async (_, call, difference) => {
    const refused = call();
    await expect(refused).rejects.toBeInstanceOf(Withheld);
    await expect(refused).rejects.toMatchObject({ unknownOutcome: false, difference });
    expect(real.writes()).toEqual([]);
  });

  test('shows firewalls as they would be, as far as nobody else has seen to it', async () => {
    await provider.addRoutedIPFirewallPort('edge', [HTTPS, DNS], CALL);
    await provider.deleteRoutedIPFirewallPort('edge', [{ port: 80, protocol: 'TCP' }], CALL);
    await provider.addRoutedIPFirewallNode('edge', [B], CALL);
    await provider.deleteRoutedIPFirewallNode('edge', [A], CALL);
    const before = await real.findRoutedIPFirewall('edge', CALL);
    const after = await provider.findRoutedIPFirewall('edge', CALL);
    expect(after).toEqual({ ...before, ports: ['tcp/22', 'tcp/443', 'udp/53'], nodes: [B], freeRules: (before?.freeRules ?? 0) - 1 });
    expect(await provider.listRoutedIPFirewalls(['edge'], CALL)).toEqual([after]);
    expect(changes()).toEqual([
      { what: 'close', subject: 'tcp/80', from: 'firewall edge', to: null },
      { what: 'open', subject: 'tcp/443', from: null, to: 'firewall edge' },
      { what: 'open', subject: 'udp/53', from: null, to: 'firewall edge' },
      { what: 'close', subject: A, from: 'firewall edge', to: null },
      { what: 'open', subject: B, from: null, to: 'firewall edge' },
    ]);
    expect(real.writes()).toEqual([]);
    await real.addRoutedIPFirewallPort('edge', [HTTPS], CALL);
    await real.deleteRoutedIPFirewallNode('edge', [A], CALL);
    await provider.deleteRoutedIPFirewallPort('edge', [DNS], CALL);
    await provider.findRoutedIPFirewall('edge', CALL);
    expect(changes().map(({ what, subject }) => `${what} ${subject}`)).toEqual(['close tcp/80', `open ${B}`]);
  });

  test('shows zones as they would be, as far as nobody else has seen to it', async () => {
    const record = { type: 'A', name: 'www', data: ONE, ttlSeconds: 60, proxied: false };
    const add = (data: string) => real.createDNSRecord('example.com', { ...record, data }, CALL);
    for (const data of ['192.0.2.1', '192.0.2.2', '192.0.2.3']) await add(data);
    const records = async (of = provider) => (await of.listDNSRecords('example.com', CALL)).records;
    const data = async () => (await records()).map((each) => each.data).sort();
    const [first, second, third] = await records();
    const before = real.writes().length;
    await provider.updateDNSRecord('example.com', { ...record, id: first?.id ?? '', data: ONE }, CALL);
    await provider.deleteDNSRecord('example.com', second?.id ?? '', CALL);
    await provider.createDNSRecord('example.com', { ...record, name: '@', data: TWO }, CALL);
    expect(await data()).toEqual(['192.0.2.3', ONE, TWO].sort());
    const www = { subject: 'A www.example.com' };
    expect(changes()).toEqual([
      { what: 'withdraw', ...www, from: '192.0.2.1', to: null },
      { what: 'withdraw', ...www, from: '192.0.2.2', to: null },
      { what: 'publish', ...www, from: null, to: ONE },
      { what: 'publish', subject: 'A example.com', from: null, to: TWO },
    ]);
    expect(real.writes()).toHaveLength(before);

    await add(ONE);
    await real.deleteDNSRecord('example.com', second?.id ?? '', CALL);
    await real.updateDNSRecord('example.com', { ...record, id: first?.id ?? '', data: '192.0.2.9' }, CALL);
    expect(await data()).toEqual([third?.data, '192.0.2.9', ONE, TWO].sort());
    expect(changes()).toEqual([{ what: 'publish', subject: 'A example.com', from: null, to: TWO }]);
  });

  test('a record that would be made and is not wanted any more is held back no longer', async () => {
    await provider.createDNSRecord('example.com', { type: 'A', name: 'www', data: ONE, ttlSeconds: 60, proxied: false }, CALL);
    const [made] = (await provider.listDNSRecords('example.com', CALL)).records;
    await provider.deleteDNSRecord('example.com', made?.id ?? '', CALL);
    expect([(await provider.listDNSRecords('example.com', CALL)).records, changes()]).toEqual([[], []]);
  });
});

test('what is planned goes by the names of nodes, of which a new one has no machine yet', () => {
  const inWords = byName([
    { name: 'a', providerID: A },
    { name: 'new', providerID: '' },
  ]);
  expect(inWords({ what: 'assign', subject: TWO, from: null, to: A })).toEqual({ what: 'assign', subject: TWO, from: null, to: 'a' });
  expect(inWords({ what: 'move', subject: ONE, from: A, to: B })).toEqual({ what: 'move', subject: ONE, from: 'a', to: B });
});
