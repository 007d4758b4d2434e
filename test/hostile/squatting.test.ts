import { describe, expect } from 'vitest';
import { JobsWorld } from '../actors/kubernetes-jobs/world.ts';
import { test } from '../actors/routedip/routedip-test.ts';
import { CLASS_NAME, MINUTE, type RoutedWorld, service } from '../actors/routedip/world.ts';
import { node, PROVIDER } from '../support/world.ts';
import { accountOf, type Holds, secretKey } from './accounts.ts';

const FREE = '203.0.113.70';

/** Somebody in another namespace asks for a free address before anybody else does: by an issuer of his own, or by the class. */
async function squatted(world: RoutedWorld, asks: Readonly<Record<string, unknown>>) {
  world.setClass();
  world.setNode(node('a'), node('b'));
  world.setWeb('shop', ['a', 'b']);
  world.cluster.setService('evil', 'any', service(['a', 'b']));
  world.address(FREE);
  const spec = { serviceRef: { serviceName: 'any' }, routedIP: FREE, ...asks };
  const squatter = world.cluster.setPool({ kind: 'RoutedIP', namespace: 'evil', name: 'squatter', spec });
  const process = await world.leader();
  await world.clock.advance(MINUTE);
  expect(world.statusOf(squatter).assignedNode).toBeUndefined();
  return { squatter, process };
}

const issuer = (namespace: string) => ({
  ...{ kind: 'RoutedIPIssuer', namespace, name: 'own' },
  spec: { issuerClass: PROVIDER, region: 'nyc3', fromSecretsRef: [{ name: 'own' }] },
});

describe('an address that somebody names first who has not got it', () => {
  test.for<Holds>(['refused', 'foreign'])(
    'is for whoever’s account has it, though it is the older one that asks: token %s',
    async (holds, { open }) => {
      const world = open();
      world.begins = ({ providers }) => providers.set(secretKey('evil', 'own'), accountOf(holds, world));
      world.cluster.setPolicy(issuer('evil'));
      const { squatter, process } = await squatted(world, { issuerRef: { name: 'own' } });
      const shop = world.setRoutedIP('shop', { routedIP: FREE });
      await world.stable(shop);
      expect(world.reasonOf(squatter)).toBe(holds === 'refused' ? 'ProviderUnread' : 'AddressConflict');
      await world.restart(process);
      await world.clock.advance(10 * MINUTE);
      expect(world.reasonOf(shop)).toBe('Assigned');
    },
  );

  test('is given up by whoever ran it, though his token is refused when the next leader begins', async ({ open }) => {
    const world = open();
    const token = (holds: Holds) => {
      world.begins = ({ providers }) => providers.set(secretKey('evil', 'own'), accountOf(holds, world));
    };
    token('foreign');
    world.cluster.setPolicy(issuer('evil'));
    const { squatter, process } = await squatted(world, { issuerRef: { name: 'own' } });
    token('refused');
    await world.restart(process);
    await world.clock.advance(MINUTE);
    const shop = world.setRoutedIP('shop', { routedIP: FREE });
    await world.stable(shop);
    expect(world.reasonOf(squatter)).toBe('ProviderUnread');
  });

  test('is given up by an older one whose issuer is invalid and whose Secret is gone when the next leader begins', async ({ open }) => {
    const world = open();
    world.begins = ({ providers }) => providers.set(secretKey('evil', 'own'), accountOf('refused', world));
    world.cluster.setPolicy(issuer('evil'));
    const { squatter, process } = await squatted(world, { issuerRef: { name: 'own' } });
    world.cluster.setPolicy({ ...issuer('evil'), spec: { ...issuer('evil').spec, perNodeIPLimit: 0 } });
    world.begins = () => undefined;
    const shop = world.setRoutedIP('shop', { routedIP: FREE });
    await world.restart(process);
    await world.stable(shop);
    expect(world.statusOf(squatter).routedIP).toBeUndefined();
  });

  test('is given up by the younger one, too, that ran it before', async ({ open }) => {
    const world = open();
    world.begins = ({ providers }) => providers.set(secretKey('evil', 'own'), accountOf('foreign', world));
    world.cluster.setPolicy(issuer('evil'));
    const shop = world.setRoutedIP('shop', { routedIP: '203.0.113.250' });
    const { process } = await squatted(world, { issuerRef: { name: 'own' } });
    process.kill();
    world.begins = ({ providers }) => providers.set(secretKey('evil', 'own'), accountOf('refused', world));
    world.setRoutedIP('shop', { routedIP: FREE });
    await world.start();
    await world.clock.advance(2 * MINUTE);
    expect([world.reasonOf(shop), world.statusOf(shop).routedIP]).toEqual(['Assigned', FREE]);
  });

  test('is given up by whoever named it once, could not take it, and names an issuer that he may not use by now', async ({ open }) => {
    const world = open();
    world.begins = ({ providers }) => providers.set(secretKey('evil', 'own'), { facts: world.facts, provider: world.provider.process() });
    const { spec, ...own } = issuer('evil');
    world.cluster.setPolicy({ ...own, spec: { ...spec, adoption: 'Never' } });
    world.cluster.setPolicy({ ...own, name: 'operator', spec: { issuerClass: PROVIDER, region: 'nyc3' } });
    const { squatter } = await squatted(world, { issuerRef: { name: 'own' } });
    const shop = world.setRoutedIP('shop', { routedIP: FREE });
    await world.untilReason(shop, 'AddressConflict');
    world.cluster.setPool({ ...squatter, spec: { serviceRef: { serviceName: 'any' }, issuerRef: { name: 'operator' } } });
    await world.stable(shop);
    expect(world.reasonOf(squatter)).toBe('OperatorCredentialsNotAllowed');
  });

  test('is no less for the account of an issuer than for that of the class', async ({ open }) => {
    const world = open();
    world.begins = ({ providers }) => {
      providers.set(secretKey('web', 'own'), { facts: world.facts, provider: world.provider.process() });
      providers.set(PROVIDER, accountOf('foreign', world));
    };
    world.cluster.setPolicy(issuer('web'));
    const { squatter } = await squatted(world, { className: CLASS_NAME });
    const shop = world.setRoutedIP('shop', { className: null, issuerRef: { name: 'own' }, routedIP: FREE });
    await world.stable(shop);
    expect(world.reasonOf(squatter)).toBe('AddressConflict');
  });

  describe('where Jobs list nothing', () => {
    const ON_PLATFORM = '192.0.2.1';
    /** Nodes and Services; somebody in another namespace asks for the address before anybody else does. */
    async function jobs(address: string, asks: Readonly<Record<string, unknown>>, token?: Holds) {
      const world = new JobsWorld();
      world.jobClass({ routedIPFirewallName: '' });
      world.setClass();
      world.setNode(node('a'), node('b'));
      world.setWeb('shop', ['a', 'b']);
      world.cluster.setService('evil', 'any', service(['a', 'b']));
      world.cluster.setPolicy(issuer('evil'));
      world.address(FREE);
      world.jobs.platform.holders.set(ON_PLATFORM, null);
      const spec = { serviceRef: { serviceName: 'any' }, routedIP: address, ...asks };
      const squatter = world.cluster.setPool({ kind: 'RoutedIP', namespace: 'evil', name: 'squatter', spec });
      const process = await world.operator();
      if (token) process.providers.set(secretKey('evil', 'own'), accountOf(token, world));
      await world.clock.advance(MINUTE);
      return { world, squatter };
    }

    test.for<Holds>(['refused', 'foreign', 'nothing'])(
      'is for whom Jobs serve, though he who names it by a token is older: token %s',
      async (holds) => {
        const { world, squatter } = await jobs(ON_PLATFORM, { issuerRef: { name: 'own' } }, holds);
        const shop = world.setRoutedIP('shop', { routedIP: ON_PLATFORM });
        await world.stable(shop, undefined, 2 * MINUTE);
        expect([world.statusOf(shop).routedIP, world.statusOf(squatter).routedIP]).toEqual([ON_PLATFORM, undefined]);
      },
    );

    test('is for whoever’s account has it, though the one that Jobs serve is older', async () => {
      const { world, squatter } = await jobs(FREE, { className: 'example.com/http' });
      expect(world.statusOf(squatter).assignedNode).toBeUndefined();
      const shop = world.setRoutedIP('shop', { className: CLASS_NAME, routedIP: FREE });
      await world.stable(shop);
      expect([world.statusOf(shop).routedIP, world.reasonOf(squatter)]).toEqual([FREE, 'AddressConflict']);
    });
  });
});
