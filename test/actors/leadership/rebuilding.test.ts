import { describe, expect, test } from 'vitest';
import { charts } from '../../../actors/controllers/chart-registry.ts';
import { type RebuildPorts, rebuilt } from '../../../actors/leadership/restored-pool.ts';
import type { ActorRecord, Json } from '../../../actors/ports/records.ts';
import { DEFAULT_SETTINGS } from '../../../actors/ports/settings.ts';
import { EXAMPLE } from '../../../actors/runtime/charts.ts';
import { begin, unfit } from '../../../actors/runtime/step.ts';
import { virtualClock } from '../../../adapters/memory/clock.ts';

const ALL = charts(DEFAULT_SETTINGS, () => 1);
const FIREWALL = 'firewall/digitalocean/edge';
const POOL = 'pool/default/web';
const ROUTED = 'rip/web/shop';

const record = (chart: string, value: Json, context: { readonly [field: string]: Json }): ActorRecord => ({
  chart,
  chartVersion: 7,
  snapshot: { value, context },
  waiting: {},
  version: 3,
  term: 2,
});

const ports = (isGone: boolean): RebuildPorts => ({
  charts: ALL,
  clock: virtualClock(),
  pools: { all: new Map(), providerOf: () => '', createsBy: () => null },
  providers: { all: {} },
  settings: DEFAULT_SETTINGS,
  isGone: () => isGone,
});

const contextOf = (made: ActorRecord | null) => made?.snapshot.context as unknown as Readonly<Record<string, unknown>>;

describe('what is rebuilt of records that cannot be read', () => {
  test('is, of a firewall, what was added to it, which may be under way still', () => {
    const owned = { ports: ['tcp/80'], nodes: ['digitalocean://1'] };
    const made = rebuilt(FIREWALL, { [FIREWALL]: record('firewall', 'Somewhere', { owned }) }, 2, ports(false));
    expect(contextOf(made)).toMatchObject({ owned, doubt: { of: 'open' } });
    expect(made && unfit(ALL.firewall as never, made.snapshot)).toBeNull();
  });

  test('is, of a firewall, what is claimed there beside what statuses tell: it is kept, and nothing is opened for it', () => {
    const ref = { kind: 'RoutedIP', namespace: 'web', name: 'shop', uid: 'u' };
    const owned = { ports: ['tcp/80', 'tcp/443'], nodes: ['digitalocean://1'] };
    const claim = (id: string, port: string) => ({
      nodes: [{ name: id, providerID: `digitalocean://${id}` }],
      ports: [port],
      isOpen: true,
    });
    const claims = { [`${ROUTED}/ip/203.0.113.1`]: claim('2', 'tcp/443'), 'rip/web/untold/ip/203.0.113.2': claim('3', 'tcp/443') };
    const ownedRules = [{ firewall: 'edge', provider: 'digitalocean', ports: [{ port: 80, protocol: 'TCP' }], nodes: owned.nodes }];
    const status = { routedIP: '203.0.113.1', ownedRules };
    const all = new Map([[ROUTED, { ref, createdAt: 0, generation: 1, spec: {}, status, deleting: false }]]);
    const known = { ...ports(false), pools: { all, providerOf: () => 'here', createsBy: () => null } };
    const kept = contextOf(rebuilt(FIREWALL, { [FIREWALL]: record('firewall', 'Idle', { owned, claims }) }, 2, known)).claims;
    const on = (...ids: string[]) => ids.map((id) => ({ providerID: `digitalocean://${id}`, onlyKept: true }));
    expect(kept).toMatchObject({
      [`${ROUTED}/ip/203.0.113.1`]: { nodes: on('1', '2'), ports: ['tcp/443', 'tcp/80'], isOpen: false },
      'rip/web/untold/ip/203.0.113.2': { nodes: on('3'), ports: ['tcp/443'], isOpen: false },
    });
  });

  test('is, of a RoutedIP, the address that it has got, and of which firewalls something is claimed: of one that is gone, so that it is given back', () => {
    const ref = { kind: 'RoutedIP', namespace: 'web', name: 'shop', uid: 'u' };
    const [begun, untold] = ['203.0.113.1', '203.0.113.2'];
    const remembered = { [untold]: { epoch: 2, inDoubtUntil: null, claimed: [FIREWALL] } };
    const records = {
      [ROUTED]: record('pool', 'Serving', { ref, members: { [begun]: {} }, remembered, exposed: { bound: begun } }),
      [`${ROUTED}/ip/${begun}`]: record('ip', 'Stable', { address: begun, epoch: 4, inDoubtUntil: null, claimed: [FIREWALL] }),
    };
    const other = 'firewall/digitalocean/other';
    const status: Json = { routedIP: begun, epoch: 4, term: 9, ownedRules: [{ firewall: 'other', provider: 'digitalocean' }] };
    const of = (told: Json) => {
      const all = new Map([[ROUTED, { ref, createdAt: 0, generation: 1, spec: {}, status: told, deleting: false }]]);
      const known = { ...ports(false), pools: { all, providerOf: () => 'here', createsBy: () => null } };
      return contextOf(rebuilt(ROUTED, records, 2, known));
    };
    const claims = { [begun]: { claimed: [FIREWALL] }, [untold]: { claimed: [FIREWALL] } };
    expect(of(status)).toMatchObject({ remembered: { ...claims, [begun]: { epoch: 4, claimed: [other, FIREWALL] } } });
    expect(of({})).toMatchObject({ remembered: claims, exposed: { bound: begun } });
    expect(contextOf(rebuilt(ROUTED, records, 2, ports(true))).remembered).toMatchObject(claims);
  });

  test('is, of a pool whose object is gone, the addresses that it had and the creation that it had begun', () => {
    const intent = { knownAddresses: ['203.0.113.7'], listedAt: 5, region: 'nyc3' };
    const context = {
      ref: { kind: 'FloatingIPPool', namespace: 'default', name: 'web', uid: 'u' },
      left: ['203.0.113.8'],
      acquiring: { intent },
    };
    const records = { [POOL]: record('pool', 'Elsewhere', context) };
    const made = rebuilt(POOL, records, 2, ports(true));
    expect(contextOf(made)).toMatchObject({ acquiring: { intent }, remembered: { '203.0.113.8': {} } });
    expect(made && unfit(ALL.pool as never, made.snapshot)).toBeNull();
    expect(rebuilt(POOL, records, 2, ports(false))).toBeNull();
  });

  test('is, of a RoutedIP, where its creation was begun, also when that account cannot be read', () => {
    const ref = { kind: 'RoutedIP', namespace: 'web', name: 'shop', uid: 'u' };
    const intent = { knownAddresses: ['203.0.113.7'], listedAt: 5000, region: 'nyc3' };
    const context = { ref, spec: { provider: 'here' }, acquiring: { intent, by: { provider: 'there' } } };
    const of = (providers: Readonly<Record<string, unknown>>, status: Json) => {
      const object = { ref, createdAt: 0, generation: 1, spec: {}, status, deleting: false };
      const all = new Map([[ROUTED, object]]);
      const known = { ...ports(false), pools: { all, providerOf: () => 'here', createsBy: () => null }, providers: { all: providers } };
      return contextOf(rebuilt(ROUTED, { [ROUTED]: record('pool', 'Elsewhere', context) }, 2, known));
    };
    const pendingCreate = (startedAt: number) => ({
      pendingCreate: { ...intent, startedAt: new Date(startedAt).toISOString() },
    });
    expect(of({ here: {}, there: {} }, {})).toMatchObject({ acquiring: { intent, by: { provider: 'there' } } });
    expect(of({ here: {}, there: {} }, pendingCreate(5000))).toMatchObject({ acquiring: { by: { provider: 'there' } } });
    expect(of({ here: {}, there: {} }, pendingCreate(9000)).acquiring).not.toHaveProperty('by');
    expect(of({ here: {} }, {})).toMatchObject({ acquiring: { intent, by: { provider: 'there' } } });
  });

  test('is no creation of which a status with a term tells nothing any more', () => {
    const ref = { kind: 'RoutedIP', namespace: 'web', name: 'shop', uid: 'u' };
    const intent = { knownAddresses: ['203.0.113.7'], listedAt: 5000, region: 'nyc3' };
    const of = (status: Json) => {
      const all = new Map([[ROUTED, { ref, createdAt: 0, generation: 1, spec: {}, status, deleting: false }]]);
      const known = { ...ports(false), pools: { all, providerOf: () => 'here', createsBy: () => null } };
      return contextOf(rebuilt(ROUTED, { [ROUTED]: record('pool', 'Elsewhere', { ref, acquiring: { intent } }) }, 2, known));
    };
    expect([of({ state: 'Waiting' }), of({ term: 1 })]).toMatchObject([{ acquiring: { intent } }, { acquiring: { intent: null } }]);
  });

  test('is, of a RoutedIP that somebody has let go, the creation that it had begun, and where', () => {
    const ref = { kind: 'RoutedIP', namespace: 'web', name: 'shop', uid: 'u' };
    const intent = { knownAddresses: ['203.0.113.7'], listedAt: 5000, region: 'nyc3' };
    const records = { [ROUTED]: record('pool', 'Elsewhere', { ref, spec: { provider: 'there' }, acquiring: { intent } }) };
    const of = (isGone: boolean) => rebuilt(ROUTED, records, 2, { ...ports(isGone), providers: { all: { there: {} } } });
    expect(contextOf(of(true))).toMatchObject({ provider: 'there', acquiring: { intent, by: { provider: 'there' } } });
    expect(of(false)).toBeNull();
  });

  test('is nothing of a pool of which it is not known which object it stood for, and no intent that is none', () => {
    const of = (context: { readonly [field: string]: Json }) =>
      rebuilt(POOL, { [POOL]: record('pool', 'Elsewhere', context) }, 2, ports(true));
    expect(of({})).toBeNull();
    const ref = { kind: 'FloatingIPPool', namespace: 'default', name: 'web', uid: 'u' };
    expect(contextOf(of({ ref, acquiring: { intent: { knownAddresses: 'all' } } }))).toMatchObject({ acquiring: { intent: null } });
  });
});

test.each(Object.values(ALL))('what $name begins with can be gone on with once it was stored', (chart) => {
  const { snapshot } = begin(chart, chart.example ?? EXAMPLE);
  const stored = JSON.parse(JSON.stringify(snapshot)) as typeof snapshot;
  expect([chart.example === undefined, unfit(chart, stored)]).toEqual([false, null]);
  expect(unfit(chart, { ...stored, context: {} })).toMatch(/^cannot go on with /);
});
