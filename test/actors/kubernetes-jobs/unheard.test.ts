import { describe, expect, test } from 'vitest';
import { consumeJobs, type WorkerPorts } from '../../../actors/jobs/worker.ts';
import { Unreachable } from '../../../actors/ports/errors.ts';
import type { JobDriver } from '../../../actors/ports/job-driver.ts';
import type { Json, RecordStore } from '../../../actors/ports/records.ts';
import { DEFAULT_SETTINGS } from '../../../actors/ports/settings.ts';
import { OUTCOMES } from '../../../actors/runtime/queue-data.ts';
import { jobsOnly } from '../../../adapters/accounts/jobs-only.ts';
import { virtualClock } from '../../../adapters/memory/clock.ts';
import { MemoryJobs } from '../../../adapters/memory/job-driver.ts';
import { memoryQueues } from '../../../adapters/memory/queues.ts';

const ADDRESS = '198.51.100.1';
const COMMAND = 'rip.web.shop.ip.1.7.0';
const [OLD, YOUNG, OTHER] = ['example://old', 'example://young', 'example://other'];
const QUEUE = 'job.http';
const MINUTE = 60_000;

interface Given {
  readonly inDoubtUntil?: number;
  /** What the command before left. */
  readonly former?: Json;
}

/** The job that assigns the address, which node old holds, to node young by Jobs, as a worker runs it. */
function assigning({ inDoubtUntil, former }: Given = {}) {
  const clock = virtualClock();
  const queues = memoryQueues(clock);
  const jobs = new MemoryJobs(clock);
  jobs.platform.holders.set(ADDRESS, OLD ?? null);
  const store = { fence: async () => ({ commandId: COMMAND, term: 1, isElsewhere: false }) } as unknown as RecordStore;
  const outage = { isAway: false, isHeld: () => false, settledAt: 0 };
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const base = jobs.driver();
  /** What the API server makes of a call. */
  let answers: (run: JobDriver['run']) => JobDriver['run'] = (run) => run;
  let looked = (): unknown => undefined;
  const driver: JobDriver = {
    ...base,
    run: (...asked) => answers(base.run)(...asked),
    look: (request) => base.look(request).finally(() => looked()),
  };
  const consume = (own = queues) =>
    consumeJobs(
      QUEUE,
      jobsOnly(QUEUE, driver),
      {
        ...{ queues: own, store, clock, log, outage, probe: () => undefined, settings: DEFAULT_SETTINGS },
        leadership: { lease: () => ({ renewedAt: clock.monotonic(), durationMs: 15_000 }), seenTerm: () => 1 },
      } as unknown as WorkerPorts,
      10,
    );
  const subject = {
    ...{ namespace: 'web', name: 'shop', uid: 'uid-1', epoch: 2, region: '', reclaimPolicy: 'Delete', previous: null, ports: [] },
    ...{ serviceNamespace: 'web', serviceName: 'shop', firewall: '' },
  };
  const input = { provider: QUEUE, address: ADDRESS, holder: OLD, node: { name: 'young', providerID: YOUNG }, subject };
  const resumes = former === undefined ? null : `${COMMAND}.former`;
  const begin = async (): Promise<void> => {
    const own = queues.connect();
    if (resumes !== null) {
      const left = own.queue(QUEUE).consume(async () => ({ kind: 'again', afterMs: 60 * MINUTE, progress: former ?? null }), 1);
      await own.queue(QUEUE).add([{ id: resumes, title: 'former', data: null }]);
      await clock.advance(1);
      await left.close(0);
    }
    consume();
    const data = {
      ...{ actor: `rip/web/shop/ip/${ADDRESS}`, invokeId: 'assign', commandId: COMMAND, term: 1, job: 'assign', resumes },
      input: { ...input, inDoubtUntil: inDoubtUntil ?? null },
    } as unknown as Json;
    await queues
      .connect()
      .queue(QUEUE)
      .add([{ id: COMMAND, title: 'assign', data }]);
  };
  const outcome = () =>
    (queues.jobs(OUTCOMES).find(({ id }) => id === `${COMMAND}.outcome`)?.data as { outcome?: Json } | undefined)?.outcome;
  return {
    clock,
    jobs,
    outage,
    begin,
    outcome,
    ended: () => clock.runUntil(() => outcome() !== undefined, 5 * MINUTE),
    created: (action: string) => clock.runUntil(() => jobs.actions.includes(action), MINUTE),
    /** The next call that creates such a Job does so, and is not answered: it fails, or hangs. */
    loses: (action: string, hangs = false) => {
      answers = (run) => async (request, known, fence) => {
        const { length } = jobs.created;
        const state = await run(request, known, fence);
        if (request.action !== action || jobs.created.length === length) return state;
        answers = (calls) => calls;
        if (hangs) return new Promise(() => undefined);
        throw new Unreachable('no answer came');
      };
    },
    /** The next call about such a Job does not get through. */
    cuts: (action: string) => {
      answers = (run) => async (request, known, fence) => {
        if (request.action !== action) return run(request, known, fence);
        answers = (calls) => calls;
        throw new Unreachable('cut off');
      };
    },
    /** What happens right after somebody has looked for the Job. */
    onceLooked: (happens: () => unknown) => {
      looked = happens;
    },
    /** The process dies, and another one goes on once the lock of its job is over. */
    dies: () => {
      queues.crashConsumers();
      consume(queues.connect());
    },
  };
}

const there = { output: { providerID: YOUNG } };

describe('a Job that assigns and was deleted before anybody heard that it was created', () => {
  test('has done what a Job that finds says, after its process died', async () => {
    const { jobs, begin, loses, created, dies, ended, outcome } = assigning();
    loses('assign', true);
    await begin();
    await created('assign');
    dies();
    jobs.remove('assign');
    await ended();
    expect([jobs.actions, outcome()]).toEqual([['assign', 'find', 'assign'], there]);
  });

  test('has done what a Job that finds says, after its creation was not answered', async () => {
    const { clock, jobs, begin, created, loses, ended, outcome } = assigning();
    loses('assign');
    await begin();
    await created('assign');
    await clock.advance(0);
    jobs.remove('assign');
    await ended();
    expect([jobs.actions, outcome()]).toEqual([['assign', 'find', 'assign'], there]);
  });

  test('is not followed by another one where it has done it', async () => {
    const { jobs, begin, created, loses, ended, outcome } = assigning();
    loses('assign');
    await begin();
    await created('assign');
    jobs.platform.holders.set(ADDRESS, YOUNG ?? null);
    jobs.remove('assign');
    await ended();
    expect([jobs.actions, outcome()]).toEqual([['assign', 'find'], there]);
  });

  test('is looked for anew each time', async () => {
    const { clock, jobs, begin, loses, ended, outcome } = assigning();
    for (const times of [1, 2]) {
      loses('assign');
      if (times === 1) await begin();
      await clock.runUntil(() => jobs.actions.filter((action) => action === 'assign').length === times, MINUTE);
      await clock.advance(0);
      jobs.remove('assign');
    }
    await ended();
    expect([jobs.actions, outcome()]).toEqual([['assign', 'find', 'assign', 'find', 'assign'], there]);
  });

  test('goes on where it is still there', async () => {
    const { jobs, begin, loses, ended, outcome } = assigning();
    loses('assign');
    await begin();
    await ended();
    expect([jobs.actions, outcome()]).toEqual([['assign'], there]);
  });
});

test('a Job that was there when it was looked for, and is not any more, may have done anything', async () => {
  const { jobs, begin, loses, onceLooked, ended, outcome } = assigning();
  loses('assign');
  onceLooked(() => jobs.remove('assign'));
  await begin();
  await ended();
  expect(jobs.actions).toEqual(['assign']);
  expect(outcome()).toMatchObject({ error: { kind: 'Unavailable', unknownOutcome: true } });
});

describe('a Job that finds', () => {
  test('is heard once, also when the Job that assigns cannot be created then', async () => {
    const { clock, jobs, begin, cuts, ended, outcome } = assigning({ inDoubtUntil: 0 });
    cuts('assign');
    await begin();
    await clock.advance(0);
    await ended();
    expect([jobs.actions, outcome()]).toEqual([['find', 'assign'], there]);
  });

  test('is heard when the store comes back meanwhile', async () => {
    const { clock, jobs, outage, begin, created, ended, outcome } = assigning();
    outage.isAway = true;
    await begin();
    await created('find');
    jobs.platform.holders.set(ADDRESS, OTHER ?? null);
    outage.isAway = false;
    await clock.advance(0);
    await ended();
    expect(jobs.actions).toEqual(['find']);
    expect(outcome()).toMatchObject({ error: { kind: 'Conflict' } });
  });

  test('says where an address is that is in doubt, also when the command before only waited for another Job', async () => {
    const slots = { assign: { job: null, ended: null, busySince: 1 } };
    const { jobs, begin, ended, outcome } = assigning({ inDoubtUntil: 0, former: { command: 'former', slots, waited: [] } });
    await begin();
    await ended();
    expect([jobs.actions, outcome()]).toEqual([['find', 'assign'], there]);
  });
});
