import type { Decision } from '../events.ts';
import type { UnassignInput } from '../jobs.ts';
import type { AddressContext, AddressSettings, AnyAddressEvent } from './context.ts';
import { isOwn } from './context.ts';
import { fail, isRetiring, leaveHolder } from './decisions.ts';

/** An address that somebody wants on no node: it leaves the one that it is on, its ports are closed there, and it waits until that is taken back. Where somebody puts it
 *  meanwhile it stays. */

type Next = Decision<AddressContext>;
const next = (context: AddressContext): Next => ({ context, effects: [] });

export const unassignInput = ({ provider, address, holder }: AddressContext): UnassignInput => ({ provider, address, holder });

/** It is to leave its node from now on. One that is given up goes its way. */
export const parks = (context: AddressContext, event: AnyAddressEvent): boolean =>
  event.type === 'PARK' && event.parked && !isRetiring(context);
export const isParked = ({ parked, retiring }: AddressContext): boolean => Boolean(parked) && retiring === null;
/** It is on a node still, and is its owner's: nobody else needs it there. */
export const mustLetGo = (context: AddressContext): boolean =>
  isParked(context) && context.parked === 'asked' && context.holder !== null && isOwn(context);
/** It has left its node, and ports are open for it. */
export const leavesPorts = (context: AddressContext): boolean =>
  isParked(context) && context.parked === 'done' && context.claimed.length > 0;
/** Nobody wants that any more, and it only waits to be tried again. */
export const mayBeGranted = ({ resume, inDoubtUntil }: AddressContext, event: AnyAddressEvent): boolean =>
  event.type === 'PARK' && !event.parked && resume === 'Unassigned' && inDoubtUntil === null;
/** It was taken off its node, and has no other one. */
export const isOnNone = ({ elected, retiring }: AddressContext): boolean => elected === null && retiring === null;

export const notePark = (context: AddressContext, event: AnyAddressEvent): Next =>
  next(
    event.type === 'PARK'
      ? { ...context, parked: event.parked ? (context.parked ?? (isElsewhere(context) ? 'done' : 'asked')) : null }
      : context,
  );

/** Somebody has put it where it is: maybe while it was wanted on no node, which whoever begins without records does not know. */
const isElsewhere = ({ holder, assigned, elected, inDoubtUntil }: AddressContext): boolean =>
  holder !== null && assigned?.providerID !== holder && elected === null && inDoubtUntil === null;

/** It has left its node, or somebody has put it elsewhere. */
export const letGo =
  (settings: AddressSettings) =>
  (context: AddressContext, event: AnyAddressEvent): Next => {
    if (event.type !== 'xstate.done.actor.unassign') return next(context);
    const { providerID, rerun } = event.output;
    const left = { ...context, ...leaveHolder(context), holder: providerID, known: true, failure: null, attempts: 0 };
    // A call of a run that was cut off may still take it off a node to which it is sent meanwhile.
    const doubt = rerun ? { inDoubtUntil: event.at + settings.callDeadlineMs } : {};
    return next({ ...left, ...doubt, ...(context.parked && { parked: 'done' }) });
  };

/** Waits before it tries again. A call of which no answer was heard may still take the address off a node to which it is sent meanwhile. */
export const letGoFails =
  (settings: AddressSettings) =>
  (context: AddressContext, event: AnyAddressEvent): Next => {
    const isUnknown = 'error' in event && event.error.unknownOutcome;
    const unread = { ...context, known: false, elected: null, eligible: false };
    const doubted = isUnknown ? { ...unread, inDoubtUntil: event.at + settings.callDeadlineMs } : unread;
    return fail(settings, 'Unassigned', 'nothing')(doubted, event);
  };
