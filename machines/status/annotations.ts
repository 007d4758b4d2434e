import { type Address, type Finding, MOVE_TO, type ObjectEvent, UNASSIGNED } from '../model/types.ts';
import { isPaused, type Move, type NotedMarks, PAUSED } from '../pool/annotations.ts';
import type { PoolContext } from '../pool/context.ts';
import { isPrimed, isShort, wanted } from '../pool/context.ts';
import { isAnyLetGo, parkedFinding } from '../pool/parking.ts';
import type { AddressView, PoolView } from '../pool/view.ts';

/** Status and Events for what users request by annotations. */

/** In the status only while the annotation is present. */
export interface PausedCondition {
  readonly type: 'Paused';
  readonly status: 'True' | 'False';
  readonly reason: 'Paused' | 'NotPaused' | 'InvalidAnnotation';
  readonly message: string;
}

export function pausedCondition({ marks }: PoolContext): readonly PausedCondition[] {
  if (!marks?.isTold) return [];
  const type = 'Paused';
  if (marks.wrong !== null) return [{ type, status: 'False', reason: 'InvalidAnnotation', message: marks.wrong }];
  return marks.paused
    ? [{ type, status: 'True', reason: 'Paused', message: pausedText(marks) }]
    : [{ type, status: 'False', reason: 'NotPaused', message: `"false" is what ${PAUSED} says` }];
}

const pausedText = ({ deleting }: NotedMarks): string =>
  deleting
    ? `nothing is decided while ${PAUSED} is "true": the object is deleted, and goes once the annotation is taken off and what was done for it is undone`
    : `nothing is decided while ${PAUSED} is "true": nothing is moved, created or released, and no DNS record and no firewall is changed for it`;

/** What waits for the end of the pause; null for nothing. */
export function awaitsResume(view: PoolView): Finding | null {
  const { context, addresses } = view;
  if (!isPaused(context)) return null;
  const waits = wanted(context).flatMap((address) => waitsFor(context, address, addresses[address]) ?? []);
  const all = isPrimed(context) && isShort(context) ? [...waits, 'addresses are to be created'] : waits;
  return all.length > 0 ? { reason: 'Paused', message: `${all.join('; ')}; nothing is done about it before ${PAUSED} is taken off` } : null;
}

function waitsFor(context: PoolContext, address: Address, shown: AddressView | undefined): string | null {
  const node = shown?.state === 'Stable' ? shown.context.assigned : null;
  if (!node) return shown?.state === 'Unassigned' && shown.context.known ? `${address} waits for a node` : null;
  const fits = [...context.candidates, ...context.leaving].some(
    ({ name, providerID }) => name === node.name && providerID === node.providerID,
  );
  return isPrimed(context) && !fits ? `${address} is on ${node.name}, which does not match any more` : null;
}

/** What started or ended between the two contexts. */
export const markEvents = (before: PoolContext | undefined, after: PoolContext): readonly ObjectEvent[] => [
  ...pauseEvents(before, after),
  ...moveEvents(before?.marks ?? null, after.marks ?? null),
  ...parkEvents(before, after),
];

function pauseEvents(before: PoolContext | undefined, after: PoolContext): readonly ObjectEvent[] {
  const { marks = null } = after;
  const wrong = marks?.wrong ?? null;
  if (wrong !== null && wrong !== before?.marks?.wrong) {
    return [{ type: 'Warning', reason: 'InvalidAnnotation', action: 'Validate', message: wrong }, ...resumed(before, after)];
  }
  const isNews = marks !== null && isPaused(after) && (!before || !isPaused(before) || before.marks?.deleting !== marks.deleting);
  return isNews ? [{ type: 'Normal', reason: 'Paused', action: 'Pause', message: pausedText(marks) }] : resumed(before, after);
}

const resumed = (before: PoolContext | undefined, after: PoolContext): readonly ObjectEvent[] =>
  before && isPaused(before) && !isPaused(after) && !after.deleted
    ? [{ type: 'Normal', reason: 'Resumed', action: 'Resume', message: `${PAUSED} is not "true" any more: what was missed is done now` }]
    : [];

function parkEvents(before: PoolContext | undefined, after: PoolContext): readonly ObjectEvent[] {
  const [was, is] = [before && parkedFinding(before), parkedFinding(after)];
  const wrong = after.marks?.parks?.wrong ?? null;
  const invalid = wrong !== null && wrong !== before?.marks?.parks?.wrong;
  return [
    ...(invalid ? [{ type: 'Warning', reason: 'InvalidAnnotation', action: 'Validate', message: wrong } as const] : []),
    ...(is && is.message !== was?.message && isAnyLetGo(after)
      ? [{ type: 'Normal', reason: 'Unassigned', action: 'Unassign', message: is.message } as const]
      : []),
    ...(was && !is && !after.deleted
      ? [
          {
            type: 'Normal',
            reason: 'TakenBack',
            action: 'Assign',
            message: `${UNASSIGNED} asks for nothing any more: nodes are granted again`,
          } as const,
        ]
      : []),
  ];
}

const answersIn = (marks: NotedMarks | null): readonly Move[] => (marks?.moves ?? []).filter(({ answer }) => answer !== null);

function moveEvents(before: NotedMarks | null, after: NotedMarks | null): readonly ObjectEvent[] {
  const former = new Set(answersIn(before).map(({ text }) => text));
  return answersIn(after).flatMap(({ text, answer }): readonly ObjectEvent[] => {
    if (!answer || former.has(text)) return [];
    return answer.done
      ? [{ type: 'Normal', reason: 'Moved', action: 'Move', message: answer.message }]
      : [{ type: 'Warning', reason: 'MoveRefused', action: 'Move', message: answer.message }];
  });
}

/** Requests that wait for their turn or are being carried out; null for none. */
export function movesAwaited({ marks }: PoolContext): Finding | null {
  const open = (marks?.moves ?? []).filter(({ answer }) => answer === null);
  const all = open.map(({ text }) => text).join(', ');
  return open.length > 0
    ? { reason: 'MoveRequested', message: `${MOVE_TO} asks for ${all}, which waits for its turn or is under way` }
    : null;
}

/** The annotation's current and remaining text, once part of it was answered: requests are not pins. */
export function moveToAfter({ marks }: PoolContext): { readonly moveTo?: { readonly from: string; readonly to: string | null } } {
  const { moves = [], moveTo } = marks ?? {};
  if (moveTo === undefined || (moves.length > 0 && moves.every(({ answer }) => answer === null))) return {};
  const left = moves.filter(({ answer }) => answer === null).map(({ text }) => text);
  return { moveTo: { from: moveTo, to: left.length > 0 ? left.join(',') : null } };
}
