import { spawn } from 'node:child_process';

/** @typedef {{ release(): void }} Leash */

const GUARD = `
read -r word
[ "$word" = released ] && exit
kill -s "$1" "$2"
left=$4
while [ "$1" = TERM ] && [ "$left" -gt 0 ] && kill -0 "$2"; do sleep 1; left=$((left - 1)); done
[ "$1" = KILL ] || kill -s KILL "$2"
[ -z "$3" ] || rm -rf -- "$3"
`;

/**
 * Ends process `pid` when this process ends, also by SIGKILL, and then removes `folder` when one is given. With TERM it gets `graceSeconds` to
 * end by itself.
 *
 * A small shell reads from a pipe whose other end only this process holds. The kernel closes that end whatever way this
 * process dies; the shell then reads the end of the file and sends the signal. That needs no feature of one operating system. Release it as soon as `pid` has ended, since the number may be used again.
 *
 * @param {number} pid
 * @param {{ signal?: 'KILL' | 'TERM', folder?: string | undefined, graceSeconds?: number }} [options]
 * @returns {Leash}
 */
export const endWithParent = (pid, { signal = 'KILL', folder, graceSeconds = 20 } = {}) => {
  const shell = spawn('/bin/sh', ['-c', GUARD, 'leash', signal, String(pid), folder ?? '', String(graceSeconds)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // Its own group: Ctrl-C in a terminal reaches the whole foreground group and must not end the guard before its charge.
    detached: true,
    cwd: '/',
  });
  // The guard must not keep this process alive, and a guard that is already gone is no reason to fail.
  shell.unref();
  const { stdin } = shell;
  stdin.on('error', () => shell.kill());
  if ('unref' in stdin && typeof stdin.unref === 'function') stdin.unref();
  return { release: () => void stdin.end('released\n') };
};
