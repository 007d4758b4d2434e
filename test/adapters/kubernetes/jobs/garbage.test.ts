import { expect, test } from 'vitest';
import type { JobContext } from '../../../../actors/jobs/job.ts';
import { addressJobs } from '../../../../actors/jobs/kubernetes-job-addresses.ts';
import { ProviderError } from '../../../../actors/ports/errors.ts';
import type { JobState } from '../../../../actors/ports/job-driver.ts';
import { JobEnds } from '../../../../adapters/kubernetes/jobs/ends.ts';
import { readJob, readPod } from '../../../../adapters/kubernetes/jobs/reading.ts';
import type { JobWatch } from '../../../../adapters/kubernetes/jobs/watch.ts';
import { systemClock } from '../../../../adapters/system/clock.ts';
import { parseAddress } from '../../../../machines/model/address.ts';
import { visible } from '../../../../machines/model/visible.ts';
import { type Draw, drawingOf } from '../../../fuzz/drawing.ts';
import { mutated } from '../../../fuzz/peers/spoil.ts';

const ADDRESS = '192.0.2.10';
const SECRET = 'dop_v1_0123456789abcdef';
const NODE = { name: 'a', providerID: 'example://7' };

const WHOLE = [
  { address: ADDRESS },
  { address: ADDRESS, providerID: NODE.providerID },
  { address: ADDRESS, providerID: '' },
  { address: '', message: 'nothing was made' },
  { message: `the API refused ${SECRET}` },
  {},
];
const PEOPLES = [
  '203.0.113.9',
  '2001:db8::1',
  'example://8',
  SECRET,
  `${ADDRESS}\u0000`,
  `\u001b[2J${ADDRESS}`,
  '\u202e9.113.0.302',
  'x'.repeat(2 ** 20),
  `${SECRET}${'x'.repeat(3_000)}`,
];

/** What a container says at its end. */
const saidBy = (draw: Draw): string => {
  const whole = draw.one(WHOLE);
  const text = JSON.stringify(
    draw.chance(0.5) ? mutated(draw, whole) : { ...whole, [draw.one(['address', 'providerID', 'message'])]: draw.one(PEOPLES) },
  );
  return draw.one([
    () => text,
    () => text,
    () => text.slice(0, draw.below(text.length + 1)),
    () => text + draw.bytes(200),
    () => draw.bytes(4_000),
    () => `${text}${' '.repeat(2 ** 20)}`,
    () => `${SECRET.slice(0, draw.below(SECRET.length))}${SECRET}\r\n\u001b]0;x\u0007${text}`,
  ])();
};

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value) ?? 'null');

const podOf = (draw: Draw, message: string): unknown => {
  const pod = {
    metadata: { name: 'p', uid: 'u', labels: { 'job-name': 'j' }, creationTimestamp: '2026-11-27T00:00:00Z' },
    status: {
      phase: 'Succeeded',
      containerStatuses: [{ state: { terminated: { exitCode: draw.one([0, 0, 0, 1, 65, 75, 77]), message } } }],
    },
  };
  return draw.chance(0.3) ? asJson(mutated(draw, pod)) : pod;
};

const jobOf = (draw: Draw): unknown => {
  const type = draw.one(['Complete', 'Complete', 'Failed']);
  const job = {
    metadata: { name: 'j', uid: 'u' },
    status: {
      conditions: [{ type, status: 'True', reason: 'BackoffLimitExceeded', message: draw.one(PEOPLES) }],
    },
  };
  return draw.chance(0.2) ? asJson(mutated(draw, job)) : job;
};

const hide = (text: string): string => text.replaceAll(SECRET, '[hidden]');

const stateOf = (draw: Draw): Promise<JobState> => {
  const pods = [readPod(podOf(draw, saidBy(draw)), hide)];
  const watch = { podsOf: async () => pods, recentPods: async () => ({ at: 0, pods }), warningAbout: async () => null };
  const ends = new JobEnds({ clock: systemClock(), watch: watch as unknown as JobWatch, namespace: 'jobs' });
  return ends.stateOf(readJob(jobOf(draw), hide));
};

const INPUTS = {
  find: { address: ADDRESS, holder: null, notBefore: null },
  assign: { address: ADDRESS, holder: null, node: NODE, inDoubtUntil: null },
  create: { intent: { knownAddresses: [], listedAt: 0 }, region: '', owner: { kind: 'RoutedIP', namespace: 'web', name: 'a', uid: 'u' } },
  reconcileCreate: { intent: { knownAddresses: [], listedAt: 0 }, region: '', inDoubtUntil: null, owner: { namespace: 'web', name: 'a' } },
} as const;
const SUBJECT = { namespace: 'web', name: 'a', uid: 'u', epoch: 1, region: '', reclaimPolicy: 'Delete', previous: null, ports: [] };

/** What a job makes of it, and what it keeps. */
const madeOf = async (
  job: keyof typeof INPUTS,
  state: JobState,
): Promise<{ readonly output?: Record<string, unknown>; readonly error?: unknown }> => {
  const jobs = { run: async () => state, look: async () => state, clear: async () => undefined };
  const context = {
    command: 'c',
    input: { ...INPUTS[job], provider: 'http', subject: SUBJECT },
    progress: null,
    former: null,
    careful: false,
    keep: async () => undefined,
    provider: { name: 'http', jobs },
    fence: { read: async () => undefined, assertFresh: () => undefined },
    clock: systemClock(),
    settings: { callDeadlineMs: 15_000 },
  };
  try {
    const result = await addressJobs[job]?.(context as unknown as JobContext<never>);
    return result?.kind === 'done' ? { output: result.output as unknown as Record<string, unknown> } : {};
  } catch (error) {
    return { error };
  }
};

const JOBS = Object.keys(INPUTS) as (keyof typeof INPUTS)[];

const expectSound = (job: keyof typeof INPUTS, output: Readonly<Record<string, unknown>>, about: string): void => {
  expect(JSON.stringify(output), about).not.toContain(SECRET);
  if (job === 'assign') expect(output, about).toEqual({ providerID: NODE.providerID });
  if (job === 'find' && output.providerID) expect(output.providerID, about).toMatch(/^[\x21-\x7e]{1,512}$/);
  if ('address' in output) expect(parseAddress(String(output.address)), about).toBe(output.address);
};

const expectTellable = (error: unknown, about: string): void => {
  expect(error, about).toBeInstanceOf(ProviderError);
  const { message } = error as ProviderError;
  expect(message, about).not.toContain(SECRET);
  expect(message, about).toBe(visible(message));
  expect(message.length, about).toBeLessThan(12_100);
};

test('whatever a Job says at its end is a success as it was asked for, or a failure in one line that can be told', async () => {
  const ends = new Map<string, number>();
  for (const [number, job] of Array.from({ length: 800 }, (_, index) => JOBS.map((each) => [index, each] as const)).flat()) {
    const { output, error } = await madeOf(job, await stateOf(drawingOf(7, number)));
    if (output) expectSound(job, output, `${number} ${job}`);
    if (error) expectTellable(error, `${number} ${job}`);
    const end = `${job} ${error ? 'failed' : output ? 'done' : 'goes on'}`;
    ends.set(end, (ends.get(end) ?? 0) + 1);
  }
  for (const end of JOBS.flatMap((job) => [`${job} failed`, `${job} done`])) expect(ends.get(end), end).toBeGreaterThan(20);
});
