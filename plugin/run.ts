import type { Asked } from './command-line.ts';
import { explain } from './explain.ts';
import { inventory } from './inventory.ts';
import { journal, replay } from './journal.ts';
import { evacuate, move, pause, resume, unassign } from './marks.ts';
import { plan } from './plan.ts';
import { EXIT, type ExitCode, type Session } from './ports.ts';
import { status } from './status.ts';

const commands: { readonly [C in Asked['command']]: (session: Session, asked: Extract<Asked, { command: C }>) => Promise<ExitCode> } = {
  status,
  explain,
  journal,
  replay,
  plan,
  inventory,
  move,
  pause,
  resume,
  unassign,
  evacuate,
};

/** Runs the command. Errors are printed and end in exit code 1; nothing is thrown. */
export async function run(asked: Asked, session: Session): Promise<ExitCode> {
  try {
    return await commands[asked.command](session, asked as never);
  } catch (error) {
    session.problem(error instanceof Error ? error.message : String(error));
    return EXIT.failed;
  }
}
