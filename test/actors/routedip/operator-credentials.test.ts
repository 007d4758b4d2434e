import { describe, expect } from 'vitest';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { node, PROVIDER } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { MINUTE, type RoutedWorld } from './world.ts';

const NOT_ALLOWED = 'OperatorCredentialsNotAllowed';
const KEY = `${PROVIDER}@web.token`;
const BY_ISSUER = { className: null, issuerRef: { name: 'own' } };
const OWN = { fromSecretsRef: [{ name: 'token' }] };

/** A tenant's issuer in namespace `web`; without a Secret unless it is told of one. */
const setIssuer = (world: RoutedWorld, change = {}): ObjectRef =>
  world.cluster.setPolicy({
    kind: 'RoutedIPIssuer',
    namespace: 'web',
    name: 'own',
    spec: { issuerClass: PROVIDER, region: 'nyc3', ...change },
  });

function prepare(world: RoutedWorld, change = {}): ObjectRef {
  world.setNode(node('a'), node('b'));
  world.setWeb('shop', ['a', 'b']);
  world.namespaces.set('web', {});
  // Whatever the Secret holds, it is another account's.
  world.begins = ({ providers }) => {
    const standing = providers.all[PROVIDER];
    if (standing) providers.set(KEY, { ...standing, provider: standing.provider && { ...standing.provider } });
  };
  return setIssuer(world, change);
}

const holder = (world: RoutedWorld, ref: ObjectRef): string => String(world.statusOf(ref).assignedNode);

async function failsOver(world: RoutedWorld, ref: ObjectRef): Promise<void> {
  const from = holder(world, ref);
  world.cluster.setNode({ ...node(from), ready: false });
  await world.stable(ref, from === 'a' ? 'b' : 'a', 2 * MINUTE);
  world.cluster.setNode(node(from));
}

describe('an issuer that names no Secret', () => {
  test('is for no RoutedIP until an administrator opens its namespace; both say so, and how', async ({ open }) => {
    const world = open();
    const issuer = prepare(world);
    await world.leader();
    const ref = world.setRoutedIP('shop', BY_ISSUER);
    await world.untilReason(ref, NOT_ALLOWED);
    expect(world.messageOf(ref)).toBe(
      "RoutedIPIssuer web/own would use the operator's credentials, which namespace web may not: name a Secret in fromSecretsRef, or have an administrator allow it: kubectl label namespace web routedip.io/allow-operator-credentials=true",
    );
    expect(world.eventsOf(ref)).toContain(NOT_ALLOWED);
    await world.untilReason(issuer, NOT_ALLOWED);
    await world.clock.advance(5 * MINUTE);
    expect(world.changes()).toEqual([]);
    for (const label of ['false', '', 'True']) world.namespaces.set('web', { 'routedip.io/allow-operator-credentials': label });
    await world.clock.advance(MINUTE);
    expect(world.changes()).toEqual([]);
    world.openNamespace();
    await world.stable(ref);
    await world.untilReason(issuer, 'AsExpected');
  });

  test('is for nobody by an address that he names either', async ({ open }) => {
    const world = open();
    prepare(world);
    world.address('203.0.113.70', 'b');
    await world.leader();
    const ref = world.setRoutedIP('shop', { ...BY_ISSUER, routedIP: '203.0.113.70' });
    await world.untilReason(ref, NOT_ALLOWED);
    await world.clock.advance(MINUTE);
    expect(world.changes()).toEqual([]);
  });

  test.for([['the namespace'], ['*']])(
    'is for RoutedIPs where the command line names %s, without a look at Namespaces',
    async ([named], { open }) => {
      const world = open({ settings: { operatorCredentials: ['other', named === '*' ? '*' : 'web'] } });
      prepare(world);
      world.namespaces.cut();
      await world.leader();
      await world.stable(world.setRoutedIP('shop', BY_ISSUER));
    },
  );

  test('is for RoutedIPs once it names one', async ({ open }) => {
    const world = open();
    const issuer = prepare(world);
    await world.leader();
    const ref = world.setRoutedIP('shop', BY_ISSUER);
    await world.untilReason(ref, NOT_ALLOWED);
    setIssuer(world, OWN);
    await world.stable(ref);
    await world.untilReason(issuer, 'AsExpected');
  });

  test('leaves who has an address his, with its failover, when its namespace is closed, also after the records were lost', async ({
    open,
  }) => {
    const world = open();
    const issuer = prepare(world);
    world.openNamespace();
    const process = await world.leader();
    const ref = world.setRoutedIP('shop', BY_ISSUER);
    await world.stable(ref);
    const { routedIP } = world.statusOf(ref);
    world.namespaces.set('web', {});
    await world.clock.runUntil(() => world.eventsOf(ref).includes(NOT_ALLOWED), MINUTE);
    await world.untilReason(issuer, NOT_ALLOWED);
    await failsOver(world, ref);
    process.kill();
    world.store.wipe();
    world.queues.wipe();
    world.invariants.forget();
    await world.start();
    await world.stable(ref, holder(world, ref), 2 * MINUTE);
    await failsOver(world, ref);
    expect(world.statusOf(ref).routedIP).toBe(routedIP);
    expect(world.reasonOf(ref)).toBe('Assigned');
    world.setWeb('second', ['a', 'b']);
    await world.untilReason(world.setRoutedIP('second', BY_ISSUER), NOT_ALLOWED);
  });

  test('says of a restart nothing once more to who keeps his address', async ({ open }) => {
    const world = open();
    prepare(world);
    world.openNamespace();
    const process = await world.leader();
    const ref = world.setRoutedIP('shop', BY_ISSUER);
    await world.stable(ref);
    world.namespaces.set('web', {});
    await world.clock.advance(MINUTE);
    const told = world.eventsOf(ref).filter((reason) => reason === NOT_ALLOWED);
    expect(told).toHaveLength(1);
    world.namespaces.cut();
    await world.restart(process);
    await world.clock.advance(MINUTE);
    world.namespaces.mend();
    await world.clock.advance(MINUTE);
    expect(world.eventsOf(ref).filter((reason) => reason === NOT_ALLOWED)).toEqual(told);
  });

  test('is for nobody new while the labels cannot be read, and says so', async ({ open }) => {
    const world = open();
    prepare(world);
    world.openNamespace();
    world.namespaces.cut();
    await world.leader();
    const ref = world.setRoutedIP('shop', BY_ISSUER);
    await world.untilReason(ref, NOT_ALLOWED);
    expect(world.messageOf(ref)).toContain("it cannot be told whether namespace web may use the operator's credentials");
    world.namespaces.mend();
    await world.stable(ref);
  });
});

describe('whoever has his address by other credentials', () => {
  test('does not come by it to those of the operator: an issuer that had a Secret', async ({ open }) => {
    const world = open();
    prepare(world, OWN);
    await world.leader();
    const ref = world.setRoutedIP('shop', BY_ISSUER);
    await world.stable(ref);
    setIssuer(world);
    await world.untilReason(ref, NOT_ALLOWED);
    const sent = world.changes().length;
    world.cluster.setNode({ ...node(holder(world, ref)), ready: false });
    await world.clock.advance(5 * MINUTE);
    expect(world.changes().slice(sent)).toEqual([]);
    setIssuer(world, OWN);
    await world.stable(ref, undefined, 2 * MINUTE);
  });

  test('nor by a class', async ({ open }) => {
    const world = open();
    prepare(world);
    world.setClass({ routedIPFirewallName: '' });
    await world.leader();
    const ref = world.setRoutedIP('shop');
    await world.stable(ref);
    world.setRoutedIP('shop', BY_ISSUER);
    await world.untilReason(ref, NOT_ALLOWED);
  });

  for (const by of ['an issuer that had a Secret', 'a class'] as const)
    test(`nor after the records were lost: ${by}`, async ({ open }) => {
      const world = open();
      prepare(world, OWN);
      world.setClass({ routedIPFirewallName: '' });
      const process = await world.leader();
      const ref = world.setRoutedIP('shop', by === 'a class' ? {} : BY_ISSUER);
      await world.stable(ref);
      setIssuer(world);
      world.setRoutedIP('shop', BY_ISSUER);
      await world.untilReason(ref, NOT_ALLOWED);
      process.kill();
      world.store.wipe();
      world.queues.wipe();
      world.invariants.forget();
      await world.start();
      await world.clock.advance(MINUTE);
      const sent = world.changes().length;
      world.cluster.setNode({ ...node(holder(world, ref)), ready: false });
      await world.clock.advance(5 * MINUTE);
      expect(world.changes().slice(sent)).toEqual([]);
      expect(world.reasonOf(ref)).toBe(NOT_ALLOWED);
      world.openNamespace();
      await world.stable(ref, undefined, 2 * MINUTE);
    });
});
