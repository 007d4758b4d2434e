import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { agrees, type GuideStep, isLook, stepsOf } from './guide.ts';

/** For what commands of the page wait for: images are unpacked, a rollout ends, the node controller gives a node up. */
const STEP_MS = 180_000;
/** How long a step that only looks is repeated. */
const LOOK_MS = 60_000;
const AGAIN_MS = 500;

export interface PlayOptions {
  /** Where the reader's shell is. */
  readonly cwd: string;
  /** What it finds there, such as KUBECONFIG and PATH. */
  readonly env: Readonly<Record<string, string>>;
  /** What a reader puts in the place of something, such as a token. */
  readonly filledIn?: Readonly<Record<string, string>>;
  /** Does what the page asks the reader to do after a step that is no command, such as opening a page. */
  readonly after?: (step: GuideStep, printed: string) => Promise<void>;
}

/** Plays a page to its end. @throws Error with the line of the page, and what was printed, when a step fails or prints something else than the page says */
export async function playGuide(page: string, { cwd, env, filledIn = {}, after }: PlayOptions): Promise<void> {
  const shell = new Shell(cwd, env);
  try {
    for (const step of stepsOf(page)) {
      const began = performance.now();
      const script = Object.entries(filledIn).reduce((so, [name, value]) => so.replaceAll(name, value), step.script);
      const printed = await playStep(shell, { ...step, script });
      console.log(`line ${step.line}, ${((performance.now() - began) / 1_000).toFixed(1)} s\n${script}${printed}`);
      await after?.(step, printed);
    }
  } finally {
    await shell.close();
  }
}

/** Resolves with what the step printed. */
async function playStep(shell: Shell, step: GuideStep): Promise<string> {
  const deadline = performance.now() + LOOK_MS;
  for (;;) {
    const { printed, code } = await shell.run(step.script, isLook(step));
    const isAsSaid = step.prints === null ? code === 0 : agrees(step.prints, printed);
    if (isAsSaid) return printed;
    if (!isLook(step) || performance.now() > deadline) {
      const said = step.prints === null ? '' : `\nwhere the page has\n${step.prints}`;
      throw new Error(`line ${step.line} of the page: ${step.script}ended with ${code} and printed\n${printed}${said}`);
    }
    await wait(AGAIN_MS);
  }
}

interface Played {
  readonly printed: string;
  /** `ended`: the shell has, since a command failed. `late`: it goes on for too long. */
  readonly code: number | 'ended' | 'late';
}

/** The one shell of a reader: what a step exports, and what it starts in the background, is there for the next one. */
class Shell {
  readonly #child: ChildProcess;
  readonly #cwd: string;
  readonly #ended: Promise<'ended'>;
  #count = 0;

  constructor(cwd: string, env: Readonly<Record<string, string>>) {
    this.#cwd = cwd;
    // A group of its own, which ends as a whole.
    this.#child = spawn('bash', ['-e', '-o', 'pipefail'], {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['pipe', 'ignore', 'inherit', 'pipe'],
      detached: true,
    });
    this.#ended = new Promise((resolve) => void this.#child.once('exit', () => resolve('ended')));
    this.#child.stdin?.on('error', () => undefined);
  }

  /** `isApart`: in a shell within, so that nothing is left of it, and a command may fail. */
  async run(script: string, isApart: boolean): Promise<Played> {
    this.#count += 1;
    const file = join(this.#cwd, `.step-${this.#count}`);
    const output = `${file}.out`;
    writeFileSync(file, script);
    writeFileSync(output, '');
    const command = isApart ? `set +e; (set -e; . '${file}'); code=$?; set -e` : `. '${file}'; code=0`;
    const answered = new Promise<number>((resolve) => void this.#child.stdio[3]?.once('data', (data) => resolve(Number(String(data)))));
    this.#child.stdin?.write(`{ ${command}; } </dev/null >'${output}' 2>&1; echo "$code" >&3\n`);
    const late = wait(STEP_MS, 'late' as const, { ref: false });
    const code = await Promise.race([answered, this.#ended, late]);
    return { printed: readFileSync(output, 'utf8'), code };
  }

  async close(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.pid !== undefined) process.kill(-this.#child.pid, 'SIGTERM');
    this.#child.stdin?.end();
    await this.#ended;
  }
}
