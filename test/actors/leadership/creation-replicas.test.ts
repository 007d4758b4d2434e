import { describe, expect } from 'vitest';
import type { Json } from '../../../actors/ports/records.ts';
import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { withoutHands } from '../../support/replicas.ts';
import { ipsOf } from '../pool/creation-steps.ts';
import { test } from '../routedip/routedip-test.ts';
import { CLASS_NAME, MINUTE, type RoutedWorld } from '../routedip/world.ts';

const MADE = '203.0.113.207' as Address;
const PENDING = { pendingCreate: { region: 'nyc3', knownAddresses: [], startedAt: new Date(0).toISOString() } };

/** Two objects of which each may have made the one address that is new: after the records were lost their statuses alone tell of that. */
const KINDS: Readonly<
  Record<
    string,
    { readonly set: (world: RoutedWorld, name: string) => ObjectRef; readonly of: (world: RoutedWorld, ref: ObjectRef) => readonly Json[] }
  >
> = {
  RoutedIP: {
    set: (world, name) => {
      world.setWeb(name, []);
      const spec = { className: CLASS_NAME, serviceRef: { serviceName: name } };
      return world.cluster.setPool({ kind: 'RoutedIP', namespace: 'web', name, spec, status: PENDING });
    },
    of: (world, ref) => [world.statusOf(ref).routedIP ?? []].flat(),
  },
  FloatingIPPool: {
    set: ({ cluster }, name) =>
      cluster.setPool({
        name,
        spec: { provider: 'digitalocean', region: 'nyc3', match: { nodeLabel: 'pool=none' }, desiredIPs: 1 },
        status: PENDING,
      }),
    of: (world, ref) => ipsOf(world, ref),
  },
};

describe('an address that was made for one of two', () => {
  for (const [kind, { set, of }] of Object.entries(KINDS)) {
    test(`is not taken for the other ${kind}'s by a replica that has not seen yet whose it is`, async ({ open }) => {
      const world = open();
      world.setClass();
      world.address(MADE);
      const refs = [set(world, 'one'), set(world, 'other')];
      // RoutedIPs are served as soon as they are seen to be guarded.
      const { guard } = world.cluster.process();
      await Promise.all(refs.map(guard));
      const leader = await withoutHands(world, () => world.start());
      const replica = await world.start();
      for (const { cluster } of [leader, replica]) cluster.watch.stick('objects');
      await world.clock.advance(MINUTE);
      expect(leader.supervisor.leading).toBe(true);
      expect(refs.filter((ref) => of(world, ref).includes(MADE))).toHaveLength(1);
    });
  }
});
