const { TEST_EXTENT, TEST_TARGET } = process.env;

/** Whether this run shows all of what could go on without end: every history, a crash at every point. `npm run test:all` does, and what runs against a real API
 *  server; `npm test` shows a share of it, the same each time. */
export const SHOWS_ALL = TEST_EXTENT === 'all' || TEST_TARGET?.startsWith('cluster') === true;

/** What a run goes by: `all`, or the share of it that `npm test` shows. */
export const extent = <T>(all: T, share: T): T => (SHOWS_ALL ? all : share);

/** One in so many of a list, beginning with the first, so that a share has something of every part; all of them when all is shown. */
export const shareOf = <T>(list: readonly T[], oneIn: number): readonly T[] => list.filter((_, index) => SHOWS_ALL || index % oneIn === 0);

/** The same of scenarios, which are played twice: on the simulator a share of them, and all of them on a real API server. */
export const shareOfScenarios = <T>(list: readonly T[], oneIn: number): readonly T[] =>
  list.filter((_, index) => TEST_TARGET?.startsWith('cluster') === true || index % oneIn === 0);
