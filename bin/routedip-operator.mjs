#!/usr/bin/env node
// Readable for every Node since 12.20: an older Node than the operator needs must come as far as the message below.
import { existsSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';

const NEEDED = 24;
const here = process.versions.node;

// Who reads through a pipe may have read enough, as `head` has.
process.stdout.on('error', (error) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

// In the repository the sources run as they are; the package holds them compiled, since Node refuses to compile below node_modules.
const source = new URL('../main.ts', import.meta.url);
const compiled = new URL('../dist/main.js', import.meta.url);

if (Number(here.split('.')[0]) < NEEDED) {
  console.error(
    `routedip-operator needs Node ${NEEDED} or newer and this is Node ${here} (${process.execPath}): install Node ${NEEDED} and run it again.`,
  );
  process.exitCode = 1;
} else {
  // Loading the libraries would make the young generation of the heap grow to its full size, which it then keeps; the operator needs a part of it.
  setFlagsFromString('--semi-space-growth-factor=1');
  // By default the heap may grow fourfold before it is collected, and keeps the memory of its busiest moment.
  setFlagsFromString('--heap-growing-percent=25');
  import(existsSync(source) ? source.href : compiled.href)
    .then((operator) => {
      setFlagsFromString('--semi-space-growth-factor=2');
      return operator.main(process.argv.slice(2));
    })
    .then((code) => {
      if (typeof code === 'number') process.exitCode = code;
    })
    .catch((error) => {
      console.error(error);
      process.exitCode = 1;
    });
}
