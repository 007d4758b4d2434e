import type { VipListener } from '../../actors/ports/vip.ts';
import { durationOf } from './random.ts';
import { isRelevant, type VipWorld, type Watching } from './vip-world.ts';

/** Tells one process of what changes, in its order, each change after its delay. */
export const vipWatch = (world: VipWorld) => {
  const { clock, watchMs = 0, random = Math.random } = world.options;
  const queue: ((listener: VipListener) => void)[] = [];
  let listener: VipListener | null = null;
  let held = false;
  let due = 0;
  const deliver = (): void => {
    for (; !held && due > 0; due -= 1) {
      const tell = queue.shift();
      if (tell !== undefined && listener !== null) tell(listener);
    }
  };
  const fall = (): void => {
    due += 1;
    deliver();
  };
  const hear = (tell: (listener: VipListener) => void): void => {
    queue.push(tell);
    const ms = durationOf(watchMs, random);
    if (ms > 0) clock.after(ms, fall);
    else queueMicrotask(fall);
  };
  const tellAll = (): void => {
    if (!world.served) return;
    for (const group of world.groups.values()) hear((told) => told.groupObserved(group));
    for (const ip of world.ips.values()) hear((told) => told.ipObserved(ip));
    for (const service of [...world.services.values()].map(world.view).filter(isRelevant)) hear((told) => told.serviceObserved(service));
    hear((told) => told.vipsSynced());
  };
  const self: Watching = { hear, tellAll };
  return {
    open: (told: VipListener): Promise<void> => {
      listener = told;
      world.watches.add(self);
      tellAll();
      return new Promise((resolve) => (world.served ? hear(() => resolve()) : resolve()));
    },
    tellAll,
    hold: () => {
      held = true;
    },
    resume: () => {
      held = false;
      deliver();
    },
    close: () => {
      listener = null;
      world.watches.delete(self);
    },
  };
};
