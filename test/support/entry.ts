import { join } from 'node:path';

const SOURCES = join(import.meta.dirname, '../../bin');

/** Names the folder of the bundled programs, where a run of the tests has made them. */
export const BUNDLE = 'TEST_BUNDLE';

/** The file that starts the operator or the plugin: bundled, which loads in a fourth of the time, or as it is in the repository when nothing was bundled or
 *  `isBundled` is false. */
export const entryOf = (program: 'routedip-operator' | 'kubectl-routedip', isBundled = true): string =>
  join((isBundled ? process.env[BUNDLE] : undefined) ?? SOURCES, `${program}.mjs`);
