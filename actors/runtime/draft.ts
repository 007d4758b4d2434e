import type { ActorId } from '../../machines/model/types.ts';
import type { HeardEvent } from '../ports/observers.ts';
import type { ActorRecord, JobCommand, JournalEntry, TimerCommand, Waiting } from '../ports/records.ts';
import { type Chart, claimsOf } from './charts.ts';
import { isSameJson } from './same-json.ts';

/** One actor's part of a turn. */
export interface Draft {
  readonly stored: ActorRecord | null;
  /** The version that this turn writes. */
  readonly version: number;
  readonly chart: Chart;
  snapshot: { value: unknown; context: unknown };
  waiting: Map<string, Waiting>;
  readonly commands: Map<string, JobCommand | TimerCommand>;
  /** Commands whose outcome was handled in this turn. */
  readonly consumed: Set<string>;
  readonly heard: HeardEvent[];
  readonly journal: JournalEntry[];
  index: number;
  done: boolean;
}

/** A job or a timer that is no longer waited for. */
export interface Obsolete {
  readonly commandId: string;
  /** Absent for a timer. */
  readonly queue?: string;
  /** Another job resumes it: its progress is still to be read. */
  readonly isResumed: boolean;
}

export const copyOf = (draft: Draft): Draft => ({
  ...draft,
  waiting: new Map(draft.waiting),
  commands: new Map(draft.commands),
  consumed: new Set(draft.consumed),
  heard: [...draft.heard],
  journal: [...draft.journal],
});

/** An actor that issued an id has to be written even if nothing else changed: otherwise the next id of this version would be the same. */
export function isChanged(draft: Draft): boolean {
  const { stored } = draft;
  if (!stored || draft.done || draft.index > 0) return true;
  const waiting = Object.entries(stored.waiting);
  if (waiting.length !== draft.waiting.size || waiting.some(([key, awaited]) => !isSame(awaited, draft.waiting.get(key)))) return true;
  return !isSameJson(stored.snapshot, draft.snapshot);
}

const isSame = (before: Waiting, now: Waiting | undefined): boolean =>
  now?.commandId === before.commandId && JSON.stringify(now.waits ?? null) === JSON.stringify(before.waits ?? null);

export function claimsDiff(actor: ActorId, draft: Draft, after: ActorRecord | null) {
  const old = draft.stored ? claimsOf(draft.chart, actor, draft.stored.snapshot.context) : [];
  const now = after ? claimsOf(draft.chart, actor, after.snapshot.context) : [];
  const has = (list: typeof old, claim: (typeof old)[number]) =>
    list.some(({ provider, node }) => provider === claim.provider && node === claim.node);
  return {
    take: now.filter((claim) => !has(old, claim)),
    free: old.filter((claim) => !has(now, claim)).map(({ provider, node, owner }) => ({ provider, node, owner })),
  };
}

export function obsoleteOf(draft: Draft): readonly Obsolete[] {
  const kept = new Set([...draft.waiting.values()].map(({ commandId }) => commandId));
  const resumed = new Set([...draft.commands.values()].map((command) => (command.kind === 'job' ? command.resumes : undefined)));
  return Object.entries(draft.stored?.waiting ?? {})
    .filter(([key, { commandId }]) => key !== 'claim' && !kept.has(commandId) && !draft.consumed.has(commandId))
    .map(([, { commandId, queue }]) => ({ commandId, isResumed: resumed.has(commandId), ...(queue !== undefined && { queue }) }));
}
