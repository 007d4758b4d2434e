import { spawnSync } from 'node:child_process';
import { accessSync, constants, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const NEEDED = 24;

interface Ran {
  readonly status: number;
  readonly output: string;
}

const run = (command: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = process.env): Ran => {
  const done = spawnSync(command, args, { cwd, env, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  return { status: done.status ?? 1, output: `${done.stdout ?? ''}${done.stderr ?? ''}${done.error?.message ?? ''}` };
};

const demand = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(what);
};

/** The packed package, unpacked by npm into a project of its own; made once for all checks. */
interface Installed {
  readonly files: readonly string[];
  readonly folder: string;
}

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => statSync(join(folder, path)).isFile());

const install = (work: string): Installed => {
  const packed = run('npm', ['pack', '--loglevel=error', '--pack-destination', work], ROOT);
  demand(packed.status === 0, `npm pack failed:\n${packed.output}`);
  const tarball = readdirSync(work).find((name) => name.endsWith('.tgz'));
  demand(tarball !== undefined, `npm pack left no package:\n${packed.output}`);
  writeFileSync(join(work, 'package.json'), JSON.stringify({ name: 'elsewhere', private: true }));
  const installed = run('npm', ['install', '--omit=dev', '--no-audit', '--no-fund', '--loglevel=error', `./${tarball}`], work);
  demand(installed.status === 0, `npm install of the package failed:\n${installed.output}`);
  const folder = join(work, 'node_modules/routedip-operator');
  return { folder, files: filesBelow(folder).filter((path) => !path.startsWith('node_modules/')) };
};

/** The node of the folders of PATH that is older than needed, or null when there is none on this machine. */
const olderNode = (): string | null => {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const node = join(folder, 'node');
    try {
      accessSync(node, constants.X_OK);
    } catch {
      continue;
    }
    if (Number(run(node, ['-p', 'process.versions.node.split(".")[0]'], ROOT).output) < NEEDED) return node;
  }
  return null;
};

/** Runs the command of the installed package as npx does, under one Node. */
const command = ({ folder }: Installed, node: string, args: readonly string[], name = 'routedip-operator'): Ran => {
  const project = join(folder, '../..');
  const env = {
    ...process.env,
    PATH: `${join(project, 'node_modules/.bin')}${delimiter}${dirname(node)}${delimiter}${process.env.PATH ?? ''}`,
  };
  return run('npx', ['--no-install', name, ...args], project, env);
};

const contents = ({ files, folder }: Installed): void => {
  for (const wanted of [
    'bin/routedip-operator.mjs',
    'bin/kubectl-routedip.mjs',
    'dist/main.js',
    'dist/kubectl-routedip.js',
    'dist/THIRD-PARTY-LICENSES',
    'dist/crds/floatingippools.yaml',
    'dist/crds/nodednsrecordsets.yaml',
    'dist/dashboard/index.html',
    'LICENSE',
    'README.md',
    'package.json',
  ]) {
    demand(files.includes(wanted), `${wanted} is not in the package`);
  }
  const foreign = files.filter((path) => /(^|\/)(test|tests|demo|simulator|bench|tools)\/|\.(test\.[jt]s|ts|log)$/.test(path));
  demand(foreign.length === 0, `the package holds what is not for its users: ${foreign.join(', ')}`);
  const telling = files.filter((path) => readFileSync(join(folder, path), 'utf8').includes(ROOT));
  demand(telling.length === 0, `these files name the folder they were built in: ${telling.join(', ')}`);
};

/** npm applies this project's overrides here only: what they replace must come inside the package. */
const bundled = ({ folder }: Installed): void => {
  const versionOf = (file: string): unknown => (JSON.parse(readFileSync(file, 'utf8')) as { version: unknown }).version;
  const expected = versionOf(join(ROOT, 'node_modules/axios/package.json'));
  const found = versionOf(join(folder, 'node_modules/axios/package.json'));
  demand(found === expected, `the package brings axios ${String(found)}, tested is ${String(expected)}`);
  const nested = filesBelow(join(folder, 'node_modules')).filter((path) => /\/node_modules\/axios\/package\.json$/.test(path));
  demand(nested.length === 0, `another axios is in ${nested.join(', ')}`);
};

const helps = (installed: Installed): void => {
  const { status, output } = command(installed, process.execPath, ['--help']);
  demand(status === 0 && /run/.test(output), `routedip-operator --help ended with ${status}:\n${output}`);
  const plugin = command(installed, process.execPath, ['--help'], 'kubectl-routedip');
  demand(plugin.status === 0 && /status/.test(plugin.output), `kubectl-routedip --help ended with ${plugin.status}:\n${plugin.output}`);
  const probe = command(installed, process.execPath, ['probe', '--help']);
  demand(probe.status === 0 && /--clean/.test(probe.output), `routedip-operator probe --help ended with ${probe.status}:\n${probe.output}`);
  const wrong = command(installed, process.execPath, ['no-such-command']);
  demand(wrong.status !== 0, `an unknown command ended with 0:\n${wrong.output}`);
};

const refuses = (node: string) => (installed: Installed) => {
  const { status, output } = command(installed, node, ['--help']);
  demand(status === 1 && output.includes(`needs Node ${NEEDED}`), `under ${node} it ended with ${status}:\n${output}`);
};

const main = (): number => {
  const work = mkdtempSync(join(tmpdir(), 'routedip-package-'));
  const older = olderNode();
  const checks: readonly (readonly [string, (installed: Installed) => void])[] = [
    ['holds what its users need and nothing else', contents],
    ['brings the libraries that its overrides replace', bundled],
    ['runs elsewhere under Node 24', helps],
    ...(older === null ? [] : [[`says what to do under ${older}`, refuses(older)] as const]),
  ];
  let failed = 0;
  try {
    const installed = install(work);
    for (const [what, check] of checks) {
      try {
        check(installed);
        console.log(`ok      the package ${what}`);
      } catch (error) {
        failed++;
        console.log(`FAILED  the package ${what}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  } catch (error) {
    failed = checks.length;
    console.log(error instanceof Error ? error.message : String(error));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  console.log(`${checks.length - failed} passed, ${failed} failed${older === null ? ', 1 skipped' : ''}`);
  return failed === 0 ? 0 : 1;
};

process.exitCode = main();
