import { describe, expect } from 'vitest';
import { ProviderError } from '../../../actors/ports/errors.ts';
import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { node, PROVIDER } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { MINUTE, type RoutedWorld, SECOND, service } from './world.ts';

const NODES = ['a', 'b', 'c'];
const TENANT = 'tenant';

/** Nodes, a class, and in another namespace an issuer with a token of its own. What it assigns is refused with that error, where one is given; else its token is of the same account. */
function prepare(world: RoutedWorld, error?: ProviderError): void {
  world.setNode(...NODES.map((name, index) => node(name, { createdAt: index + 1 })));
  world.setClass();
  world.cluster.setPolicy({
    kind: 'RoutedIPIssuer',
    namespace: TENANT,
    name: 'own',
    spec: { issuerClass: PROVIDER, region: 'nyc3', taintEffect: 'NoSchedule', fromSecretsRef: [{ name: 'token' }] },
  });
  world.begins = ({ providers }) => {
    const standing = providers.all[PROVIDER];
    if (!standing?.provider) return;
    const refused = error ? { assignRoutedIP: () => Promise.reject(error) } : {};
    providers.set(`${PROVIDER}@${TENANT}.token`, { ...standing, provider: { ...standing.provider, ...refused } });
  };
}

/** From the next process on the provider refuses the tenant's token, as long as that holds. */
function refuseLists(world: RoutedWorld, isRefused = () => true): void {
  const began = world.begins;
  world.begins = (process) => {
    began?.(process);
    const key = `${PROVIDER}@${TENANT}.token`;
    const standing = process.providers.all[key];
    const { provider } = standing ?? {};
    if (!standing || !provider) return;
    const listRoutedIPs: typeof provider.listRoutedIPs = (call) =>
      isRefused() ? Promise.reject(new ProviderError('Unauthorized', 'token: refused')) : provider.listRoutedIPs(call);
    process.providers.set(key, { ...standing, provider: { ...provider, listRoutedIPs } });
  };
}

/** One of the tenant's, on that node alone. */
function setTenants(world: RoutedWorld, on: string, address: string): ObjectRef {
  world.address(address);
  world.cluster.setService(TENANT, on, service([on]));
  const spec = { issuerRef: { name: 'own' }, serviceRef: { serviceName: on }, routedIP: address };
  return world.cluster.setPool({ kind: 'RoutedIP', namespace: TENANT, name: on, spec });
}

const addressOn = (name: string): Address => `198.51.100.${NODES.indexOf(name) + 1}` as Address;

describe.each(['Unauthorized', 'Unavailable', 'Invalid', 'NotFound'] as const)('an issuer whose every assign is refused (%s)', (kind) => {
  test('keeps no class, no pool and no Pods off a node', async ({ open }) => {
    const world = open();
    prepare(world, new ProviderError(kind, 'no such droplet'));
    await world.leader();
    for (const name of NODES) setTenants(world, name, addressOn(name));
    await world.clock.advance(MINUTE);
    world.setWeb('shop', NODES);
    await world.stable(world.setRoutedIP('shop'), 'c', SECOND);
    world.address('203.0.113.70');
    const spec = { provider: PROVIDER, region: 'nyc3', match: { nodeLabel: 'pool=work' }, ips: ['203.0.113.70'] };
    world.cluster.setPool({ namespace: 'web', name: 'ingress', spec });
    await world.clock.runUntil(() => world.holderOf('203.0.113.70') !== null, SECOND);
    world.cluster.setNode({ ...node('c', { createdAt: 3 }), ready: false });
    await world.stable(world.setRoutedIP('shop'), undefined, SECOND);
    await world.clock.advance(10 * MINUTE);
    expect(Object.values(world.cluster.holders())).not.toContain('NoSchedule');
  });
});

test('an issuer that was stored with NoSchedule has nodes bear the softer taint, and an Event says so', async ({ open }) => {
  const world = open();
  prepare(world);
  await world.leader();
  const ref = setTenants(world, 'a', addressOn('a'));
  await world.stable(ref, 'a');
  expect(world.eventsOf(ref)).toContain('TaintEffectSoftened');
  expect(world.cluster.holders()).toEqual({ a: 'PreferNoSchedule' });
});

describe('with a token of the same account', () => {
  test('an address of an issuer keeps its node: the provider refuses it to a class, which takes another one', async ({ open }) => {
    const world = open();
    prepare(world);
    await world.leader();
    await world.stable(setTenants(world, 'c', addressOn('c')), 'c');
    world.setWeb('shop', NODES);
    await world.stable(world.setRoutedIP('shop'), 'b');
    expect(world.holderOf(addressOn('c'))).toBe('c');
  });

  test('an issuer takes no node from an address of a class', async ({ open }) => {
    const world = open();
    prepare(world);
    await world.leader();
    world.setWeb('shop', ['c']);
    const ref = world.setRoutedIP('shop');
    await world.stable(ref, 'c');
    const theirs = setTenants(world, 'c', addressOn('c'));
    await world.clock.advance(10 * MINUTE);
    expect([world.statusOf(ref).assignedNode, world.statusOf(theirs).assignedNode]).toEqual(['c', undefined]);
  });
});

test('RoutedIPs of one namespace’s issuers take different nodes, without asking the provider for the same one twice', async ({ open }) => {
  const world = open();
  prepare(world);
  world.cluster.setService(TENANT, 'shop', service(NODES));
  await world.leader();
  const refs = NODES.map((name) => {
    world.address(addressOn(name));
    const spec = { issuerRef: { name: 'own' }, serviceRef: { serviceName: 'shop' }, routedIP: addressOn(name) };
    return world.cluster.setPool({ kind: 'RoutedIP', namespace: TENANT, name, spec });
  });
  for (const ref of refs) await world.stable(ref);
  expect(refs.map((ref) => world.statusOf(ref).assignedNode).sort()).toEqual(NODES);
  expect(world.provider.writes().filter(({ result }) => result !== 'ok')).toEqual([]);
});

test('a node that holds nothing any more loses its mark, although the token of an issuer is refused', async ({ open }) => {
  const world = open();
  prepare(world);
  refuseLists(world);
  setTenants(world, 'a', addressOn('a'));
  await world.leader();
  world.setWeb('shop', ['b', 'c']);
  const ref = world.setRoutedIP('shop');
  await world.stable(ref, 'c');
  world.cluster.setNode({ ...node('c', { createdAt: 3 }), ready: false });
  await world.stable(ref, 'b', MINUTE);
  await world.clock.runUntil(() => !Object.hasOwn(world.cluster.holders(), 'c'), MINUTE);
});

describe('a node that is to be evacuated', () => {
  test('waits for no address of an issuer whose token is refused to say where it is', async ({ open }) => {
    const world = open();
    prepare(world);
    refuseLists(world);
    setTenants(world, 'c', addressOn('c'));
    world.cluster.setNode(node('c', { createdAt: 3, evacuating: true }));
    await world.leader();
    await world.clock.runUntil(() => world.cluster.evacuations().c?.status === 'True', MINUTE);
  });

  test('waits for one that the status shows there until it has said so, or is elsewhere', async ({ open }) => {
    const world = open();
    prepare(world);
    const first = await world.leader();
    const ref = setTenants(world, 'c', addressOn('c'));
    await world.stable(ref, 'c');
    first.kill();
    world.store.wipe();
    world.invariants.forget();
    let isRefused = true;
    refuseLists(world, () => isRefused);
    world.cluster.setNode(node('c', { createdAt: 3, evacuating: true }));
    await world.leader();
    await world.clock.advance(MINUTE);
    expect(world.cluster.evacuations().c?.status).toBe('Unknown');
    isRefused = false;
    await world.clock.runUntil(() => world.cluster.evacuations().c?.status === 'False', 5 * MINUTE);
  });
});
