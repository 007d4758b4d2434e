import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface KubectlResult {
  readonly stdout: string;
  readonly stderr: string;
  /** Exit code; null when the command was ended by a signal. */
  readonly code: number | null;
}

export interface KubectlOptions {
  /** Path of the kubeconfig; no other is read. */
  readonly kubeconfig: string;
  /** Standard input, for `-f -`. */
  readonly input?: string;
  /** Default 30 s. */
  readonly timeoutMs?: number;
  /** Besides that of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

const CACHE = join(import.meta.dirname, '../../.cache/kubectl');
const UNPACKED = join(CACHE, 'usr/bin/kubectl');
const DEFAULT_TIMEOUT_MS = 30_000;

const runs = (command: string): boolean => spawnSync(command, ['version', '--client'], { stdio: 'ignore' }).status === 0;

let found: string | undefined;

/** The command to run: that beside the API server which is tested on, else kubectl of PATH, else a copy of the distribution's, unpacked once below `.cache`; nothing is
 *  installed.
 *  @throws Error when neither is to be had, with what apt said as its cause */
export const findKubectl = (): string => {
  const assets = process.env.KUBEBUILDER_ASSETS;
  found ??= [...(assets ? [join(assets, 'kubectl')] : []), 'kubectl', UNPACKED].find(runs) ?? unpack();
  return found;
};

/** Old kubectl (before 1.28) reads schemas as protobuf, which the simulator does not speak: it needs `--validate=false` there. */
export const kubectlVersion = (): { readonly major: number; readonly minor: number } => {
  const { clientVersion } = JSON.parse(execFileSync(findKubectl(), ['version', '--client', '-o', 'json'], { encoding: 'utf8' }));
  return { major: Number.parseInt(clientVersion.major, 10), minor: Number.parseInt(clientVersion.minor, 10) };
};

/** Runs kubectl to its end. Resolves whatever its exit code is. @throws Error when there is no kubectl or it takes too long */
export const kubectl = (args: readonly string[], options: KubectlOptions): Promise<KubectlResult> => {
  const command = findKubectl();
  const { kubeconfig, input = '', timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const env = { ...process.env, ...options.env };
  // Discovery is cached by host and port below the home folder; ports are used again by other servers.
  const cache = join(dirname(kubeconfig), 'kubectl-cache');
  const all = ['--kubeconfig', kubeconfig, '--cache-dir', cache, ...args];
  return new Promise((resolve, reject) => {
    const child = execFile(command, all, { encoding: 'utf8', timeout: timeoutMs, killSignal: 'SIGKILL', env }, (error, stdout, stderr) => {
      if (error?.killed) reject(new Error(`kubectl ${args.join(' ')} took more than ${timeoutMs} ms: ${stderr}`, { cause: error }));
      else resolve({ stdout, stderr, code: child.exitCode });
    });
    // It may end without reading what it is given.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
};

const unpack = (): string => {
  mkdirSync(dirname(CACHE), { recursive: true });
  const work = mkdtempSync(`${CACHE}-`);
  try {
    const apt = (...args: readonly string[]): string => execFileSync('apt-get', args, { cwd: work, encoding: 'utf8', stdio: 'pipe' });
    // As root apt would fetch as the user _apt, who may not write here.
    apt('-q', '-o', 'APT::Sandbox::User=root', 'download', 'kubernetes-client');
    execFileSync('sh', ['-c', 'for deb in ./*.deb; do dpkg -x "$deb" tree || exit; done'], { cwd: work, stdio: 'pipe' });
    rmSync(CACHE, { recursive: true, force: true });
    renameSync(join(work, 'tree'), CACHE);
  } catch (cause) {
    throw new Error(
      'there is no kubectl on PATH, and none could be unpacked from the package kubernetes-client (Debian; apt-get update may help)',
      { cause },
    );
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  if (!existsSync(UNPACKED) || !runs(UNPACKED)) throw new Error(`${UNPACKED} does not run on this machine`);
  return UNPACKED;
};
