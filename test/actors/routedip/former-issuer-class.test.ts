import { describe, expect } from 'vitest';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { node, PROVIDER } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { MINUTE, type RoutedWorld } from './world.ts';

const MENDED = /^set exactly one of className and issuerRef; issuerClass is served no more: create a RoutedIPIssuer/;
/** As the server shows what was stored with `issuerClass`: a server without definitions shows that still. */
const FORMER = [{ className: null }, { className: null, issuerClass: PROVIDER }];

const setIssuer = (world: RoutedWorld): ObjectRef =>
  world.cluster.setPolicy({ kind: 'RoutedIPIssuer', namespace: 'web', name: 'own', spec: { issuerClass: PROVIDER, region: 'nyc3' } });

/** A RoutedIP that has its address by `issuerClass`, as the version before has left it, in its records or, when those are lost, in its status alone. */
async function upgraded(world: RoutedWorld, spec: (typeof FORMER)[number], areRecordsLost: boolean): Promise<ObjectRef> {
  world.setNode(node('a'), node('b'));
  world.setWeb('shop', ['a', 'b']);
  world.openNamespace();
  const issuer = setIssuer(world);
  const process = await world.leader();
  const ref = world.setRoutedIP('shop', { className: null, issuerRef: { name: 'own' } });
  await world.stable(ref);
  process.kill();
  if (areRecordsLost) {
    world.store.wipe();
    world.queues.wipe();
    world.invariants.forget();
  }
  world.cluster.removePolicy(issuer);
  world.setRoutedIP('shop', spec);
  await world.start();
  await world.untilReason(ref, 'InvalidSpec', 'Ready', 2 * MINUTE);
  return ref;
}

for (const areRecordsLost of [false, true])
  for (const spec of FORMER)
    describe(`a RoutedIP that was stored with issuerClass (${Object.keys(spec)}, records lost: ${areRecordsLost})`, () => {
      test('says how to mend it, and its address stays as it is', async ({ open }) => {
        const world = open();
        const ref = await upgraded(world, spec, areRecordsLost);
        const { routedIP, assignedNode } = world.statusOf(ref);
        const sent = world.changes().length;
        expect(world.messageOf(ref)).toMatch(MENDED);
        expect(world.eventsOf(ref)).toContain('InvalidSpec');
        await world.clock.advance(10 * MINUTE);
        expect(world.changes().slice(sent)).toEqual([]);
        expect(world.holderOf(String(routedIP))).not.toBeNull();
        if (!areRecordsLost) expect(world.holderOf(String(routedIP))).toBe(assignedNode);
      });

      test('goes on with the same address once it names an issuer, or a class', async ({ open }) => {
        for (const mended of [{ className: null, issuerRef: { name: 'own' } }, {}]) {
          const world = open();
          const ref = await upgraded(world, spec, areRecordsLost);
          const { routedIP } = world.statusOf(ref);
          setIssuer(world);
          world.setClass({ routedIPFirewallName: '' });
          world.setRoutedIP('shop', mended);
          await world.stable(ref, undefined, 2 * MINUTE);
          const on = String(world.statusOf(ref).assignedNode);
          world.cluster.setNode({ ...node(on), ready: false });
          await world.stable(ref, on === 'a' ? 'b' : 'a', 2 * MINUTE);
          expect(world.statusOf(ref).routedIP).toBe(routedIP);
          expect(world.changes().filter((verb) => verb === 'createRoutedIP')).toHaveLength(1);
        }
      });

      test('is let go when it is deleted, once it is known by whom it was served, and its address is retained', async ({ open }) => {
        const world = open();
        const ref = await upgraded(world, spec, areRecordsLost);
        world.cluster.markDeleting(ref);
        await world.clock.advance(MINUTE);
        // At which provider its address is nothing says then.
        if (areRecordsLost) {
          setIssuer(world);
          world.setRoutedIP('shop', { className: null, issuerRef: { name: 'own' } });
        }
        await world.clock.runUntil(() => !world.cluster.pool(ref), 5 * MINUTE);
        expect(world.provider.cloud.addresses()).toHaveLength(1);
      });
    });
