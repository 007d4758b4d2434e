import { describe, expect, test } from 'vitest';
import type { KillPoint } from '../../../actors/ports/observers.ts';
import type { JobScript } from '../../../adapters/memory/job-driver.ts';
import { JobsWorld, jobDriven, KEY, OLD, YOUNG } from './world.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const ADDRESS = '198.51.100.1';
const UNABLE: JobScript = { kind: 'exit', code: 65 };

/** Served on node young, then made to move to old by an assign that goes by the script, of a template that cannot find. */
async function moving(script: JobScript, before: (driven: Awaited<ReturnType<typeof jobDriven>>) => Promise<void> = async () => {}) {
  const driven = await jobDriven({}, { jobs: { deadlineMs: 15 * MINUTE } });
  const { world, ref } = driven;
  await world.stable(ref, 'young', 2 * MINUTE);
  await before(driven);
  world.jobs.script('assign', script);
  for (let i = 0; i < 9; i++) world.jobs.script('find', UNABLE);
  const first = world.jobs.created.length;
  const runs = (action: string) => world.jobs.actions.slice(first).filter((each) => each === action).length;
  const until = (happened: () => boolean, ms = 2 * MINUTE) => world.clock.runUntil(happened, ms);
  world.cluster.setNode({ ...YOUNG, ready: false });
  return { ...driven, runs, until };
}

type Driven = Pick<Awaited<ReturnType<typeof jobDriven>>, 'world' | 'process'>;

const killed = async ({ world, process }: Driven): Promise<void> => {
  process.kill();
  await world.operator();
};
const stopped = async ({ world, process }: Driven): Promise<void> => {
  await process.stop();
  await world.operator();
};
const wiped = async ({ world }: Driven): Promise<void> => {
  world.queues.wipe();
  world.store.restart();
};

describe('a Job that assigns for longer than anything else takes', () => {
  const LONG: JobScript = { kind: 'exit', code: 0, afterMs: 12 * MINUTE };

  test('is waited for, and its end is heard', async () => {
    const { world, ref, runs } = await moving(LONG);
    await world.stable(ref, 'old', 13 * MINUTE);
    expect([runs('assign'), runs('find'), world.heldBy(ADDRESS)]).toEqual([1, 0, 'old']);
    expect(world.log.filter(({ message }) => message === 'what was waited for did not come in time')).toEqual([]);
  });

  test('is asked for again when the queue has lost what follows it, and followed on', async () => {
    const { world, ref, runs, until } = await moving(LONG);
    await until(() => runs('assign') === 1);
    await world.clock.advance(10 * SECOND);
    for (const { id } of world.queues.jobs(KEY)) await world.queues.queue(KEY).remove(id);
    await world.clock.advance(6 * MINUTE);
    expect(world.log.filter(({ message }) => message === 'what was waited for did not come in time')).toHaveLength(1);
    await world.stable(ref, 'old', 7 * MINUTE);
    expect([runs('assign'), runs('find')]).toEqual([1, 0]);
  });

  test.each([
    ['the leader dies', killed],
    ['the leader is stopped', stopped],
    ['Redis is restarted', async ({ world }) => world.store.restart()],
    ['Redis has lost its queues, and is restarted', wiped],
    [
      'two leaders die one after the other',
      async ({ world, process }) => {
        process.kill();
        const second = await world.operator();
        await world.clock.runUntil(() => second.supervisor.leading, MINUTE);
        second.kill();
        await world.operator();
      },
    ],
  ] as readonly (readonly [string, (driven: Awaited<ReturnType<typeof jobDriven>>) => Promise<void>])[])(
    'is followed on when %s: no second one, and its end is heard',
    async (_, happens) => {
      const driven = await moving(LONG);
      const { world, ref, runs, until } = driven;
      await until(() => runs('assign') === 1);
      await world.clock.advance(MINUTE);
      await happens(driven);
      await world.stable(ref, 'old', 15 * MINUTE);
      expect([runs('assign'), runs('find'), world.heldBy(ADDRESS), world.jobs.overlaps]).toEqual([1, 0, 'old', []]);
    },
  );

  test.each(['beforeWrite', 'afterWrite', 'afterDispatch', 'beforeSend'] as const satisfies readonly KillPoint[])(
    'is followed on when the process dies %s, whenever that is',
    async (point) => {
      let hits = 0;
      for (let at = 1; at <= 8; at++) {
        let left = Number.POSITIVE_INFINITY;
        let doomed: Awaited<ReturnType<JobsWorld['operator']>> | undefined;
        const driven = await moving({ kind: 'exit', code: 0, afterMs: 10 * MINUTE }, async ({ world, process }) => {
          process.kill();
          const next = await world.operator((reached) => {
            if (reached !== point) return false;
            left -= 1;
            return left === 0;
          });
          doomed = next;
          await world.clock.runUntil(() => next.supervisor.leading, MINUTE);
          await world.clock.advance(10 * SECOND);
          left = at;
        });
        const { world, ref, runs } = driven;
        await world.clock.runUntil(() => doomed?.dead === true || world.statusOf(ref).assignedNode === 'old', 12 * MINUTE);
        if (doomed?.dead) {
          hits += 1;
          await world.operator();
        }
        await world.stable(ref, 'old', 15 * MINUTE);
        expect([at, runs('assign'), world.heldBy(ADDRESS), world.jobs.overlaps]).toEqual([at, 1, 'old', []]);
      }
      expect(hits).toBeGreaterThan(1);
    },
  );
});

describe('a Job that says that this can never work', () => {
  test('of a template that cannot find, while its leader dies, is looked into once, and waits for no year', async () => {
    const { world, ref, process, runs, until } = await moving({ kind: 'exit', code: 65, afterMs: 40 * SECOND });
    await until(() => runs('assign') === 1);
    process.kill();
    world.jobs.script('assign', UNABLE);
    await world.operator();
    await until(() => world.statusOf(ref).state === 'CoolOff' && runs('assign') === 2, 5 * MINUTE);
    expect([world.statusOf(ref).inDoubt, runs('find')]).toEqual([undefined, 1]);
    await world.clock.advance(30 * MINUTE);
    expect(runs('assign')).toBe(2);
    world.jobClass({ perNodeIPLimit: 2 });
    await world.stable(ref, 'old', MINUTE);
    expect(runs('assign')).toBe(3);
  });

  test('is followed by another one under the next leader, and with other credentials', async () => {
    const { world, ref, process, runs, until } = await moving(UNABLE);
    await until(() => world.statusOf(ref).state === 'CoolOff');
    process.kill();
    world.jobs.script('assign', UNABLE);
    const next = await world.operator();
    await until(() => runs('assign') === 2);
    await world.clock.advance(10 * MINUTE);
    expect([runs('assign'), world.statusOf(ref).state]).toEqual([2, 'CoolOff']);
    const known = next.providers.all[KEY];
    next.providers.set(KEY, known ? { ...known } : null);
    await world.stable(ref, 'old', 20 * SECOND);
    expect(runs('assign')).toBe(3);
  });

  const SLOW: JobScript = { ...UNABLE, afterMs: 20 * SECOND };

  test('means nothing when its class was changed while it ran: the next one runs at once, and waits when that says so, too', async () => {
    const { world, ref, runs, until } = await moving(SLOW);
    await until(() => runs('assign') === 1);
    world.jobClass({ perNodeIPLimit: 2 });
    world.jobs.script('assign', SLOW);
    await until(() => runs('assign') === 2);
    await world.clock.advance(MINUTE);
    expect([runs('assign'), world.statusOf(ref).state]).toEqual([2, 'CoolOff']);
    world.jobClass({ perNodeIPLimit: 3 });
    await world.stable(ref, 'old', MINUTE);
    expect(runs('assign')).toBe(3);
  });

  test('after a change ended the wait for one, is waited for again', async () => {
    const { world, ref, runs, until } = await moving(UNABLE);
    await until(() => world.statusOf(ref).state === 'CoolOff');
    for (let i = 0; i < 2; i++) world.jobs.script('assign', UNABLE);
    world.jobClass({ perNodeIPLimit: 2 });
    await until(() => runs('assign') === 2);
    await world.clock.advance(MINUTE);
    expect([runs('assign'), world.statusOf(ref).state]).toEqual([2, 'CoolOff']);
  });

  test('although it is to make an address means nothing either when its class was changed while it ran', async () => {
    const { world, ref } = await jobDriven();
    for (let i = 0; i < 2; i++) world.jobs.script('create', SLOW);
    const runs = () => world.jobs.actions.filter((each) => each === 'create').length;
    await world.clock.runUntil(() => runs() === 1, MINUTE);
    world.jobClass({ perNodeIPLimit: 2 });
    await world.clock.runUntil(() => runs() === 2, MINUTE);
    await world.clock.advance(MINUTE);
    expect([runs(), world.reasonOf(ref, 'Degraded')]).toEqual([2, 'RoutedIPJobFailed']);
    world.jobClass({ perNodeIPLimit: 3 });
    await world.stable(ref, 'young', MINUTE);
    expect(runs()).toBe(3);
  });

  const creating = async () => {
    const world = new JobsWorld();
    world.jobClass({ routedIPFirewallName: '' });
    world.setNode(OLD, YOUNG);
    world.setWeb('shop', ['old', 'young']);
    world.jobs.script('create', UNABLE);
    const ref = world.setRoutedIP('shop');
    const process = await world.operator();
    await world.untilReason(ref, 'RoutedIPJobFailed', 'Degraded');
    const runs = () => world.jobs.actions.filter((each) => each === 'create').length;
    await world.clock.advance(30 * MINUTE);
    expect(runs()).toBe(1);
    return { world, ref, process, runs };
  };

  test.each([
    ['its class is changed', async ({ world }) => void world.jobClass({ routedIPFirewallName: '', perNodeIPLimit: 2 })],
    ['its RoutedIP is changed', async ({ world }) => void world.setRoutedIP('shop', { perNodeIPLimit: 2 })],
    [
      'there are other credentials',
      async ({ process }) => process.providers.set(KEY, { ...(process.providers.all[KEY] as never as object) } as never),
    ],
    ['another process leads', killed],
  ] as readonly (readonly [string, (created: Awaited<ReturnType<typeof creating>>) => Promise<void>])[])(
    'although it is to make an address is followed by another one at once when %s',
    async (_, happens) => {
      const created = await creating();
      await happens(created);
      await created.world.stable(created.ref, 'young', MINUTE);
      expect([created.runs(), created.world.jobs.platform.holders.size]).toEqual([2, 1]);
    },
  );

  test('although it is to make an address is followed by another one after an hour', async () => {
    const { world, ref, runs } = await creating();
    await world.stable(ref, 'young', 31 * MINUTE);
    expect(runs()).toBe(2);
  });
});

describe('a template that cannot find', () => {
  test('has an address assigned that is named in the spec, where any may be taken', async () => {
    const { world } = await jobDriven({ routedIPFirewallName: '', adoption: 'Any' });
    world.jobs.platform.takesAny = true;
    world.jobs.script('find', UNABLE);
    const ref = world.setRoutedIP('shop', { routedIP: '192.0.2.1' });
    await world.stable(ref, 'young', 2 * MINUTE);
    expect([world.jobs.actions.slice(0, 2), world.heldBy('192.0.2.1')]).toEqual([['find', 'assign'], 'young']);
  });

  test.each([
    ['says so', UNABLE],
    ['says nothing', { kind: 'pretend', says: {} }],
  ] as const)(
    'and %s has the address assigned anew to its former node when an assign to another one may have had an effect',
    async (_, says) => {
      const { world, ref } = await jobDriven({ routedIPFirewallName: '' });
      await world.stable(ref, 'young', 2 * MINUTE);
      world.jobs.script('assign', { kind: 'hang' });
      world.jobs.script('find', says);
      world.jobs.script('find', says);
      const first = world.jobs.created.length;
      world.cluster.setNode({ ...YOUNG, ready: false });
      await world.clock.runUntil(() => world.jobs.actions.slice(first).includes('assign'), 2 * MINUTE);
      // It has moved the address, and is killed before it says so.
      world.jobs.platform.holders.set(ADDRESS, OLD.providerID);
      world.cluster.setNode(YOUNG, { ...OLD, ready: false });
      await world.clock.runUntil(() => world.statusOf(ref).state === 'CoolOff', 10 * MINUTE);
      await world.stable(ref, 'young', 10 * MINUTE);
      expect([world.heldBy(ADDRESS), world.jobs.actions.slice(first), world.jobs.overlaps]).toEqual([
        'young',
        ['assign', 'find', 'assign'],
        [],
      ]);
    },
  );
});
