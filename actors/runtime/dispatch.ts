import type { CreateInput, PublishInput } from '../../machines/jobs.ts';
import { cellOf } from '../../machines/model/actor-id.ts';
import type { ActorId } from '../../machines/model/types.ts';
import { Unreachable } from '../ports/errors.ts';
import type { Log } from '../ports/observers.ts';
import type { NewJob, Queues } from '../ports/queues.ts';
import type { Command, JobCommand, Json, SendCommand, TimerCommand } from '../ports/records.ts';
import type { Beside } from './beside.ts';
import { jobOf, TIMERS } from './queue-data.ts';
import type { Envelope, TurnResult } from './turn.ts';

export interface DispatchPorts {
  readonly queues: Queues;
  readonly log: Log;
  readonly now: () => number;
  readonly term: () => number;
  readonly beside: (cell: ActorId) => Beside;
  /** Resolves once the receiver's turn is saved. */
  readonly deliver: (envelope: Envelope) => Promise<void>;
  /** A send was handled: its sender may drop it. */
  readonly arrived: (sender: ActorId, id: string) => void;
}

/** Dispatches saved commands to the queues and to other cells. Adding an existing job is a no-op, so dispatching twice is harmless. Returns the ids of the jobs and timers
 *  that are stored now; what failed stays in the outbox and is swept. */
export async function dispatch(commands: readonly Command[], ports: DispatchPorts): Promise<readonly string[]> {
  for (const command of commands) if (command.kind === 'send') send(command, ports);
  const queues = new Map<string, NewJob[]>();
  for (const command of commands) {
    if (command.kind === 'send') continue;
    const queue = command.kind === 'timer' ? TIMERS : command.queue;
    queues.set(queue, [
      ...(queues.get(queue) ?? []),
      command.kind === 'timer' ? timerOf(command, ports.now()) : newJob(command as JobCommand, ports),
    ]);
  }
  const stored = await Promise.all([...queues].map(([queue, jobs]) => add(queue, jobs, ports)));
  return stored.flat();
}

async function add(queue: string, jobs: readonly NewJob[], { queues, log }: DispatchPorts): Promise<readonly string[]> {
  try {
    await queues.queue(queue).add(jobs);
    return jobs.map(({ id }) => id);
  } catch (error) {
    log.warn('jobs could not be queued yet', { queue, count: jobs.length, error: String(error) });
    return [];
  }
}

/** Any process may run the job, whatever its watches show. A job that looks for a created address, or publishes one from a list, receives the addresses that others have,
 *  and the object for which one is being created. */
function newJob(command: JobCommand, { term, beside }: DispatchPorts): NewJob {
  const { intent, mayBeOthers } = command.input as unknown as Partial<CreateInput & PublishInput>;
  if (command.job !== 'reconcileCreate' && !mayBeOthers) return jobOf(command, term());
  const known = new Set(intent?.knownAddresses);
  const { addresses, making } = beside(cellOf(command.actor));
  const recorded = [...new Set(addresses).difference(known)];
  return jobOf(command, term(), { recorded, ...(making && { making }) });
}

/** Never delays longer than the whole wait, even if the clock was set back meanwhile. */
const timerOf = ({ id, actor, sendId, dueAt, waitMs }: TimerCommand, now: number): NewJob => ({
  id,
  title: `timer ${sendId} of ${actor}`,
  data: { actor, sendId, commandId: id } satisfies { [key: string]: Json },
  delayMs: Math.max(0, Math.min(dueAt - now, waitMs ?? Number.POSITIVE_INFINITY)),
});

function send(command: SendCommand, { deliver, arrived, log }: DispatchPorts): void {
  const event = command.event as { readonly type: string; readonly [field: string]: unknown };
  deliver({ to: command.to, event, sender: { actor: command.actor, id: command.id } }).then(
    () => arrived(command.actor, command.id),
    (error) => {
      if (!(error instanceof Unreachable)) log.error('a send failed', { sender: command.actor, actor: command.to, error: String(error) });
    },
  );
}

/** Best effort: a job or timer that is no longer waited for is fenced anyway. */
export function discard(obsolete: TurnResult['obsolete'], { queues }: Pick<DispatchPorts, 'queues'>): void {
  for (const { commandId, queue = TIMERS, isResumed } of obsolete) {
    if (isResumed) continue;
    void queues
      .queue(queue)
      .remove(commandId)
      .catch(() => undefined);
  }
}
