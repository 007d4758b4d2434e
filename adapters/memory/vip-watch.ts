import type { VipListener } from '../../actors/ports/vip.ts';
import { late } from './late.ts';
import { isRelevant, type VipWorld, type Watching } from './vip-world.ts';

/** Reports changes to one process in order, each after its delay. */
export const vipWatch = (world: VipWorld) => {
  const { hear, listen, hold, resume } = late<VipListener>(world.options);
  const tellAll = (): void => {
    if (!world.served) return;
    for (const group of world.groups.values()) hear((told) => told.groupObserved(group));
    for (const ip of world.ips.values()) hear((told) => told.ipObserved(ip));
    for (const service of [...world.services.values()].map(world.view).filter(isRelevant)) hear((told) => told.serviceObserved(service));
    hear((told) => told.vipsSynced());
  };
  const self: Watching = { hear, tellAll };
  let isStuck = false;
  return {
    open: (told: VipListener): Promise<void> => {
      listen(told);
      world.watches.add(self);
      tellAll();
      return new Promise((resolve) => (world.served ? hear(() => resolve()) : resolve()));
    },
    tellAll,
    hold,
    resume,
    stick: () => {
      isStuck = true;
      hold();
    },
    renew: () => {
      if (isStuck) resume();
      isStuck = false;
    },
    close: () => {
      listen(null);
      world.watches.delete(self);
    },
  };
};
