import { describe, expect, test } from 'vitest';
import { Fenced, Unreachable } from '../../actors/ports/errors.ts';
import { done, gate, idle, job, type QueueStage, Recorder } from './queues-harness.ts';

/** Killed processes, outages and emptied servers. */
export const describeAccidents = (stage: QueueStage): void => {
  describe('a job whose process is killed', () => {
    test('runs again elsewhere, as a re-run, with the progress that was kept', async () => {
      const { world, queue } = stage;
      const doomed = await world.startDoomed(stage.queueName);
      await queue.add([job('a.1')]);
      await doomed.kept('a.1');
      const recorder = new Recorder(stage);
      queue.consume(recorder.run, 10);
      const killed = world.now();
      await doomed.kill();
      await recorder.sees(1, world.lockDurationMs + world.noticedMs);
      expect(recorder.runs[0]?.job).toMatchObject({ id: 'a.1', data: { id: 'a.1' }, progress: 'half way', rerun: true });
      // Not before the lock is over: the process might still live. It was renewed up to half of its time ago.
      expect((recorder.runs[0]?.at ?? 0) - killed).toBeGreaterThanOrEqual(world.lockDurationMs * 0.2);
      await idle(stage);
    });

    test('is no re-run any more once it asked for another run', async () => {
      const { world, queue } = stage;
      const doomed = await world.startDoomed(stage.queueName);
      await queue.add([job('a.1')]);
      await doomed.kept('a.1');
      await doomed.kill();
      const recorder = new Recorder(stage, ({ progress }) =>
        progress === 'more' ? done : { kind: 'again', afterMs: 20, progress: 'more' },
      );
      queue.consume(recorder.run, 10);
      await recorder.sees(2, world.lockDurationMs + world.noticedMs + 1_000);
      expect(recorder.runs.map(({ job: { progress, rerun } }) => ({ progress, rerun }))).toEqual([
        { progress: 'half way', rerun: true },
        { progress: 'more', rerun: false },
      ]);
    });

    test('stays a re-run when it asks for another run without having kept anything', async () => {
      const { world, queue } = stage;
      const doomed = await world.startDoomed(stage.queueName);
      await queue.add([job('a.1')]);
      await doomed.kept('a.1');
      await doomed.kill();
      const recorder = new Recorder(stage, ({ progress }) => (progress === null ? done : { kind: 'again', afterMs: 20, progress: null }));
      queue.consume(recorder.run, 10);
      await recorder.sees(2, world.lockDurationMs + world.noticedMs + 1_000);
      expect(recorder.runs.map(({ job: { progress, rerun } }) => ({ progress, rerun }))).toEqual([
        { progress: 'half way', rerun: true },
        { progress: null, rerun: true },
      ]);
    });

    test('runs again however often that happens', async () => {
      const { world, queue } = stage;
      await queue.add([job('a.1')]);
      for (let times = 0; times < 3; times++) {
        const doomed = await world.startDoomed(stage.queueName);
        await doomed.kept('a.1');
        await doomed.kill();
      }
      const recorder = new Recorder(stage);
      queue.consume(recorder.run, 1);
      await recorder.sees(1, world.lockDurationMs + world.noticedMs);
      await idle(stage);
      expect(await queue.counts()).toMatchObject({ failed: 0 });
    });
  });

  describe('a job that ends its process', () => {
    test('says how often in a row, and begins to count anew when it asks for another run', async () => {
      const { world, queue } = stage;
      await queue.add([job('a.1')]);
      for (let times = 0; times < 2; times++) {
        const doomed = await world.startDoomed(stage.queueName);
        await doomed.kept('a.1');
        await doomed.kill();
      }
      const recorder = new Recorder(stage, ({ deaths }) => (deaths === 0 ? done : { kind: 'again', afterMs: 20, progress: null }));
      queue.consume(recorder.run, 1);
      await recorder.sees(2, world.lockDurationMs + world.noticedMs);
      expect(recorder.runs.map((run) => run.job.deaths)).toEqual([2, 0]);
      await idle(stage);
    });
  });

  describe('an outage', () => {
    test('makes calls Unreachable, and afterwards the same consumer goes on', async () => {
      const { world, queue } = stage;
      const recorder = new Recorder(stage);
      queue.consume(recorder.run, 1);
      await queue.add([job('a.1')]);
      await recorder.sees(1);
      await idle(stage);
      await world.goDown();
      const calls = {
        add: () => queue.add([job('a.2')]),
        progressOf: () => queue.progressOf('a.1'),
        has: () => queue.has('a.1'),
        standOf: () => queue.standOf('a.1'),
        remove: () => queue.remove('a.1'),
        counts: () => queue.counts(),
      };
      await Promise.all(Object.entries(calls).map(([method, call]) => expect(call(), method).rejects.toBeInstanceOf(Unreachable)));
      await world.comeBack();
      await world.until('it answers', () => queue.counts().then(Boolean, () => false));
      await queue.add([job('a.3')]);
      await recorder.sees(2);
      expect(recorder.ids).toEqual(['a.1', 'a.3']);
    });

    test('loses no job that was acknowledged, delayed ones neither', async () => {
      const { world, queue } = stage;
      await queue.add([job('a.1'), job('a.2', { delayMs: 100 })]);
      await world.goDown();
      await world.comeBack();
      const recorder = new Recorder(stage);
      queue.consume(recorder.run, 1);
      await recorder.sees(2);
      expect(recorder.ids).toEqual(['a.1', 'a.2']);
    });

    test('shorter than a lock lets the job that ended meanwhile be done', async () => {
      const { world, queue } = stage;
      const held = gate();
      const recorder = new Recorder(stage, async () => {
        await held.opened;
        return done;
      });
      // However long the machine takes to start a server.
      stage.another(120_000).consume(recorder.run, 1);
      await queue.add([job('a.1')]);
      await recorder.sees(1);
      await world.goDown();
      held.open();
      await world.comeBack();
      await world.until('done', () =>
        queue.counts().then(
          ({ active, waiting, delayed }) => active + waiting + delayed === 0,
          () => false,
        ),
      );
      expect(await queue.counts()).toMatchObject({ failed: 0 });
      expect(recorder.runs).toHaveLength(1);
    });

    test('longer than a lock shows in the lock, lets nothing be kept, and the job runs again', async () => {
      const { world, queue } = stage;
      const held = gate();
      const recorder = new Recorder(stage, async ({ rerun }) => {
        if (!rerun) await held.opened;
        return done;
      });
      queue.consume(recorder.run, 1);
      await queue.add([job('a.1')]);
      await recorder.sees(1);
      const first = recorder.runs[0]?.job;
      if (first === undefined) throw new Error('no run');
      await world.goDown();
      const late: unknown = await first.keep('late').catch((error: unknown) => error);
      // Whoever stood still for as long as his lock holds knows without asking that it is over.
      if (world.now() - first.lock().renewedAt < world.lockDurationMs) expect(late).toBeInstanceOf(Unreachable);
      else expect([Unreachable, Fenced].some((kind) => late instanceof kind)).toBe(true);
      await world.pass(world.lockDurationMs + 10);
      expect(world.now() - first.lock().renewedAt).toBeGreaterThanOrEqual(world.lockDurationMs);
      held.open();
      await world.comeBack();
      await recorder.sees(2, world.lockDurationMs + world.noticedMs + 6_000);
      expect(recorder.runs[1]?.job).toMatchObject({ id: 'a.1', rerun: true, progress: null });
      await expect(first.keep('too late')).rejects.toBeInstanceOf(Fenced);
      await idle(stage);
    });
  });

  describe('a server that is emptied', () => {
    test('while a job runs loses that job and nothing after it', async () => {
      const { world, queue } = stage;
      const held = gate();
      const kept = Promise.withResolvers<unknown>();
      const recorder = new Recorder(stage, async ({ id, keep }) => {
        if (id !== 'a.1') return done;
        await held.opened;
        await keep('x').then(kept.resolve, kept.resolve);
        return done;
      });
      queue.consume(recorder.run, 1);
      await queue.add([job('a.1'), job('waits'), job('later', { delayMs: 60_000 })]);
      await recorder.sees(1);
      await world.wipe();
      held.open();
      expect(await kept.promise).toBeInstanceOf(Fenced);
      await queue.add([job('a.2')]);
      await recorder.sees(2, 10_000);
      expect(recorder.ids).toEqual(['a.1', 'a.2']);
      await idle(stage);
      expect(await queue.progressOf('later')).toBeNull();
    });
  });
};
