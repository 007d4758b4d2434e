import { writeSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';

export interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/**
 * Tests by result. A file that cannot be loaded and an error outside any test count as one failed test each: otherwise a
 * run that broke before its tests would read as one in which nothing failed. A test that never ended counts as failed too.
 */
export const totalsOf = (modules: readonly TestModule[], unhandled: readonly unknown[]): Totals => {
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  const count = (...states: string[]): number => tests.filter((test) => states.includes(test.result().state)).length;
  const broken = modules.filter((module) => module.errors().length > 0).length;
  const suites = modules.flatMap((module) => [...module.children.allSuites()]).filter((suite) => suite.errors().length > 0).length;
  return { passed: count('passed'), failed: count('failed', 'pending') + broken + suites + unhandled.length, skipped: count('skipped') };
};

/** `N passed, N failed` and, when there are any, `, N skipped`: what scripts read as the result of a run. */
export const closingLine = ({ passed, failed, skipped }: Totals): string =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;

/** Characters of one line about a failure: enough to know it again in the report of a run that keeps little more than its end. */
const FAILURE_LENGTH = 240;

const failure = (where: string, error: { readonly message: string } | undefined): string =>
  `FAILED ${where}: ${stripVTControlCharacters(error?.message ?? 'it never ended').replaceAll(/\s+/g, ' ')}`.slice(0, FAILURE_LENGTH);

/** One line for each thing that {@link totalsOf} counts as failed: where, and how its first error begins. */
export const failureLines = (modules: readonly TestModule[], unhandled: readonly { readonly message: string }[]): readonly string[] => [
  ...modules.flatMap((module) => {
    const file = module.relativeModuleId;
    const suites = [...module.children.allSuites()].filter((suite) => suite.errors().length > 0);
    const tests = [...module.children.allTests()].filter((test) => ['failed', 'pending'].includes(test.result().state));
    return [
      ...(module.errors().length > 0 ? [failure(file, module.errors()[0])] : []),
      ...suites.map((suite) => failure(`${file} > ${suite.fullName}`, suite.errors()[0])),
      ...tests.map((test) => failure(`${file} > ${test.fullName}`, test.result().errors?.[0])),
    ];
  }),
  ...unhandled.map((error) => failure('outside of any test', error)),
];

/** Told of a run of all files with a share of the histories and crashes. */
const MORE = 'a share of all histories and crashes was shown; npm run test:all shows all of them';

/** Whether vitest was called with these words for all files, and with this environment for a share of what they could show. */
export const isShare = (words: readonly string[], { TEST_EXTENT, TEST_TARGET }: NodeJS.ProcessEnv): boolean =>
  words.join(' ') === 'run' && TEST_EXTENT !== 'all' && TEST_TARGET === undefined;

/** Whether only the tests that changes reach were asked for: that there is none is no failure. */
const isOfChanges = (words: readonly string[]): boolean => words.some((word) => /^--changed(=|$)/.test(word));

/** Prints what failed and, as the very last line of the output, how many did, and makes a run in which no test ran a failure. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const totals = totalsOf(modules, unhandled);
    const failures = failureLines(modules, unhandled);
    const words = process.argv.slice(2);
    const hint = isShare(words, process.env) ? [MORE] : [];
    const isNothing = modules.length === 0 && unhandled.length === 0 && isOfChanges(words);
    process.once('exit', () => {
      if (totals.failed > 0 || (totals.passed === 0 && !isNothing)) process.exitCode = 1;
      // Synchronous, and in the exit handler: nothing that vitest still prints comes after it.
      writeSync(1, [...hint, ...failures, closingLine(totals), ''].join('\n'));
    });
  }
}
