import type { Address } from '../../../machines/model/types.ts';
import type { World } from '../../support/world.ts';

/** Does something each time that the provider is about to create an address. */
export const beforeCreation = (world: World, run: () => void): void => {
  const { cloud } = world.provider;
  const { create } = cloud;
  cloud.create = (region) => {
    run();
    return create.call(cloud, region);
  };
};

export const creates = (world: World) => world.provider.writes().filter(({ verb }) => verb === 'createRoutedIP');
export const ipsOf = (world: World, ref: Parameters<World['status']>[0]): readonly Address[] =>
  (world.cluster.pool(ref)?.spec as { ips?: readonly Address[] } | undefined)?.ips ?? [];
export const allActive = (world: World, ref: Parameters<World['status']>[0], count: number) => () => {
  const states = Object.values(world.states(ref));
  return states.length === count && states.every((state) => state === 'active');
};
