import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { aptIn, CommandFailed, run } from './debian-apt.mjs';
import { onPath } from './on-path.mjs';

/** Packages of Debian, and what each is wanted for: a command, or a file that no PATH leads to. */
export type Needed = Readonly<Record<string, string>>;

/** What builds the images and runs them; runc because crun refuses machines that mount both versions of cgroups. */
const NEEDED: Needed = { buildah: 'buildah', podman: 'podman', runc: 'runc', mmdebstrap: 'mmdebstrap' };
const REGISTRY_MS = 20_000;
/** A mirror that does not answer once is no reason to have no image. */
const RETRIES = ['--option', 'Acquire::Retries=3'];
/** What the published base image has besides Debian's essential packages. */
const LIBRARIES = 'libstdc++6,ca-certificates';
/** Debian's essential packages, with those. */
const DEBIAN = 'localhost/debian';

/** Images and containers of one run, in a folder of their own: nothing of the machine's is used or left behind. */
export class ImageStore {
  readonly folder: string;
  readonly #options: readonly string[];

  /** @throws CommandFailed when the machine can keep no images */
  constructor(folder: string) {
    this.folder = folder;
    const place = ['--root', join(folder, 'store'), '--runroot', join(folder, 'run')];
    const drivers = ['overlay', 'vfs'].map((driver) => [...place, '--storage-driver', driver]);
    const usable = drivers.find((options) => spawnSync('buildah', [...options, 'images']).status === 0);
    if (!usable) throw new CommandFailed('buildah images', 'neither of the storage drivers overlay and vfs works here');
    this.#options = usable;
  }

  /** Runs `buildah …` and answers what it printed. @throws CommandFailed */
  buildah(...args: readonly string[]): string {
    // Commands of a build are run in a chroot: that needs no cgroups, and no network of its own.
    return run('buildah', [...this.#options, ...args], { env: { BUILDAH_ISOLATION: 'chroot' } });
  }

  /** Whether `buildah …` succeeds within the time, ms. */
  tries(deadlineMs: number, ...args: readonly string[]): boolean {
    return spawnSync('buildah', [...this.#options, ...args], { timeout: deadlineMs, killSignal: 'SIGKILL' }).status === 0;
  }

  /** What follows `podman` in a command line for this store. */
  podman(...args: readonly string[]): string[] {
    return [...this.#options, '--cgroup-manager', 'cgroupfs', '--runtime', 'runc', ...args];
  }

  /** Removes everything; containers that run are ended. */
  remove(): void {
    spawnSync('podman', this.podman('rm', '--all', '--force', '--time', '0'));
    spawnSync('umount', ['--recursive', '--lazy', join(this.folder, 'store/overlay')]);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Installs what is missing to build and run images. Answers why none can be built here, or null when one can. */
export function whyNoBuilder(): string | null {
  if (process.getuid?.() !== 0) return 'not root, so containers cannot be run as another user';
  return whyMissing(NEEDED);
}

/** Installs the packages whose command or file is missing. Answers why they are still missing, or null when all is there. */
export function whyMissing(needed: Needed): string | null {
  const isThere = (wanted: string): boolean => (isAbsolute(wanted) ? existsSync(wanted) : onPath(wanted) !== undefined);
  const missing = Object.keys(needed).filter((name) => !isThere(needed[name] ?? name));
  if (missing.length === 0) return null;
  if (onPath('apt-get') === undefined) return `there is no ${missing.join(', ')}, and no apt-get that would bring it`;
  try {
    run('apt-get', [...RETRIES, 'update', '--quiet']);
    run('apt-get', [...RETRIES, 'install', '--yes', '--quiet', '--no-install-recommends', ...missing]);
    return null;
  } catch (error) {
    return `apt-get brings no ${missing.join(', ')}: ${error instanceof CommandFailed ? error.output.trim().slice(-300) : String(error)}`;
  }
}

/** Published images by what they hold. */
export interface Published {
  readonly redis: string;
  /** A shell and curl. */
  readonly curl?: string;
}

/** Has the images that a Dockerfile starts from, and others, in the store: from their registry, or, where none is reached, made of Debian's packages and the Node
 *  that the project has. Answers where they are from. @throws CommandFailed */
export function provideBases(store: ImageStore, dockerfile: string, { redis, curl }: Published, work: string, root: string): string {
  const bases = new Set([...readFileSync(dockerfile, 'utf8').matchAll(/^FROM (\S+\/\S+)/gm)].map(([, name = '']) => name));
  const all = [...bases, redis, ...(curl === undefined ? [] : [curl])];
  // Where packets are dropped rather than refused it would try for minutes.
  if (all.every((name) => store.tries(REGISTRY_MS, 'pull', '--quiet', name))) return 'its registry';
  fromContext(store, DEBIAN, join(work, 'debian'), (context) => fillDebian(context, LIBRARIES));
  for (const name of bases) fromContext(store, name, join(work, 'base'), (context) => fillBase(context, root));
  fromContext(store, redis, join(work, 'redis'), fillRedis);
  if (curl !== undefined) fromContext(store, curl, join(work, 'curl'), (context) => fillDebian(context, 'ca-certificates,curl'));
  return 'Debian’s packages and the project’s Node: no registry is reached';
}

function fromContext(store: ImageStore, name: string, context: string, fill: (context: string) => void): void {
  mkdirSync(context, { recursive: true });
  fill(context);
  store.buildah('build', '--quiet', '--format', 'docker', '--pull=never', '--tag', name, context);
  rmSync(context, { recursive: true });
}

function fillDebian(context: string, packages: string): void {
  run('mmdebstrap', [
    '--variant=essential',
    '--aptopt=Acquire::Retries "3"',
    `--include=${packages}`,
    'bookworm',
    join(context, 'debian.tar'),
  ]);
  writeFileSync(join(context, 'Dockerfile'), 'FROM scratch\nADD debian.tar /\n');
}

function fillBase(context: string, root: string): void {
  const node = join(context, 'node');
  mkdirSync(join(node, 'bin'), { recursive: true });
  mkdirSync(join(node, 'lib/node_modules'), { recursive: true });
  cpSync(realpathSync(join(root, 'node_modules/.bin/node')), join(node, 'bin/node'));
  // Of the machine: the Node that the project brings has none.
  const npm = dirname(dirname(realpathSync(onPath('npm') ?? 'npm')));
  cpSync(npm, join(node, 'lib/node_modules/npm'), { recursive: true, verbatimSymlinks: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(node, 'bin/npm'));
  writeFileSync(join(context, 'Dockerfile'), `FROM ${DEBIAN}\nCOPY node /usr/local\n`);
}

/** On Debian the server itself is in the package of the tools. */
const REDIS = ['redis-server', 'redis-tools'];
/** As the published image starts: root gives the folder to a user for it, and becomes that user. */
const REDIS_START = `#!/bin/sh
set -e
if [ "$(id -u)" = 0 ]; then
  chown redis .
  exec setpriv --reuid redis --regid redis --clear-groups -- "$0" "$@"
fi
exec "$@"
`;

/** Like the published image as far as a Pod or a compose file sees it: user 999, the folder /data, server and client on PATH. */
function fillRedis(context: string): void {
  const packages = join(context, 'packages');
  mkdirSync(packages);
  const apt = aptIn(join(context, 'apt'));
  apt.download([...REDIS, ...apt.libraries(REDIS).filter((name) => name !== 'libc6')], packages);
  writeFileSync(join(context, 'start'), REDIS_START, { mode: 0o755 });
  const lines = [
    `FROM ${DEBIAN}`,
    'COPY packages /tmp/packages',
    // Folders that are links, such as /lib, stay so.
    'RUN for package in /tmp/packages/*; do dpkg --fsys-tarfile "$package" | tar --extract --keep-directory-symlink --directory / || exit; done; rm -r /tmp/packages',
    'RUN echo redis:x:999: >>/etc/group && echo redis:x:999:999::/data:/usr/sbin/nologin >>/etc/passwd && mkdir /data && chown redis:redis /data',
    'COPY start /usr/local/bin/docker-entrypoint.sh',
    'VOLUME /data',
    'WORKDIR /data',
    'ENTRYPOINT ["docker-entrypoint.sh"]',
    'CMD ["redis-server"]',
    '',
  ];
  writeFileSync(join(context, 'Dockerfile'), lines.join('\n'));
}

/** Where npm finds, while the image is built, what the machine has fetched before. */
const CACHE = '/var/cache/npm';

/** Builds the images of the project's Dockerfile, as `docker build` does: a name for each stage that is wanted, '' being the last. npm in it goes by the machine's settings
 *  and cache, which do not get into the images. @throws CommandFailed */
export function buildImages(store: ImageStore, names: Readonly<Record<string, string>>, work: string, root: string): void {
  const authorities = process.env.NODE_EXTRA_CA_CERTS;
  const setting = (key: string): string => run('npm', ['config', 'get', key]).trim();
  const own = setting('userconfig');
  const npmrc = join(work, 'npmrc');
  const lines = [
    existsSync(own) ? readFileSync(own, 'utf8') : '',
    authorities ? `cafile=${authorities}` : '',
    `cache=${CACHE}`,
    'prefer-offline=true',
    '',
  ];
  writeFileSync(npmrc, lines.join('\n'), { mode: 0o600 });
  const mounts = [
    `${npmrc}:/usr/local/etc/npmrc:ro`,
    `${setting('cache')}:${CACHE}`,
    ...(authorities ? [`${authorities}:${authorities}:ro`] : []),
  ];
  // Of Docker's format, since that of OCI knows no HEALTHCHECK. What stages have in common is built once.
  const how = ['--format', 'docker', '--layers', '--pull=never', '--network', 'host', ...mounts.flatMap((mount) => ['--volume', mount])];
  for (const [stage, name] of Object.entries(names)) {
    store.buildah('build', ...how, ...(stage === '' ? [] : ['--target', stage]), '--tag', name, root);
  }
}
