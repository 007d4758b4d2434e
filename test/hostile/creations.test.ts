import { describe, expect } from 'vitest';
import type { PoolContext } from '../../machines/pool.ts';
import { test } from '../actors/routed-test.ts';
import { MINUTE, type RoutedWorld, service } from '../actors/routed-world.ts';
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

/** It has the right to create an address in its own account when whoever leads ends, and what was queued is lost. */
async function creating(world: RoutedWorld, secrets: Record<string, Holds>): Promise<void> {
  world.begins = ({ providers }) => {
    for (const [name, holds] of Object.entries(secrets)) providers.set(secretKey('evil', name), accountOf(holds, world));
  };
  world.setClass();
  world.setNode(node('a'), node('b'));
  world.setWeb('shop', ['a', 'b']);
  world.cluster.setService('evil', 'any', service(['a', 'b']));
  for (const name of Object.keys(secrets)) setIssuer(world, name);
  asks(world, 'own');
  const isIntending = (): boolean =>
    (world.invariants.records.get(SQUATTER)?.snapshot.context as PoolContext | undefined)?.acquiring.intending === true;
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
