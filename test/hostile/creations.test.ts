import { describe, expect } from 'vitest';
import type { PoolContext } from '../../machines/pool/context.ts';
import { test } from '../actors/routedip/routedip-test.ts';
import { MINUTE, type RoutedWorld, service } from '../actors/routedip/world.ts';
import { node, PROVIDER } from '../support/world.ts';
import { accountOf, type Holds, secretKey } from './accounts.ts';

const SQUATTER = 'rip/evil/x';

function setIssuer(world: RoutedWorld, name: string): void {
  const spec = { issuerClass: PROVIDER, region: 'nyc3', fromSecretsRef: [{ name }] };
  world.cluster.setPolicy({ kind: 'RoutedIPIssuer', namespace: 'evil', name, spec });
}

const asks = (world: RoutedWorld, issuer: string) =>
  world.cluster.setPool({
    ...{ kind: 'RoutedIP', namespace: 'evil', name: 'x' },
    spec: { issuerRef: { name: issuer }, serviceRef: { serviceName: 'any' } },
  });

const acquiring = (world: RoutedWorld): PoolContext['acquiring'] | undefined =>
  (world.invariants.records.get(SQUATTER)?.snapshot.context as PoolContext | undefined)?.acquiring;

function settled(world: RoutedWorld, issuers: readonly string[]): void {
  world.setClass();
  world.setNode(node('a'), node('b'));
  world.setWeb('shop', ['a', 'b']);
  world.cluster.setService('evil', 'any', service(['a', 'b']));
  for (const name of issuers) setIssuer(world, name);
}

/** It has the right to create an address in its own account when whoever leads ends, and what was queued is lost. */
async function creating(world: RoutedWorld, secrets: Record<string, Holds>): Promise<void> {
  world.begins = ({ providers }) => {
    for (const [name, holds] of Object.entries(secrets)) providers.set(secretKey('evil', name), accountOf(holds, world));
  };
  settled(world, Object.keys(secrets));
  asks(world, 'own');
  const isIntending = (): boolean => acquiring(world)?.intending === true;
  await world.start((_, about) => about === SQUATTER && isIntending());
  await world.clock.runUntil(() => world.processes.length === 0, MINUTE);
  expect(isIntending()).toBe(true);
  world.lease.delete();
  world.queues.wipe();
}

describe('others create their addresses whatever becomes of who was about to create one', () => {
  test('as it goes to an account that refuses its token', async ({ open }) => {
    const world = open();
    await creating(world, { own: 'foreign', refused: 'refused' });
    const squatter = asks(world, 'refused');
    const shop = world.setRoutedIP('shop');
    await world.start();
    await world.stable(shop, undefined, 2 * MINUTE);
    await world.untilReason(squatter, 'ProviderUnread', 'Ready', MINUTE);
  });

  test('as its own account has been asked for one, and refuses its token from then on', async ({ open }) => {
    const world = open();
    let isRefused = false;
    world.begins = ({ providers }) => {
      const good = { facts: world.facts, provider: world.provider.process() };
      providers.set(secretKey('evil', 'own'), isRefused ? accountOf('refused', world) : good);
    };
    settled(world, ['own']);
    const squatter = asks(world, 'own');
    await world.start((_, about) => about === SQUATTER && Boolean(acquiring(world)?.intent));
    await world.clock.runUntil(() => world.processes.length === 0, MINUTE);
    world.address('203.0.113.70');
    isRefused = true;
    world.lease.delete();
    const shop = world.setRoutedIP('shop');
    const process = await world.start();
    await world.stable(shop, undefined, 30 * MINUTE);
    // Once it is taken again the list shows what may have been made for others since: nothing is guessed.
    isRefused = false;
    await world.restart(process);
    await world.untilReason(squatter, 'CreateUnknown', 'Ready', 30 * MINUTE);
  });

  test('as its own account refuses its token from then on', async ({ open }) => {
    const world = open();
    const secrets: Record<string, Holds> = { own: 'foreign' };
    await creating(world, secrets);
    secrets.own = 'refused';
    const shop = world.setRoutedIP('shop');
    await world.start();
    await world.stable(shop, undefined, 2 * MINUTE);
  });
});
