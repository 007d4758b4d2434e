import { describe, expect } from 'vitest';
import type { Address } from '../../../machines/model/types.ts';
import { redisGoes, redisIsEmptied, redisReturns } from '../../support/away-crash.ts';
import { asFlipopKeeps } from '../../support/flipop-statuses.ts';
import { ingress, killAll, lose, untilAssigns } from '../../support/setups.ts';
import { test } from '../../support/sound.ts';
import type { World } from '../../support/world.ts';
import { A, B, BOTH, led, MINUTE, SECOND } from '../outage/telling.ts';
import { allActive, creates, ipsOf } from '../pool/creation-steps.ts';

/** What happens to Redis. */
interface Trouble {
  readonly name: string;
  /** How the term begins under which all goes on. */
  readonly begins: 'continue' | 'rebuild';
  /** The second before it has been lost with it. */
  readonly happens: (world: World, before: ReturnType<World['store']['checkpoint']>) => Promise<void>;
  /** FLIPOP's definitions have no place for the intent of a creation, and it has gone with what Redis has lost. */
  readonly losesIntent?: true;
}

/** Whoever led has ended, and nobody leads before the Lease has run out. */
const nobodyLeads = (world: World): void => {
  killAll(world);
  world.invariants.forget();
};

const TROUBLES: readonly Trouble[] = [
  { name: 'is away', begins: 'continue', happens: async (world) => redisGoes(world) },
  {
    name: 'is away for some seconds',
    begins: 'continue',
    happens: async (world) => {
      redisGoes(world);
      await world.clock.advance(4 * SECOND);
      redisReturns(world);
    },
  },
  {
    name: 'is away, the leader ends, and it is back',
    begins: 'rebuild',
    happens: async (world) => {
      redisGoes(world);
      await world.clock.advance(4 * SECOND);
      nobodyLeads(world);
      redisReturns(world);
      await world.start();
    },
  },
  { name: 'fails over under the leader', begins: 'continue', happens: async ({ store }, before) => store.restart(before) },
  {
    name: 'fails over while nobody leads',
    begins: 'rebuild',
    losesIntent: true,
    happens: async (world, before) => {
      nobodyLeads(world);
      world.store.restart(before);
      await world.start();
    },
  },
  {
    name: 'was started again while nobody led, and has lost nothing',
    begins: 'rebuild',
    happens: async (world) => {
      nobodyLeads(world);
      world.store.restart();
      await world.start();
    },
  },
  { name: 'loses its data under the leader', begins: 'continue', happens: async (world) => redisIsEmptied(world) },
  {
    name: 'loses its data while nobody leads',
    begins: 'rebuild',
    losesIntent: true,
    happens: async (world) => {
      nobodyLeads(world);
      redisIsEmptied(world);
      await world.start();
    },
  },
];

const DEFINITIONS = [
  ["the operator's own definitions", () => undefined],
  ["FLIPOP's own definitions", asFlipopKeeps],
] as const;

const serving = async (world: World) => {
  const ref = ingress(world, { nodes: ['a', 'b', 'c', 'd'], addresses: { [A]: 'a', [B]: 'b' } });
  await world.start();
  await world.untilStates(ref, BOTH);
  await world.clock.advance(20 * SECOND);
  return ref;
};

/** Somebody leads under a term that began so since there were that many. */
const untilLeads = (world: World, terms: number, begins: string): Promise<number> =>
  world.clock.runUntil(
    () =>
      led(world)
        .slice(terms)
        .some((fields) => (fields as { readonly begins: string }).begins === begins),
    MINUTE,
  );

describe.each(DEFINITIONS)('with %s', (_, keeps) => {
  describe.each(TROUBLES)('when Redis $name', ({ happens, begins, losesIntent }) => {
    test('an address of which nothing was in flight is sent to a healthy node within 5 s', async ({ open }) => {
      const world = open({ away: true });
      keeps(world);
      const ref = await serving(world);
      const before = world.store.checkpoint();
      const terms = led(world).length;
      await happens(world, before);
      await untilLeads(world, terms, begins);
      lose(world, 'a');
      await untilAssigns(world, 1, 5 * SECOND);
      await world.untilStates(ref, BOTH, MINUTE);
      await world.clock.advance(2 * MINUTE);
      expect([world.assigns().length, world.holderOf(A), world.holderOf(B)]).toEqual([1, 'c', 'b']);
    });

    test.for([
      ['is shown', 'comes to nothing'],
      ['is shown', 'takes effect late'],
      ['is not shown yet', 'takes effect late'],
    ] as const)(
      'an assign in flight that %s and %s is followed by no other while it may take effect, and serves within 45 s',
      async ([shown, outcome], { open }) => {
        const world = open({ away: true });
        keeps(world);
        const ref = await serving(world);
        const before = world.store.checkpoint();
        if (shown === 'is not shown yet') world.cluster.lag();
        world.provider.faults.next('assignRoutedIP', { kind: 'hang', ...(outcome === 'takes effect late' && { effectAfterMs: 14_000 }) });
        const since = world.clock.monotonic();
        lose(world, 'a');
        await untilAssigns(world, 1, SECOND);
        await happens(world, before);
        world.cluster.catchUp();
        await world.clock.runUntil(() => world.holderOf(A) === 'c', 2 * MINUTE);
        const waited = world.clock.monotonic() - since;
        await world.untilStates(ref, BOTH, MINUTE);
        await world.clock.advance(2 * MINUTE);
        const sent = outcome === 'takes effect late' ? 1 : 2;
        expect([world.assigns().length, waited <= 45 * SECOND, world.holderOf(A), world.holderOf(B)]).toEqual([sent, true, 'c', 'b']);
      },
    );

    test('one address is created, and not two', async ({ open }) => {
      const world = open({ away: true });
      keeps(world);
      const ref = ingress(world, { nodes: ['a', 'b'], addresses: { [A as Address]: 'a' } });
      await world.start();
      await world.clock.runUntil(allActive(world, ref, 1), MINUTE);
      await world.clock.advance(20 * SECOND);
      const before = world.store.checkpoint();
      world.provider.faults.next('createRoutedIP', { kind: 'hang', effectAfterMs: 5_000 });
      world.pool('ingress', { ips: [A], desiredIPs: 2 });
      await world.clock.runUntil(() => creates(world).length === 1, 10 * SECOND);
      await happens(world, before);
      await world.clock.advance(MINUTE);
      redisReturns(world);
      await world.clock.runUntil(allActive(world, ref, 2), 2 * MINUTE);
      await world.clock.advance(MINUTE);
      // The documents say so of FLIPOP's definitions.
      const made = losesIntent && keeps === asFlipopKeeps ? 2 : 1;
      expect([creates(world).length, world.provider.cloud.addresses().length, ipsOf(world, ref).length]).toEqual([made, made + 1, 2]);
    });
  });
});
