import type { Act, History, ProcessRecord } from './history.ts';

/** So long a process that takes over may say that it is not ready, ms: longer, and a Deployment would wait for it. */
const UNREADY_MS = 15_000;

/** Whatever is asked for is done within its deadline, no process complains or is long not ready, and each ends as it was asked to. */
export function nobodyStalls({ acts, processes }: History): readonly string[] {
  return [...acts.flatMap(late), ...processes.flatMap(troubled)];
}

function late({ stage, what, from, to, deadlineMs }: Act): readonly string[] {
  if (to === null) return [`stage ${stage}: ${what}: never`];
  return to - from > deadlineMs ? [`stage ${stage}: ${what}: after ${to - from} ms, more than ${deadlineMs}`] : [];
}

const troubled = ({ name, complaints, unready, ended, wanted }: ProcessRecord): readonly string[] => [
  ...complaints.map((line) => `${name} complains: ${line}`),
  ...unready.filter(({ from, to }) => to - from > UNREADY_MS).map(({ answer }) => `${name} is not ready: ${answer}`),
  ...(ended === wanted ? [] : [`${name} ended with ${ended} and not with ${wanted}`]),
];
