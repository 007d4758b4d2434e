import { describe, expect } from 'vitest';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { node, PROVIDER } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { MINUTE, type RoutedWorld, SECOND } from './world.ts';

const FOREIGN = 'prod-db';
const RULES = ['tcp/22', 'tcp/5432'];
const ADOPTED = '203.0.113.70';
const DELETES = { routedIPReclaimPolicy: 'Delete' };
const OWN = { fromSecretsRef: [{ name: 'token' }] };
const BY_ISSUER = { className: null, issuerRef: { name: 'own' } };

/** What a tenant who may write issuers, RoutedIPs and Services of namespace `web` has; his Secret holds a token of the same account, so that what he does with it is seen there. */
function prepare(world: RoutedWorld, change = {}): ObjectRef {
  world.provider.cloud.addFirewall(FOREIGN, RULES);
  world.setNode(node('a'), node('b'));
  world.setWeb('shop', ['a', 'b']);
  world.address(ADOPTED);
  world.begins = ({ providers }) => {
    const standing = providers.all[PROVIDER];
    if (!standing) return;
    providers.set(`${PROVIDER}@web.token`, { ...standing, provider: standing.provider && { ...standing.provider } });
    providers.set(`${PROVIDER}@web.absent`, { facts: { ...standing.facts, missing: 'Secret web/absent is not there' }, provider: null });
  };
  return setIssuer(world, change);
}

const setIssuer = (world: RoutedWorld, change = {}): ObjectRef =>
  world.cluster.setPolicy({
    kind: 'RoutedIPIssuer',
    namespace: 'web',
    name: 'own',
    spec: { issuerClass: PROVIDER, region: 'nyc3', ...change },
  });

/** He has his RoutedIP say that what others have made is to be deleted with it, and deletes it. */
async function deleteAdopted(world: RoutedWorld, ref: ObjectRef): Promise<void> {
  world.cluster.annotate(ref, { 'routedip.io/delete-adopted': 'true' });
  world.cluster.markDeleting(ref);
  await world.clock.runUntil(() => !world.cluster.pool(ref), 5 * MINUTE);
}

const addresses = (world: RoutedWorld): readonly string[] => world.provider.cloud.addresses().map(({ address }) => address);

describe('an issuer with the credentials of the operator, in a namespace that is open to them', () => {
  test('takes no rule out of a firewall of others', async ({ open }) => {
    const world = open();
    const issuer = prepare(world, { routedIPFirewallName: FOREIGN, firewallExclusive: true });
    world.openNamespace();
    await world.leader();
    const ref = world.setRoutedIP('shop', BY_ISSUER);
    await world.untilReason(ref, 'InvalidSpec');
    expect(world.messageOf(ref)).toContain("RoutedIPIssuer web/own: firewallExclusive is not for issuers with the operator's credentials");
    await world.untilReason(issuer, 'InvalidSpec');
    await world.clock.advance(3 * MINUTE);
    expect(world.firewall(FOREIGN)).toEqual({ ports: RULES, nodes: [] });
    expect(world.changes()).toEqual([]);
  });

  test('adds none either, until a class of its account names that firewall', async ({ open }) => {
    const world = open();
    const issuer = prepare(world, { routedIPFirewallName: FOREIGN });
    world.openNamespace();
    // That of another account says nothing of this one.
    world.setClass({ routedIPFirewallName: FOREIGN, ...OWN }, 'another');
    await world.leader();
    const ref = world.setRoutedIP('shop', BY_ISSUER);
    await world.untilReason(ref, 'InvalidSpec');
    expect(world.messageOf(ref)).toContain('none names "prod-db"');
    await world.clock.advance(MINUTE);
    expect(world.changes()).toEqual([]);
    const naming = world.setClass({ routedIPFirewallName: FOREIGN }, 'naming');
    await world.stable(ref);
    expect(world.firewall(FOREIGN).ports).toEqual([...RULES, 'tcp/8080']);
    await world.untilReason(issuer, 'AsExpected');
    world.cluster.removePolicy(naming);
    await world.untilReason(ref, 'InvalidSpec', 'Degraded');
    await world.untilReason(issuer, 'InvalidSpec');
    const on = String(world.statusOf(ref).assignedNode);
    world.cluster.setNode({ ...node(on), ready: false });
    await world.stable(ref, on === 'a' ? 'b' : 'a', 2 * MINUTE);
    expect(world.firewall(FOREIGN).ports, 'what it has goes on').toEqual([...RULES, 'tcp/8080']);
    await world.untilReason(world.setRoutedIP('second', { ...BY_ISSUER, serviceRef: { serviceName: 'shop' } }), 'InvalidSpec');
  });

  test('deletes no address that was there before, and says that the annotation does nothing', async ({ open }) => {
    const world = open();
    prepare(world, DELETES);
    world.openNamespace();
    await world.leader();
    const ref = world.setRoutedIP('shop', { ...BY_ISSUER, routedIP: ADOPTED });
    await world.stable(ref);
    world.cluster.annotate(ref, { 'routedip.io/delete-adopted': 'true' });
    await world.clock.runUntil(() => world.eventsOf(ref).includes('DeleteAdoptedIgnored'), MINUTE);
    await deleteAdopted(world, ref);
    expect(addresses(world)).toEqual([ADOPTED]);
  });

  test('deletes what was made for its RoutedIPs', async ({ open }) => {
    const world = open();
    prepare(world, DELETES);
    world.openNamespace();
    await world.leader();
    const ref = world.setRoutedIP('shop', BY_ISSUER);
    await world.stable(ref);
    await deleteAdopted(world, ref);
    expect(addresses(world)).toEqual([ADOPTED]);
  });
});

describe('an issuer in a namespace that is not open', () => {
  test('does nothing to a firewall of others', async ({ open }) => {
    const world = open();
    prepare(world, { routedIPFirewallName: FOREIGN, firewallExclusive: true });
    await world.leader();
    const ref = world.setRoutedIP('shop', BY_ISSUER);
    await world.untilReason(ref, 'OperatorCredentialsNotAllowed');
    await world.clock.advance(3 * MINUTE);
    expect(world.firewall(FOREIGN)).toEqual({ ports: RULES, nodes: [] });
  });
});

describe('an address that a class has let a RoutedIP use, and that was there before', () => {
  for (const [what, secret] of [
    ['may not be used', null],
    ['has credentials of its own', 'token'],
    ['has none yet', 'absent'],
  ] as const)
    for (const waits of [0, SECOND, MINUTE])
      test(`is not deleted because the RoutedIP names an issuer that says so and ${what}, ${waits} ms before it is deleted`, async ({
        open,
      }) => {
        const world = open();
        prepare(world, { ...DELETES, ...(secret && { fromSecretsRef: [{ name: secret }] }) });
        world.setClass();
        await world.leader();
        const ref = world.setRoutedIP('shop', { routedIP: ADOPTED });
        await world.stable(ref);
        world.setRoutedIP('shop', { ...BY_ISSUER, routedIP: ADOPTED });
        await world.clock.advance(waits);
        await deleteAdopted(world, ref);
        // Once it is served by it, with a token of the same account, what the issuer says counts.
        const isHis = waits > 0 && secret === 'token';
        expect(addresses(world)).toEqual(isHis ? [] : [ADOPTED]);
      });
});

describe('an issuer with credentials of its own', () => {
  test('may do all of it in its account', async ({ open }) => {
    const world = open();
    prepare(world, { ...OWN, ...DELETES, routedIPFirewallName: FOREIGN, firewallExclusive: true });
    await world.leader();
    const ref = world.setRoutedIP('shop', { ...BY_ISSUER, routedIP: ADOPTED });
    await world.stable(ref);
    expect(world.firewall(FOREIGN).ports).toEqual(['tcp/8080']);
    await deleteAdopted(world, ref);
    expect(addresses(world)).toEqual([]);
  });
});
