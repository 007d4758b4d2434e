import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { bullQueues } from '../../adapters/bullmq/queues.ts';
import { virtualClock } from '../../adapters/memory/clock.ts';
import { type MemoryQueues, memoryQueues } from '../../adapters/memory/queues.ts';
import { patientClient } from '../../adapters/redis/client.ts';
import { redisLink } from '../../adapters/redis/link.ts';
import { systemClock } from '../../adapters/system/clock.ts';
import { endWithParent } from '../../tools/leash.mjs';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { PATIENCE_MS, waitFor } from '../support/wait-for.ts';
import { describeQueues } from './queues.ts';
import type { DoomedProcess } from './queues-harness.ts';

const doomedInMemory = (process: MemoryQueues, queue: string, advance: () => Promise<void>): DoomedProcess => {
  const kept = new Set<string>();
  process.queue(queue).consume(async ({ id, keep }) => {
    await keep('half way');
    kept.add(id);
    return new Promise(() => undefined);
  }, 10);
  return {
    kept: async (id) => {
      for (let tries = 0; !kept.has(id); tries++) {
        if (tries > 1_000) throw new Error(`the doomed process never ran ${id}`);
        await advance();
      }
    },
    kill: async () => void process.reopen(),
  };
};

describeQueues('in memory', async () => {
  const clock = virtualClock();
  const queues = memoryQueues(clock, { lockDurationMs: 5_000 });
  return {
    queues,
    lockDurationMs: 5_000,
    noticedMs: 100,
    another: () => queues.connect(),
    now: clock.monotonic,
    until: async (what, holds, maxMs = 5_000) => {
      await clock.settle();
      for (let passed = 0; !(await holds()); passed += 10) {
        if (passed > maxMs) throw new Error(`not within ${maxMs} ms: ${what}`);
        await clock.advance(10);
      }
    },
    pass: async (ms) => {
      await clock.advance(ms);
      return 0;
    },
    startDoomed: async (queue) => doomedInMemory(queues.connect(), queue, () => clock.advance(10)),
    wipe: async () => queues.wipe(),
    goDown: async () => queues.goDown(),
    comeBack: async () => queues.comeBack(),
    close: () => queues.close(),
  };
});

let redis: TestRedis;
const children = new Set<ChildProcess>();
beforeAll(async () => {
  redis = await startTestRedis({ aof: true });
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await redis.stop();
});

const lockDurationMs = 1_500;
const prefix = '{queues}';

const spawnDoomed = async (queue: string): Promise<DoomedProcess> => {
  const script = join(import.meta.dirname, 'doomed-consumer.ts');
  const child = spawn(process.execPath, [script, redis.url, prefix, queue, String(lockDurationMs)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.add(child);
  const leash = child.pid === undefined ? null : endWithParent(child.pid);
  child.once('exit', () => leash?.release());
  let said = '';
  child.stdout.on('data', (data: Buffer) => {
    said += data.toString();
  });
  return {
    kept: (id) => waitFor(`the doomed process keeps progress of ${id}`, () => said.includes(`kept ${id}\n`), PATIENCE_MS),
    kill: async () => {
      child.kill('SIGKILL');
      await once(child, 'exit');
      children.delete(child);
    },
  };
};

const clock = systemClock();

/** The machine stands still while this process does, and while Redis does, by whose clock locks end. */
const pass = async (ms: number): Promise<number> => {
  const end = clock.monotonic() + ms;
  let stoodMs = 0;
  while (clock.monotonic() < end) {
    const lookedAt = clock.monotonic();
    const pauseMs = Math.min(50, end - lookedAt);
    await new Promise<void>((resolve) => void clock.after(pauseMs, resolve));
    await redis.command('PING').catch(() => undefined);
    stoodMs = Math.max(stoodMs, clock.monotonic() - lookedAt - pauseMs);
  }
  return stoodMs;
};

describeQueues('over BullMQ', async () => {
  const closing: (() => Promise<void>)[] = [];
  const open = (lockMs = lockDurationMs) => {
    const link = redisLink({ url: redis.operatorUrl, commandTimeoutMs: PATIENCE_MS });
    const queues = bullQueues({
      link,
      connectPatient: () => patientClient({ url: redis.operatorUrl }),
      prefix,
      clock,
      lockDurationMs: lockMs,
      stalledIntervalMs: 300,
    });
    closing.push(queues.close, link.close);
    return queues;
  };
  return {
    queues: open(),
    lockDurationMs,
    noticedMs: 20_000,
    another: open,
    now: clock.monotonic,
    until: (what, holds, maxMs = 20_000) => waitFor(what, holds, maxMs),
    pass,
    startDoomed: spawnDoomed,
    wipe: redis.flushAll,
    goDown: redis.crash,
    comeBack: redis.restart,
    close: async () => {
      for (const close of closing) await close();
      expect(await redis.refused()).toEqual([]);
    },
  };
});
