import { expect, test } from 'vitest';
import type { KillPoint } from '../../../actors/ports/observers.ts';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { GroupWorld } from '../routedip/group-world.ts';

const FIRST = '192.0.2.1';
const MINUTE = 60_000;

interface Crash {
  readonly point: KillPoint;
  /** The operator ends at this one of the moments of that sort. */
  readonly at: number;
  /** The records are lost with it. */
  readonly wiped: boolean;
}

/** Runs until `isOver`, with an operator that ends in the middle and another one after it; answers whether it did. */
async function through(world: GroupWorld, { point, at, wiped }: Crash, isOver: () => boolean): Promise<boolean> {
  let left = at;
  const first = await world.operator((reached) => {
    if (reached === point) left -= 1;
    return left === 0;
  });
  await world.clock.runUntil(() => first.dead || isOver(), 10 * MINUTE);
  const hasDied = first.dead;
  if (!hasDied) first.kill();
  if (hasDied && wiped) world.store.wipe();
  await world.operator();
  await world.clock.runUntil(isOver, 20 * MINUTE).catch((cause: unknown) => {
    throw new Error(`killed ${point} number ${at}: ${JSON.stringify(world.reserved())} ${world.jobs.actions.join(' ')}`, { cause });
  });
  return hasDied;
}

const isStable = (world: GroupWorld, ref: ObjectRef) => (): boolean => world.statusOf(ref).state === 'Stable';

const POINTS: readonly KillPoint[] = ['beforeWrite', 'afterWrite', 'afterDispatch', 'beforeSend', 'beforeReplyRead', 'afterReply'];

test.each(POINTS.flatMap((point) => [false, true].map((wiped) => ({ point, wiped }))))(
  'a RoutedIP whose operator dies $point (records lost: $wiped), again and again, has one address of its group, and gives it back',
  async ({ point, wiped }) => {
    let deaths = 0;
    for (let at = 1; at <= 8; at += 1) {
      const world = new GroupWorld({ jobs: { takesMs: 500 } });
      world.group();
      world.groupClass();
      const ref = world.wants('shop');
      const crash = { point, at, wiped };
      deaths += Number(await through(world, crash, isStable(world, ref)));
      expect([at, world.reserved(), world.addressOf(ref)]).toEqual([at, { [FIRST]: 'RoutedIP web/shop' }, FIRST]);
      for (const process of world.processes) process.kill();
      world.cluster.markDeleting(ref);
      // Of what nobody remembers the second look is made a minute after the first.
      deaths += Number(await through(world, crash, () => world.cluster.pool(ref) === null && Object.keys(world.reserved()).length === 0));
      expect([at, world.reserved(), world.jobs.overlaps, world.faults()]).toEqual([at, {}, [], []]);
      expect(world.jobs.actions).not.toContain('create');
    }
    expect(deaths).toBeGreaterThanOrEqual(2);
  },
);
