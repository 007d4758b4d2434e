import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { JobQueue } from '../../actors/ports/queues.ts';
import { describeAccidents } from './queues-accidents.ts';
import { done, gate, idle, job, type QueueStage, type QueuesHarness, Recorder } from './queues-harness.ts';

/** The suite that every implementation of the durable queues passes. */
export const describeQueues = (name: string, setup: () => Promise<QueuesHarness>): void => {
  describe(`the queues ${name}`, () => {
    let world: QueuesHarness;
    let queueName: string;
    let queue: JobQueue;
    beforeEach(async () => {
      world = await setup();
      queueName = `queue-${randomUUID()}`;
      queue = world.queues.queue(queueName);
    });
    afterEach(() => world.close());

    const stage: QueueStage = {
      get world() {
        return world;
      },
      get queue() {
        return queue;
      },
      get queueName() {
        return queueName;
      },
      another: (lockDurationMs) => world.another(lockDurationMs).queue(queueName),
    };

    describeOrder(stage);
    describeSteps(stage);
    describeKeeping(stage);
    describeNames(stage);
    describeAccidents(stage);
  });
};

const describeNames = (stage: QueueStage): void => {
  describe('a queue', () => {
    test('is named while anything is kept in it, and is gone with all its jobs once it was dropped', async () => {
      const { world, queue, queueName } = stage;
      expect(await world.queues.names()).not.toContain(queueName);
      const recorder = new Recorder(stage);
      const consumer = queue.consume(recorder.run, 1);
      await queue.add([job('a.1'), job('later', { delayMs: 60_000 }), job('first', { delayMs: 50_000, priority: 1 })]);
      await recorder.sees(1);
      await world.until('it is done', async () => (await queue.counts()).active === 0);
      await consumer.close(0);
      const other = `${queueName}0`;
      await world.queues.queue(other).add([job('stays', { delayMs: 60_000 })]);
      expect(await world.queues.names()).toEqual(expect.arrayContaining([queueName, other]));
      await world.queues.drop(queueName);
      const names = await world.another().names();
      expect(names).not.toContain(queueName);
      expect(names).toContain(other);
      expect([await queue.has('a.1'), await queue.has('later'), await queue.counts()]).toEqual([
        false,
        false,
        { waiting: 0, active: 0, delayed: 0, failed: 0 },
      ]);
      await world.queues.drop(other);
    });

    test('begins anew when it is used again after it was dropped', async () => {
      const { world, queue, queueName } = stage;
      await queue.add([job('a.1', { delayMs: 60_000 })]);
      await world.queues.drop(queueName);
      const recorder = new Recorder(stage);
      stage.another().consume(recorder.run, 1);
      await queue.add([job('a.1')]);
      await recorder.sees(1);
    });

    test('that this process leaves goes on for others', async () => {
      const { world, queue, queueName } = stage;
      await queue.add([job('a.1')]);
      await world.queues.leave(queueName);
      const recorder = new Recorder(stage);
      stage.another().consume(recorder.run, 1);
      await recorder.sees(1);
      expect(await queue.has('a.1')).toBe(true);
    });
  });
};

const describeOrder = (stage: QueueStage): void => {
  describe('a job', () => {
    test('is run by some process with the data it was given', async () => {
      const recorder = new Recorder(stage);
      stage.another().consume(recorder.run, 10);
      await stage.queue.add([job('pool/default/web/ip/2001%3Adb8.3.1.0', { data: { node: 'node-ä', list: [], nothing: null } })]);
      await recorder.sees(1);
      expect(recorder.runs[0]?.job).toMatchObject({
        id: 'pool/default/web/ip/2001%3Adb8.3.1.0',
        data: { node: 'node-ä', list: [], nothing: null },
        progress: null,
        rerun: false,
        starts: 1,
      });
      await idle(stage);
    });

    test('is refused when its id is none, an integer or bears a colon', async () => {
      for (const id of ['', '7', 'a:b']) await expect(stage.queue.add([job(id)]), id).rejects.toThrow('id');
      await stage.queue.add([job('7.a')]);
      expect(await stage.queue.counts()).toMatchObject({ waiting: 1 });
    });

    test('is there once however often its id is added, also after it ran', async () => {
      await stage.queue.add([job('a.1'), job('a.1')]);
      await stage.another().add([job('a.1', { data: 'other' })]);
      const recorder = new Recorder(stage);
      stage.queue.consume(recorder.run, 10);
      await recorder.sees(1);
      await idle(stage);
      await stage.queue.add([job('a.1'), job('a.2')]);
      await recorder.sees(2);
      expect(recorder.ids).toEqual(['a.1', 'a.2']);
      expect(recorder.runs[0]?.job.data).toEqual({ id: 'a.1' });
    });

    test('of lower priority number runs first, and of equal ones the earlier', async () => {
      const priorities = { low: 9, first: 1, usual: 5, second: 1 };
      for (const [id, priority] of Object.entries(priorities)) await stage.queue.add([job(id, { priority })]);
      const recorder = new Recorder(stage);
      stage.queue.consume(recorder.run, 1);
      await recorder.sees(4);
      expect(recorder.ids).toEqual(['first', 'second', 'usual', 'low']);
    });

    test('with a delay runs when it is due and not before', async () => {
      const recorder = new Recorder(stage);
      stage.queue.consume(recorder.run, 10);
      const added = stage.world.now();
      const delays = { late: 360, soon: 200, middle: 280 };
      await stage.queue.add(Object.entries(delays).map(([id, delayMs]) => job(id, { delayMs })));
      await recorder.sees(3);
      expect(recorder.ids).toEqual(['soon', 'middle', 'late']);
      // BullMQ counts in whole milliseconds of the wall clock.
      for (const { id, at } of recorder.runs) expect(at - added).toBeGreaterThanOrEqual(delays[id as keyof typeof delays] - 2);
    });

    test('with a delay is counted as such', async () => {
      await stage.queue.add([job('a.1', { delayMs: 60_000 }), job('a.2', { delayMs: 60_000 })]);
      expect(await stage.queue.counts()).toMatchObject({ delayed: 2, waiting: 0 });
    });

    test('waits while as many run as the consumer takes', async () => {
      const held = gate();
      const recorder = new Recorder(stage, async () => {
        await held.opened;
        return done;
      });
      stage.queue.consume(recorder.run, 2);
      await stage.queue.add([job('a.1'), job('a.2'), job('a.3')]);
      await recorder.sees(2);
      await stage.world.until('one waits', async () => (await stage.queue.counts()).waiting === 1);
      expect(await stage.queue.counts()).toMatchObject({ waiting: 1, active: 2 });
      held.open();
      await recorder.sees(3);
    });

    test('that is removed does not run; one that is unknown is no error', async () => {
      const recorder = new Recorder(stage);
      await stage.queue.add([job('gone.1'), job('gone.2', { delayMs: 50 }), job('stays', { delayMs: 150 })]);
      for (const id of ['gone.1', 'gone.2', 'unknown']) await stage.queue.remove(id);
      stage.queue.consume(recorder.run, 1);
      await recorder.sees(1);
      expect(recorder.ids).toEqual(['stays']);
    });

    test('that runs already goes on although it is removed', async () => {
      const held = gate();
      const recorder = new Recorder(stage, async () => {
        await held.opened;
        return done;
      });
      stage.queue.consume(recorder.run, 1);
      await stage.queue.add([job('a.1')]);
      await recorder.sees(1);
      await stage.queue.remove('a.1');
      held.open();
      await idle(stage);
      await stage.queue.add([job('a.2')]);
      await recorder.sees(2);
    });
  });
};

const describeSteps = (stage: QueueStage): void => {
  describe('a step', () => {
    test('that asks for another run gets it later, with its progress, as often as it likes', async () => {
      const recorder = new Recorder(stage, ({ progress }) =>
        progress === 5 ? done : { kind: 'again', afterMs: 40, progress: typeof progress === 'number' ? progress + 1 : 1 },
      );
      stage.queue.consume(recorder.run, 10);
      await stage.queue.add([job('poll', { priority: 5 })]);
      await recorder.sees(6);
      await idle(stage);
      expect(recorder.runs.map(({ job: { progress } }) => progress)).toEqual([null, 1, 2, 3, 4, 5]);
      expect(recorder.runs.every(({ job: { rerun } }) => !rerun)).toBe(true);
      expect(recorder.runs.map(({ job: { starts } }) => starts)).toEqual([1, 2, 3, 4, 5, 6]);
      const [queuedAt = 0, ...later] = recorder.runs.map((run) => run.job.queuedAt);
      expect(queuedAt).toBeGreaterThan(0);
      expect(later).toEqual(Array(5).fill(queuedAt));
      const times = recorder.runs.map(({ at }) => at);
      for (const [index, at] of times.slice(1).entries()) expect(at - (times[index] ?? at)).toBeGreaterThanOrEqual(38);
      expect(await stage.queue.counts()).toMatchObject({ failed: 0 });
    });

    test('that asks for another run at once keeps the data of the job, and is told of its calls', async () => {
      const recorder = new Recorder(stage, ({ progress }) =>
        progress === null ? { kind: 'again', afterMs: 0, progress: { step: 2 }, calls: 3 } : done,
      );
      stage.queue.consume(recorder.run, 1);
      await stage.queue.add([job('a.1', { data: { node: 'node-a' } })]);
      await recorder.sees(2);
      expect(recorder.runs[1]?.job).toMatchObject({ data: { node: 'node-a' }, progress: { step: 2 }, calls: 3 });
    });

    test('that throws fails the job, which is not tried again', async () => {
      const recorder = new Recorder(stage, ({ id }) => {
        if (id === 'bad') throw new Error('no');
        return done;
      });
      stage.queue.consume(recorder.run, 1);
      await stage.queue.add([job('bad'), job('good', { delayMs: 60 })]);
      await recorder.sees(2);
      await idle(stage);
      expect(recorder.ids).toEqual(['bad', 'good']);
      expect(await stage.queue.counts()).toMatchObject({ failed: 1 });
    });

    test('may go on for longer than a lock holds: it is renewed, and nobody else runs the job', async () => {
      const { world, queue } = stage;
      const other = stage.another();
      /** One job that takes two locks' time. */
      const attempt = async (id: string) => {
        const held = gate();
        const recorder = new Recorder(stage, async () => {
          await held.opened;
          return done;
        });
        const consumers = [queue, other].map((each) => each.consume(recorder.run, 1));
        await queue.add([job(id)]);
        await world.until('it runs', () => recorder.runs.length > 0);
        const running = recorder.runs[0]?.job;
        if (running === undefined) throw new Error('no run');
        const first = running.lock();
        const startedAt = world.now();
        const stoodMs = await world.pass(world.lockDurationMs * 2);
        const seen = { startedAt, stoodMs, first, last: running.lock(), at: world.now(), runs: recorder.runs.length };
        held.open();
        await idle(stage);
        await Promise.all(consumers.map((consumer) => consumer.close(60_000)));
        return seen;
      };
      let seen = await attempt('a.1');
      // Whoever stands still for longer than his lock holds loses it by right.
      for (let tries = 2; seen.stoodMs > world.lockDurationMs / 4 && tries <= 8; tries += 1) seen = await attempt(`a.${tries}`);
      expect(seen.first.durationMs).toBe(world.lockDurationMs);
      expect(seen.first.renewedAt).toBeLessThanOrEqual(seen.startedAt);
      expect(seen.last.renewedAt).toBeGreaterThan(seen.first.renewedAt);
      expect(seen.at - seen.last.renewedAt).toBeLessThan(world.lockDurationMs);
      expect(seen.runs).toBe(1);
    });
  });
};

const describeKeeping = (stage: QueueStage): void => {
  describe('progress', () => {
    test('is kept at once, for others to see, while the job runs and after it ended', async () => {
      const held = gate();
      const kept = gate();
      const recorder = new Recorder(stage, async ({ keep }) => {
        await keep({ action: 36804636 });
        kept.open();
        await held.opened;
        return done;
      });
      stage.queue.consume(recorder.run, 1);
      await stage.queue.add([job('a.1')]);
      await recorder.sees(1);
      await kept.opened;
      expect(await stage.another().progressOf('a.1')).toEqual({ action: 36804636 });
      held.open();
      await idle(stage);
      expect(await stage.another().progressOf('a.1')).toEqual({ action: 36804636 });
    });

    test('of a job that left none, or is unknown, is null', async () => {
      await stage.queue.add([job('a.1', { delayMs: 60_000 })]);
      expect(await stage.queue.progressOf('a.1')).toBeNull();
      expect(await stage.queue.progressOf('unknown')).toBeNull();
      expect(await stage.queue.has('a.1')).toBe(true);
      expect(await stage.queue.has('unknown')).toBe(false);
    });
  });

  describe('how a job stands', () => {
    test('is told while it waits for its turn, is put off or runs, with its starts, and no more once it has ended', async () => {
      const held = [gate(), gate()];
      const recorder = new Recorder(stage, async ({ starts }) => {
        await held[starts - 1]?.opened;
        return starts === 1 ? { kind: 'again', afterMs: 1, progress: null } : done;
      });
      await stage.queue.add([job('a.1'), job('a.2', { delayMs: 60_000 })]);
      const stands = (id: string) => stage.another().standOf(id);
      expect([await stands('a.1'), await stands('a.2')]).toEqual(Array(2).fill({ isRunning: false, starts: 0 }));
      stage.queue.consume(recorder.run, 1);
      await recorder.sees(1);
      expect(await stands('a.1')).toEqual({ isRunning: true, starts: 1 });
      held[0]?.open();
      await recorder.sees(2);
      expect(await stands('a.1')).toEqual({ isRunning: true, starts: 2 });
      held[1]?.open();
      await stage.world.until('it has ended', async () => (await stands('a.1')) === null);
      expect([await stage.queue.has('a.1'), await stands('unknown')]).toEqual([true, null]);
    });
  });

  describe('a consumer that closes', () => {
    test('ends the jobs that it runs and takes no more', async () => {
      const held = gate();
      const recorder = new Recorder(stage, async () => {
        await held.opened;
        return done;
      });
      const consumer = stage.queue.consume(recorder.run, 1);
      await stage.queue.add([job('a.1'), job('a.2')]);
      await recorder.sees(1);
      const closed = consumer.close(60_000);
      held.open();
      await closed;
      expect(recorder.ids).toEqual(['a.1']);
      expect(await stage.queue.counts()).toMatchObject({ waiting: 1, active: 0, failed: 0 });
      const next = new Recorder(stage);
      stage.another().consume(next.run, 1);
      await next.sees(1);
      expect(next.runs[0]?.job).toMatchObject({ id: 'a.2', rerun: false });
    });

    test('leaves a job that does not end in time to others, as a re-run', async () => {
      const recorder = new Recorder(stage, () => new Promise(() => undefined));
      const consumer = stage.queue.consume(recorder.run, 1);
      await stage.queue.add([job('a.1')]);
      await recorder.sees(1);
      const closed = consumer.close(50);
      await stage.world.pass(60);
      await closed;
      const next = new Recorder(stage);
      stage.another().consume(next.run, 1);
      await next.sees(1, stage.world.lockDurationMs + stage.world.noticedMs);
      expect(next.runs[0]?.job.rerun).toBe(true);
    });
  });
};
