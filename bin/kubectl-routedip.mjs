#!/usr/bin/env node
// Readable for every Node since 12.20: an older Node than it needs must come as far as the message below.
import { existsSync } from 'node:fs';

const NEEDED = 24;
const here = process.versions.node;

// Who reads through a pipe may have read enough, as `head` has.
process.stdout.on('error', (error) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

// In the repository the sources run as they are; the package holds them compiled, since Node refuses to compile below node_modules.
const source = new URL('../composition/kubectl-routedip.ts', import.meta.url);
const compiled = new URL('../dist/kubectl-routedip.js', import.meta.url);

if (Number(here.split('.')[0]) < NEEDED) {
  console.error(
    `kubectl routedip needs Node ${NEEDED} or newer and this is Node ${here} (${process.execPath}): install Node ${NEEDED} and run it again.`,
  );
  process.exitCode = 1;
} else {
  import(existsSync(source) ? source.href : compiled.href)
    .then((plugin) => plugin.main(process.argv.slice(2)))
    .then((code) => {
      process.exitCode = code;
    })
    .catch((error) => {
      console.error(error);
      process.exitCode = 1;
    });
}
