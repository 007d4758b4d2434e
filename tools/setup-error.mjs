/** A step of the set-up that cannot go on: the message says what was tried, where, and what the reader can do. */
export class SetupError extends Error {
  /**
   * @param {string} message
   * @param {unknown} [cause]
   */
  constructor(message, cause) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'SetupError';
  }
}

/**
 * One line about a step that takes time. On standard error, since scripts read what comes on standard output.
 * @param {string} message
 */
export const say = (message) => process.stderr.write(`setup: ${message}\n`);

/** @type {readonly [RegExp, string][]} */
const KNOWN_CAUSES = [
  [/ENOSPC|No space left/i, 'The disk is full: free some space and run this again.'],
  [
    /EACCES|EPERM|EROFS|Permission denied|Read-only file system/i,
    'The folder cannot be written: change its owner, or clone the project to a folder of yours.',
  ],
  [
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|Temporary failure resolving|Could not (resolve|connect)|Failed to fetch/i,
    'The network did not answer: connect this machine (or set its proxy) and run this again.',
  ],
  [/CERT|self.signed|UNABLE_TO_VERIFY/i, 'A certificate on the way is not trusted: tell npm and apt about your certificate authority.'],
];

/**
 * What the reader can do about the output of a failed command; the fallback when no known cause is in it.
 * @param {string} output
 * @param {string} fallback
 */
export const adviceFor = (output, fallback) => KNOWN_CAUSES.find(([pattern]) => pattern.test(output))?.[1] ?? fallback;

/**
 * The last lines of a command's output, indented, for an error message.
 * @param {string} output
 */
export const lastLines = (output, count = 6) =>
  output
    .trim()
    .split('\n')
    .slice(-count)
    .map((line) => `    ${line}`)
    .join('\n');
