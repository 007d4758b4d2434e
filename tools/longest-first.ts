import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files of tests that take longest, the longest first. */
export const LONGEST: readonly string[] = [
  'careful.test.ts',
  'routed-kill.test.ts',
  'demo.test.ts',
  'cut-off.test.ts',
  'dns.test.ts',
  'routed-crash.test.ts',
  'stop.test.ts',
  'provider.test.ts',
  'kill.test.ts',
  'random.test.ts',
  'replicas.test.ts',
  'mass.test.ts',
  'routed-replicas.test.ts',
  'simulator-fidelity.test.ts',
  'rbac.test.ts',
  'vip-race.test.ts',
];

/** Of those that know no better, which is so on a fresh clone: by rank in LONGEST, then as they came. */
export const longestFirst = <T>(all: readonly T[], nameOf: (one: T) => string): readonly T[] =>
  all.toSorted((a, b) => rankOf(nameOf(a)) - rankOf(nameOf(b)));

function rankOf(name: string): number {
  const rank = LONGEST.indexOf(name);
  return rank === -1 ? LONGEST.length : rank;
}

/** Files whose tests start processes and wait for them most of the time. */
const WAITS = /\/test\/(scenarios|e2e|demo|dashboard|cluster)\//;

/** Two lists as one in which both are spread evenly: what waits leaves the processors to what computes from the first file to the last. */
export function woven<T>(first: readonly T[], second: readonly T[]): readonly T[] {
  const placed = [first, second].flatMap((list) => list.map((one, index) => ({ one, at: (index + 0.5) / list.length })));
  return placed.toSorted((a, b) => a.at - b.at).map(({ one }) => one);
}

/** Starts what takes longest first, so that at the end no file runs alone; without it a file's size decides. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const groups = Map.groupBy(sorted, ({ project }) => project.config.sequence.groupOrder);
    return [...groups.values()].flatMap((group) => {
      const ordered = longestFirst(group, ({ moduleId }) => basename(moduleId));
      const waits = ({ moduleId }: TestSpecification) => WAITS.test(moduleId);
      return woven(
        ordered.filter(waits),
        ordered.filter((file) => !waits(file)),
      );
    });
  }
}

/** The listed names that no file below `folder` has. */
export function unknownIn(folder: string): readonly string[] {
  const present = new Set(readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => basename(join(folder, path))));
  return LONGEST.filter((name) => !present.has(name));
}
