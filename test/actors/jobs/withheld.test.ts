import { describe, expect, test } from 'vitest';
import { closed, withheldIn } from '../../../actors/jobs/withheld.ts';
import { Fenced, failureOf, Withheld } from '../../../actors/ports/errors.ts';
import type { Fence } from '../../../actors/ports/fence.ts';
import type { JobRequest } from '../../../actors/ports/job-driver.ts';
import type { Json } from '../../../actors/ports/records.ts';
import { virtualClock } from '../../../adapters/memory/clock.ts';
import { MemoryJobs } from '../../../adapters/memory/job-driver.ts';
import type { JobName } from '../../../machines/jobs.ts';
import { backoffMs } from '../../../machines/model/backoff.ts';

const OPEN: Fence = { read: async () => undefined, assertFresh: () => undefined };
const asked = (job: JobName, input: Json, actor = 'rip/default/shop') => ({ job, input, actor });
const thrownBy = (run: () => void): unknown => {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
};

describe('the fence of an operator that only observes', () => {
  test.each<[JobName, Json, object]>([
    ['intendCreate', { owner: { kind: 'RoutedIP' } }, { what: 'create', subject: 'a new address', from: null, to: 'rip/default/shop' }],
    ['create', { offer: { address: '10.0.0.1' } }, { what: 'allocate', subject: '10.0.0.1', from: null, to: 'rip/default/shop' }],
    ['reserveVip', { address: '10.0.0.2' }, { what: 'allocate', subject: '10.0.0.2', from: null, to: 'rip/default/shop' }],
    [
      'releaseVip',
      { ips: [{ address: '10.0.0.2' }, { address: '10.0.0.3' }] },
      { what: 'release', subject: '10.0.0.2, 10.0.0.3', from: 'rip/default/shop', to: null },
    ],
    ['freeVips', { ips: [] }, { what: 'release', subject: 'its finalizer', from: 'rip/default/shop', to: null }],
    ['assign', { address: '10.0.0.4' }, { what: 'run', subject: 'job assign', from: null, to: 'rip/default/shop' }],
  ])('lets nothing of the job %s through, and says what that is', (job, input, difference) => {
    expect(thrownBy(() => closed(OPEN, asked(job, input)).assertFresh())).toMatchObject({ difference });
  });

  test('asks what any other asks first', async () => {
    const refused = new Fenced('another command is waited for');
    const shut: Fence = {
      read: () => Promise.reject(refused),
      assertFresh: () => {
        throw refused;
      },
    };
    const fence = closed(shut, asked('create', {}));
    await expect(fence.read()).rejects.toBe(refused);
    expect(thrownBy(() => fence.assertFresh())).toBe(refused);
  });

  test('keeps Jobs from being created, and lets those be looked at that are there', async () => {
    const jobs = new MemoryJobs(virtualClock());
    const request: JobRequest = {
      purpose: 'updateRoutedIP',
      action: 'find',
      subject: 'uid-1',
      routedIP: null,
      env: {},
      request: null,
      epoch: 1,
      attempt: 'a',
    };
    const fence = closed(OPEN, asked('find', {}));
    await expect(jobs.driver().run(request, null, fence)).rejects.toBeInstanceOf(Withheld);
    expect(jobs.created).toEqual([]);
    await jobs.driver().run(request, null, OPEN);
    expect(await jobs.driver().run(request, null, fence)).toMatchObject({ kind: 'running' });
    expect(jobs.created).toHaveLength(1);
  });
});

describe('what is withheld', () => {
  const difference = { what: 'create', subject: 'a new address', from: null, to: 'fra1' } as const;
  const failure = failureOf(new Withheld(difference));

  test('is decided anew after five minutes, however short the waits between tries are and however often it was', () => {
    expect(failure).toMatchObject({ kind: 'Unavailable', reason: 'Withheld', unknownOutcome: false });
    for (const attempt of [1, 2, 50]) expect(backoffMs({ fast: [100], slow: [500] }, failure, attempt)).toBe(300_000);
  });

  test.each([
    ['an address', { failure }],
    ['a pool that lacks one', { acquiring: { failure } }],
  ])('is found in the record of %s as long as it waits for it', (_, context) => {
    const record = { chart: 'ip', chartVersion: 1, waiting: {}, version: 1, term: 1 };
    const withContext = (each: object) => ({ ...record, snapshot: { value: 'CoolOff', context: JSON.parse(JSON.stringify(each)) } });
    expect(withheldIn(withContext(context))).toEqual([difference]);
    expect(withheldIn(withContext({ failure: null, acquiring: { failure: null } }))).toEqual([]);
    expect(withheldIn(withContext({ failure: { ...failure, withheld: undefined } }))).toEqual([]);
  });
});
