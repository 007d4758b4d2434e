import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CommandFailed, run } from './debian-apt.mjs';
import { onPath } from './on-path.mjs';

/** Commands that build the image and run it, and the packages of Debian that they are in; runc because crun refuses machines that mount both versions of cgroups. */
const NEEDED = ['buildah', 'podman', 'runc', 'mmdebstrap'];
const REGISTRY_MS = 20_000;
/** A mirror that does not answer once is no reason to have no image. */
const RETRIES = ['--option', 'Acquire::Retries=3'];
/** What the published base image has besides Debian's essential packages. */
const LIBRARIES = 'libstdc++6,ca-certificates';

/** Images and containers of one run, in a folder of their own: nothing of the machine's is used or left behind. */
export class ImageStore {
  readonly #folder: string;
  readonly #options: readonly string[];

  /** @throws CommandFailed when the machine can keep no images */
  constructor(folder: string) {
    this.#folder = folder;
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
    spawnSync('umount', ['--recursive', '--lazy', join(this.#folder, 'store/overlay')]);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Installs what is missing where that is possible. Answers why no image can be built here, or null when one can. */
export function whyNoBuilder(): string | null {
  if (process.getuid?.() !== 0) return 'not root, so containers cannot be run as another user';
  const missing = NEEDED.filter((command) => onPath(command) === undefined);
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

/** Has the images that a Dockerfile starts from in the store: from their registry, or, where none is reached, made of Debian's packages and the Node that the
 *  project has. Answers where they are from. @throws CommandFailed */
export function provideBases(store: ImageStore, dockerfile: string, work: string, root: string): string {
  const bases = new Set([...readFileSync(dockerfile, 'utf8').matchAll(/^FROM (\S+\/\S+)/gm)].map(([, name = '']) => name));
  // Where packets are dropped rather than refused it would try for minutes.
  if ([...bases].every((name) => store.tries(REGISTRY_MS, 'pull', '--quiet', name))) return 'its registry';
  const context = join(work, 'base');
  fillBase(context, root);
  for (const name of bases) store.buildah('build', '--quiet', '--pull=never', '--tag', name, context);
  return 'Debian’s packages and the project’s Node: no registry is reached';
}

function fillBase(context: string, root: string): void {
  const node = join(context, 'node');
  mkdirSync(join(node, 'bin'), { recursive: true });
  mkdirSync(join(node, 'lib/node_modules'), { recursive: true });
  run('mmdebstrap', [
    '--variant=essential',
    '--aptopt=Acquire::Retries "3"',
    `--include=${LIBRARIES}`,
    'bookworm',
    join(context, 'debian.tar'),
  ]);
  cpSync(realpathSync(join(root, 'node_modules/.bin/node')), join(node, 'bin/node'));
  // Of the machine: the Node that the project brings has none.
  const npm = dirname(dirname(realpathSync(onPath('npm') ?? 'npm')));
  cpSync(npm, join(node, 'lib/node_modules/npm'), { recursive: true, verbatimSymlinks: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(node, 'bin/npm'));
  writeFileSync(join(context, 'Dockerfile'), 'FROM scratch\nADD debian.tar /\nCOPY node /usr/local\n');
}

/** Where npm finds, while the image is built, what the machine has fetched before. */
const CACHE = '/var/cache/npm';

/** Builds the project's image, as `docker build` does, under the name. npm in it goes by the machine's settings and cache, which do not get into the image.
 *  @throws CommandFailed */
export function buildImage(store: ImageStore, name: string, work: string, root: string): void {
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
  // Of Docker's format, since that of OCI knows no HEALTHCHECK.
  const how = ['--format', 'docker', '--pull=never', '--network', 'host', ...mounts.flatMap((mount) => ['--volume', mount])];
  store.buildah('build', ...how, '--tag', name, root);
}
