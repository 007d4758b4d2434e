import type { AddressContext } from '../../machines/address/context.ts';
import { isUntilChanged, UNTIL_CHANGED } from '../../machines/model/backoff.ts';
import { failureReason, textAbout } from '../../machines/model/failure.ts';
import type { Address, JobFailure } from '../../machines/model/types.ts';
import { adoptionEvents } from '../../machines/pool/adoption.ts';
import type { PoolContext } from '../../machines/pool/context.ts';
import { type AddressView, conflictText } from '../../machines/pool/view.ts';
import { markEvents } from '../../machines/status/annotations.ts';
import { nodeEvents } from '../../machines/status/nodes.ts';
import { poolError } from '../../machines/status/pool.ts';
import { recordSetEvents } from '../../machines/status/record-set.ts';
import { firewallEvents, ownerEvents } from '../../machines/status/routedip-events.ts';
import { addressView, waitsIn } from '../controllers/record-view.ts';
import type { ClusterEvent } from '../ports/cluster.ts';
import { SERVER_ERROR } from '../ports/errors.ts';
import type { Transition } from '../ports/observers.ts';
import type { ActorRecord } from '../ports/records.ts';
import { isDrift } from './losses.ts';

const OF_JOBS: ReadonlySet<string> = new Set(['RoutedIPJobFailed', 'FirewallJobFailed']);
const RUN_JOB = 'RunJob';

/** Whether an Event is about Jobs: then it concerns the class whose templates these are. */
export const isAboutJobs = ({ reason, action }: ClusterEvent): boolean => OF_JOBS.has(reason) || action === RUN_JOB;

/** Events for users about a job that has begun to wait for something in a turn. */
export function waitEvents({ before, after }: Transition): readonly ClusterEvent[] {
  const waits = waitsIn(after);
  const action = waits?.reason === SERVER_ERROR.reason ? 'Write' : RUN_JOB;
  return waits && waits.reason !== waitsIn(before)?.reason ? [{ type: 'Warning', action, ...waits }] : [];
}

/** Events for users about one actor's part in a turn. */
export function eventsOf({ chart, before, after }: Transition): readonly ClusterEvent[] {
  if (!after) return [];
  if (chart === 'dns-record-set') return recordSetEvents(before?.snapshot.context as never, after.snapshot.context as never);
  if (chart === 'ip') return addressEvents(before, after);
  if (chart !== 'pool') return [];
  const [was, is] = [before?.snapshot.context as never, after.snapshot.context as never];
  return [...poolEvents(was, is), ...nodeEvents(was, is), ...adoptionEvents(was, is), ...markEvents(was, is), ...ownerEvents(was, is)];
}

function addressEvents(former: ActorRecord | null, record: ActorRecord): readonly ClusterEvent[] {
  const now = addressView(record);
  const was = former && addressView(former);
  const [before, after] = [was?.context, now.context];
  const told = [assignedEvent(before, after), electedEvent(before, after), failedEvent(before, now), driftEvent(before, after)];
  return [...told.filter((event) => event !== null), ...(was ? firewallEvents(was, now) : [])];
}

function assignedEvent(before: AddressContext | undefined, { address, assigned }: AddressContext): ClusterEvent | null {
  if (!assigned || assigned.name === before?.assigned?.name) return null;
  const from = before?.assigned ? `, from ${before.assigned.name}` : '';
  return { type: 'Normal', reason: 'Assigned', action: 'Assign', message: `${address} is on ${assigned.name}${from}` };
}

function electedEvent(before: AddressContext | undefined, { address, assigned, elected, epoch }: AddressContext): ClusterEvent | null {
  // A rebuilt address may know its target node by name alone: that is no election.
  if (!elected?.providerID || elected.name === assigned?.name || before?.epoch === epoch) return null;
  return { type: 'Normal', reason: 'NodeElected', action: 'Elect', message: `${elected.name} is to take ${address}` };
}

/** Retries that wait for new credentials, a permission, or room in a firewall are no news. */
const isSaidAlready = ({ kind, reason }: JobFailure, before: JobFailure | null | undefined): boolean =>
  (kind === 'Unauthorized' && before?.kind === kind) ||
  ((reason === 'Forbidden' || reason === 'FirewallLimit') && before?.reason === reason);

function failedEvent(before: AddressContext | undefined, { context, state }: AddressView): ClusterEvent | null {
  const { address, failure, attempts, coolOffUntil } = context;
  if (!failure || attempts === before?.attempts) return null;
  if (isSaidAlready(failure, before?.failure)) return null;
  // Not the time of the retry: equal Events are counted, and the status has the time.
  const wait = coolOffUntil !== null && state === 'CoolOff' && isUntilChanged(failure) ? `; ${UNTIL_CHANGED}` : '';
  return { type: 'Warning', reason: failureReason(failure), action: 'Assign', message: `${textAbout(address, failure.message)}${wait}` };
}

function driftEvent(before: AddressContext | undefined, after: AddressContext): ClusterEvent | null {
  if (!before?.assigned || !isDrift(before, after)) return null;
  const { address, holder } = after;
  const now = holder ? `on ${holder}` : 'attached to nothing';
  return {
    type: 'Warning',
    reason: 'DriftDetected',
    action: 'Verify',
    message: `${address} is ${now} at the provider, not on ${before.assigned.name}`,
  };
}

const madeIn = ({ spec }: PoolContext): string => {
  const { group } = spec?.exposes ?? {};
  return group ? `taken from IPGroup ${group.name}` : 'created';
};

function poolEvents(before: PoolContext | undefined, after: PoolContext): readonly ClusterEvent[] {
  const events: ClusterEvent[] = [];
  if (after.error !== null && after.error !== before?.error) {
    events.push({
      type: 'Warning',
      reason: after.exposed?.reason ?? after.errorReason ?? 'InvalidSpec',
      action: 'Validate',
      message: after.error,
    });
  }
  for (const [address, owner] of Object.entries(after.conflicts)) {
    if (before?.conflicts[address as Address] === owner) continue;
    events.push({
      type: 'Warning',
      reason: 'AddressConflict',
      action: 'Validate',
      message: conflictText(address, owner),
    });
  }
  return [...events, ...roomEvents(before, after), ...creationEvents(before, after)];
}

/** The count in the message depends on other objects, too: only a lack of room is news. */
function roomEvents(before: PoolContext | undefined, { room }: PoolContext): readonly ClusterEvent[] {
  const refusal = room?.refusal;
  return refusal && refusal.reason !== before?.room?.refusal?.reason ? [{ type: 'Warning', action: 'Create', ...refusal }] : [];
}

function creationEvents(before: PoolContext | undefined, after: PoolContext): readonly ClusterEvent[] {
  const events: ClusterEvent[] = [];
  const created = after.created.filter((address) => !before?.created.includes(address));
  // Without an intent it is a former address.
  const how = before?.acquiring.intent
    ? { reason: 'AddressCreated', what: `was ${madeIn(after)}` }
    : { reason: 'AddressReused', what: 'was kept, and is used again' };
  if (before)
    for (const address of created) events.push({ type: 'Normal', reason: how.reason, action: 'Create', message: `${address} ${how.what}` });
  const { failure, attempts, unclear } = after.acquiring;
  if (failure && attempts !== before?.acquiring.attempts && !isSaidAlready(failure, before?.acquiring.failure)) {
    const reason = failure.reason ?? 'CreateFailed';
    events.push({ type: 'Warning', reason, action: 'Create', message: poolError(after) ?? failure.message });
  }
  if (unclear.length > 0 && before?.acquiring.unclear.length === 0) {
    events.push({ type: 'Warning', reason: 'CreateUnknown', action: 'Create', message: poolError(after) ?? '' });
  }
  return events;
}
