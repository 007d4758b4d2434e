import { vi } from 'vitest';
import { DEFAULT_SETTINGS } from '../../../actors/ports/settings.ts';
import type { Chart, Charts } from '../../../actors/runtime/charts.ts';
import { MemoryJobs } from '../../../adapters/memory/job-driver.ts';
import type { AddressContext, AnyAddressEvent } from '../../../machines/address/context.ts';
import * as ip from '../../../machines/address/decisions.ts';
import { action } from '../../machines/mutations-spoil.ts';
import type { JobRule } from '../../support/job-rules.ts';
import type { ShortRouted as History } from '../short.ts';
import type { Mutations } from './mutation.ts';
import { CALM, MADE, step, wait } from './routed-ips.ts';

const JOBS = { takesMs: 8_000, deadlineMs: 60_000 } as const;

/** A Job that is there is seen by nobody but who created it. */
const seesNoJob = (): void => {
  const { driver } = MemoryJobs.prototype;
  vi.spyOn(MemoryJobs.prototype, 'driver').mockImplementation(function (this: MemoryJobs, halves) {
    return { ...driver.call(this, halves), look: async () => null };
  });
};

/** What a Job may have done before it was ended counts as not done. */
const knowsItAll = (charts: Charts): Charts => ({
  ...charts,
  ip: action<AddressContext, AnyAddressEvent>('coolOffToAssign', (context, event) => {
    const known = 'error' in event ? { ...event, error: { ...event.error, unknownOutcome: false } } : event;
    return ip.fail(DEFAULT_SETTINGS, 'Assigning', 'grant')(context, known);
  })(charts.ip as Chart),
});

export const JOB_MUTATIONS: Mutations<JobRule | 'one address for each', History> = {
  'finds before a Job assigns again': [
    {
      mutation: 'a Job that somebody deletes counts as one that has done nothing',
      spoil: knowsItAll,
      history: { ...CALM, jobs: JOBS, steps: [step(14_000, { kind: 'deleteJobs', action: 'assign' }), wait(60_000)] },
    },
  ],
  'one address for each': [
    {
      mutation: 'who goes on with a creation does not see the Job of before',
      sabotage: seesNoJob,
      history: { ...MADE, jobs: JOBS, steps: [step(2_000, { kind: 'restart' }), wait(60_000)] },
    },
  ],
};
