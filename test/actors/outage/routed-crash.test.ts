import { describe, expect, test } from 'vitest';
import type { Address } from '../../../machines/model/types.ts';
import { type AwayScenario, crashEverywhere, REDIS_THEN } from '../../support/away-crash.ts';
import { extent } from '../../support/extent.ts';
import { providerIDOf, type World } from '../../support/world.ts';
import { ROUTED_SCENARIOS } from '../crash/routed-scenarios.ts';
import { FIREWALL } from '../routedip/world.ts';

/** One in so many points is tried with each of the three that may come after; 1 for all. */
const EVERY = Number(process.env.ROUTEDIP_AWAY_EVERY ?? extent(5, 10));

/** What goes on without Redis: an address is created, pruned and given back only when it is there. */
const ON: Readonly<Record<string, (world: World) => boolean>> = {
  'its node is lost': (world) => isOn(world, 'old'),
  'its node is lost, and the firewall comes after the assignment': (world) => isOn(world, 'old'),
  'its Service changes a port': (world) => portsOf(world).includes('tcp/9090'),
  'two share a firewall: one loses its node, and the other is deleted': (world) => isOn(world, 'old'),
};

const isOn = (world: World, name: string): boolean => {
  const found = world.provider.cloud.addresses().find(({ address }) => address === ('203.0.113.1' as Address));
  return found?.providerID === providerIDOf(name) && !found.locked;
};
const portsOf = (world: World): readonly string[] => world.provider.cloud.findFirewall(FIREWALL)?.ports ?? [];

const scenarios = ROUTED_SCENARIOS.filter(({ name }) => ON[name] !== undefined).map(
  (scenario): AwayScenario => ({ ...scenario, isOverAway: ON[scenario.name] ?? (() => false) }),
);

describe.each(scenarios)('while Redis is away: $name', (scenario) => {
  test.each(REDIS_THEN)('it ends the same wherever the process ends, with Redis %s', { timeout: 300_000 }, async (then) => {
    expect(await crashEverywhere(scenario, then, EVERY)).toBeGreaterThan(extent(1, 0));
  });
});
