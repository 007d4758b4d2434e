import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** What needs more than this repository. */
const APART: readonly string[] = ['generate-api-schemas.ts'];

// Runs every other generator of this folder, with the arguments given here (`--check` writes nothing and fails when a file is stale).
const generators = readdirSync(import.meta.dirname).filter((name) => /^generate-.*\.ts$/.test(name) && !APART.includes(name));
if (generators.length === 0) throw new Error(`no generate-*.ts in ${import.meta.dirname}`);
const failed = generators.filter((name) => {
  console.log(name);
  return spawnSync(process.execPath, [join(import.meta.dirname, name), ...process.argv.slice(2)], { stdio: 'inherit' }).status !== 0;
});
if (failed.length > 0) {
  console.error(`failed: ${failed.join(', ')}`);
  process.exitCode = 1;
}
