import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from './root.mjs';
import { SetupError } from './setup-error.mjs';

/**
 * The folder with binaries that the environment variable names, else the one that `script` builds and prints on its last line, which takes Go and minutes
 * for the first time. @throws SetupError when it cannot
 * @param {string} variable
 * @param {string} script
 */
export const provided = (variable, script) => {
  const given = process.env[variable];
  if (given !== undefined && given !== '') return given;
  try {
    const output = execFileSync(join(ROOT, script), { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
    return output.trimEnd().split('\n').at(-1) ?? '';
  } catch (cause) {
    throw new SetupError(`${variable} is not set, and ${script} did not build what it would name.`, cause);
  }
};
