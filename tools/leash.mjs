import { spawn } from 'node:child_process';

/** @typedef {{ release(): void }} Leash */

/**
 * Ends process `pid` when this process ends, also by SIGKILL, and then removes `folder` when one is given.
 *
 * A small shell reads from a pipe whose other end only this process holds. The kernel closes that end whatever way this
 * process dies; the shell then reads the end of the file and sends the signal. It works for a stopped process too and needs neither a
 * timer nor a feature of one operating system. Release it as soon as `pid` has ended, since the number may be used again.
 *
 * @param {number} pid
 * @param {{ signal?: 'KILL' | 'TERM', folder?: string | undefined }} [options]
 * @returns {Leash}
 */
export const endWithParent = (pid, { signal = 'KILL', folder } = {}) => {
  const script = 'read -r word; [ "$word" = released ] && exit; kill -s "$1" "$2"; [ -z "$3" ] || rm -rf -- "$3"';
  const shell = spawn('/bin/sh', ['-c', script, 'leash', signal, String(pid), folder ?? ''], {
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
