import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { freePort } from '../tools/free-ports.mjs';
import { findRedis } from '../tools/redis.mjs';
import { launch } from '../tools/redis-launch.mjs';

let root: string;
let bin: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'routedip-find-'));
  bin = join(root, 'bin');
  mkdirSync(bin);
  // Only what a test puts there: the machine's own Redis, apt and docker must not decide.
  vi.stubEnv('PATH', bin);
  vi.spyOn(process.stderr, 'write').mockReturnValue(true);
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  rmSync(root, { recursive: true, force: true });
});

const command = (file: string, script: string): string => {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
};

const server = (file: string, version: string): string =>
  command(file, `echo "Redis server v=${version} sha=00000000:0 malloc=libc bits=64"`);

describe('the Redis for tests and demo', () => {
  test('is the one on PATH before any other', () => {
    const found = server(join(bin, 'redis-server'), '7.2.4');
    server(join(root, '.cache/redis/usr/bin/redis-server'), '7.0.15');
    expect(findRedis({ root })).toEqual({ command: found, env: {}, version: '7.2.4', image: null });
  });

  test('may be a Valkey', () => {
    const found = server(join(bin, 'valkey-server'), '8.0.1');
    expect(findRedis({ root })).toMatchObject({ command: found, version: '8.0.1' });
  });

  test('is the private copy when the one on PATH is too old or does not start', () => {
    const copy = server(join(root, '.cache/redis/usr/bin/redis-server'), '7.0.15');
    server(join(bin, 'redis-server'), '6.0.16');
    expect(findRedis({ root })).toMatchObject({ command: copy, version: '7.0.15' });
    command(join(bin, 'redis-server'), 'echo "cannot open shared object file" >&2; exit 127');
    expect(findRedis({ root })).toMatchObject({ command: copy });
  });

  test('is started with the shared libraries that came with the private copy', () => {
    server(join(root, '.cache/redis/usr/bin/redis-server'), '7.0.15');
    const libraries = join(root, '.cache/redis/usr/lib/x86_64-linux-gnu');
    mkdirSync(libraries, { recursive: true });
    writeFileSync(join(libraries, 'liblzf.so.1'), '');
    expect(findRedis({ root }).env).toEqual({ LD_LIBRARY_PATH: libraries });
  });

  test('runs in docker when there is no other, and only when its engine answers', () => {
    const docker = command(join(bin, 'docker'), 'exit 0');
    expect(findRedis({ root })).toMatchObject({ command: docker, image: expect.stringContaining('valkey') });
    command(join(bin, 'docker'), 'echo "Cannot connect to the Docker daemon" >&2; exit 1');
    expect(() => findRedis({ root })).toThrow('no docker engine answers');
  });

  test('in docker is published on loopback only, keeps its files in its folder and gets its signals', async () => {
    vi.unstubAllEnvs();
    const real = findRedis();
    const seen = join(root, 'arguments');
    const docker = command(
      join(bin, 'docker'),
      `case $1 in
        run) echo "$@" > ${seen}
          while [ "$1" != valkey-server ]; do case $1 in --volume) data=\${2%%:*} ;; esac; shift; done
          shift; echo $$ > ${root}/pid; cd "$data"; exec ${real.command} "$@" ;;
        kill) read pid < ${root}/pid; kill -s "\${3#SIG}" "$pid" ;;
      esac`,
    );
    const found = { command: docker, env: real.env, version: '8', image: 'valkey/valkey:8' };
    const port = await freePort();
    const redis = await launch(found, { port, dir: root, removeDir: false, settings: ['--appendonly', 'yes'] });
    onTestFinished(() => redis.signal('SIGKILL'));
    const line = readFileSync(seen, 'utf8');
    expect(line).toContain(`--publish 127.0.0.1:${port}:${port}`);
    expect(line).toContain(`--volume ${root}:/data --workdir /data valkey/valkey:8 valkey-server`);
    expect(readdirSync(root)).toContain('appendonlydir');
    redis.signal('SIGTERM');
    await redis.ended();
    expect(redis.isRunning()).toBe(false);
  });

  test('is asked for in one message when there is none', () => {
    expect(() => findRedis({ root })).toThrow(/neither redis-server nor valkey-server .* apt-get install redis-server/s);
  });

  test('is not unpacked without a network: the message has the words of apt, the place and what to do', () => {
    command(join(bin, 'dpkg-deb'), 'exit 0');
    command(join(bin, 'apt-get'), '[ "$1" = --version ] && exit 0; echo "E: Temporary failure resolving" >&2; exit 100');
    expect(() => findRedis({ root })).toThrow(/Temporary failure resolving[\s\S]*The network did not answer/);
    expect(() => findRedis({ root })).toThrow(join(root, '.cache/redis'));
  });

  test('leaves nothing half unpacked behind', () => {
    command(join(bin, 'dpkg-deb'), 'exit 0');
    command(join(bin, 'apt-get'), '[ "$1" = --version ] && exit 0; echo "E: No space left on device" >&2; exit 100');
    expect(() => findRedis({ root })).toThrow('The disk is full');
    expect(() => readFileSync(join(root, '.cache/redis'))).toThrow('ENOENT');
  });
});
