import type { Decision } from '../events.ts';
import type { UnassignInput } from '../jobs.ts';
import type { AddressContext, AddressSettings, AnyAddressEvent } from './context.ts';
import { isOwn } from './context.ts';
import { fail, isRetiring, leaveHolder } from './decisions.ts';

/** A parked address was requested to be on no node: it leaves its node, its ports are closed there, and it waits until the request is withdrawn. If it is put on a node by
 *  other means meanwhile, it stays there. */

type Next = Decision<AddressContext>;
const next = (context: AddressContext): Next => ({ context, effects: [] });

export const unassignInput = ({ provider, address, holder }: AddressContext): UnassignInput => ({ provider, address, holder });

/** It must leave its node from now on. Does not apply to an address that is being given up. */
export const parks = (context: AddressContext, event: AnyAddressEvent): boolean =>
  event.type === 'PARK' && event.parked && !isRetiring(context);
export const isParked = ({ parked, retiring }: AddressContext): boolean => Boolean(parked) && retiring === null;
/** It is still on a node, and is owned: nothing else needs it there. */
export const mustLetGo = (context: AddressContext): boolean =>
  isParked(context) && context.parked === 'asked' && context.holder !== null && isOwn(context);
/** It has left its node, and its ports are still open. */
export const leavesPorts = (context: AddressContext): boolean =>
  isParked(context) && context.parked === 'done' && context.claimed.length > 0;
/** The request was withdrawn, and the address only waits for a retry. */
export const mayBeGranted = ({ resume, inDoubtUntil }: AddressContext, event: AnyAddressEvent): boolean =>
  event.type === 'PARK' && !event.parked && resume === 'Unassigned' && inDoubtUntil === null;
/** It was detached from its node and has no other. */
export const isOnNone = ({ elected, retiring }: AddressContext): boolean => elected === null && retiring === null;

export const notePark = (context: AddressContext, event: AnyAddressEvent): Next =>
  next(
    event.type === 'PARK'
      ? { ...context, parked: event.parked ? (context.parked ?? (isElsewhere(context) ? 'done' : 'asked')) : null }
      : context,
  );

/** It was put where it is by other means, possibly while it was parked, which a start without records cannot know. */
const isElsewhere = ({ holder, assigned, elected, inDoubtUntil }: AddressContext): boolean =>
  holder !== null && assigned?.providerID !== holder && elected === null && inDoubtUntil === null;

/** It has left its node, or was put elsewhere by other means. */
export const letGo =
  (settings: AddressSettings) =>
  (context: AddressContext, event: AnyAddressEvent): Next => {
    if (event.type !== 'xstate.done.actor.unassign') return next(context);
    const { providerID, rerun } = event.output;
    const left = { ...context, ...leaveHolder(context), holder: providerID, known: true, failure: null, attempts: 0 };
    // A call of an interrupted run may still detach it from a node that it gets meanwhile.
    const doubt = rerun ? { inDoubtUntil: event.at + settings.callDeadlineMs } : {};
    return next({ ...left, ...doubt, ...(context.parked && { parked: 'done' }) });
  };

/** Waits before it tries again. A call whose answer was lost may still detach the address from a node that it gets meanwhile. */
export const letGoFails =
  (settings: AddressSettings) =>
  (context: AddressContext, event: AnyAddressEvent): Next => {
    const isUnknown = 'error' in event && event.error.unknownOutcome;
    const unread = { ...context, known: false, elected: null, eligible: false };
    const doubted = isUnknown ? { ...unread, inDoubtUntil: event.at + settings.callDeadlineMs } : unread;
    return fail(settings, 'Unassigned', 'nothing')(doubted, event);
  };
