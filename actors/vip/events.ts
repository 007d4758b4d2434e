import type { ObjectRef } from '../../machines/model/types.ts';
import type { VipContext, VipRefusal } from '../../machines/vip/decisions.ts';
import { CONTENDED } from '../../machines/vip/objects.ts';
import type { ClusterEvent, ClusterWriter } from '../ports/cluster.ts';
import type { Observer, Transition } from '../ports/observers.ts';

/** Reports in Events of a Service what happened to its address. After the save, off the path of an allocation; the writer logs those that cannot be written. */
export class VipAnnouncer implements Observer {
  readonly #writer: Pick<ClusterWriter, 'announce'>;

  readonly #contendedChanged: () => void;

  /** `contendedChanged` is called when a Service is left to another controller, and when it no longer is. */
  constructor(writer: Pick<ClusterWriter, 'announce'>, contendedChanged: () => void) {
    this.#writer = writer;
    this.#contendedChanged = contendedChanged;
  }

  turnSaved({ transitions }: Parameters<Observer['turnSaved']>[0]): void {
    for (const transition of transitions) {
      if (transition.chart !== 'vip-service') continue;
      if (contextOf(transition.before)?.contention?.message !== contextOf(transition.after)?.contention?.message) this.#contendedChanged();
      const { ref } = contextOf(transition.after) ?? contextOf(transition.before) ?? {};
      if (ref) this.#tell(ref, eventsOf(transition));
    }
  }

  /** Repeats why the Service has no address when that is still as it was saved: the Event may never have reached the server, or long ago. The writer does not repeat what the
   *  server has; anything new is reported once it is saved. */
  stands(saved: VipContext | undefined, refusal: VipRefusal | null): void {
    if (saved && saved.refusal?.message === refusal?.message)
      this.#tell(saved.ref, [...refused(null, saved), ...failed(null, saved), ...contended(null, saved)]);
  }

  #tell(ref: ObjectRef, events: readonly ClusterEvent[]): void {
    for (const event of events) this.#writer.announce(ref, event).catch(() => undefined);
  }
}

const contextOf = (record: Transition['before']): VipContext | null => (record ? (record.snapshot.context as unknown as VipContext) : null);

function eventsOf({ events, before, after }: Transition): readonly ClusterEvent[] {
  const [was, is] = [contextOf(before), contextOf(after)];
  return [...allocated(events, is), ...released(before, was, is), ...refused(was, is), ...failed(was, is), ...contended(was, is)];
}

/** Only after we have published: a Service found in its desired state gets no Event. */
function allocated(events: readonly string[], is: VipContext | null): readonly ClusterEvent[] {
  if (!is?.target || !events.includes('xstate.done.actor.publish')) return [];
  const { address, group } = is.target;
  return [normal('IPAllocated', 'Allocate', group === '' ? `has ${address}` : `has ${address}, from IPGroup ${group}`)];
}

/** While it is being freed: a watch may show that before the outcome of the job is received. */
function released(before: Transition['before'], was: VipContext | null, is: VipContext | null): readonly ClusterEvent[] {
  if (!before || !was || !/Releasing|Tidying/.test(JSON.stringify(before.snapshot.value))) return [];
  const left = new Set((is?.owned ?? []).map(({ uid }) => uid));
  const gone = was.owned.filter(({ uid }) => !left.has(uid)).map(({ address }) => address);
  return gone.length === 0 ? [] : [normal('IPReleased', 'Release', `gave ${gone.join(', ')} back`)];
}

function refused(was: VipContext | null, is: VipContext | null): readonly ClusterEvent[] {
  const refusal = is?.refusal;
  if (!refusal || refusal.message === was?.refusal?.message) return [];
  const held = is.target ? `; it keeps ${is.target.address}` : '';
  return [{ type: 'Warning', reason: refusal.reason, action: 'Allocate', message: refusal.message + held }];
}

function failed(was: VipContext | null, is: VipContext | null): readonly ClusterEvent[] {
  const failure = is?.failure;
  if (!failure || failure.message === was?.failure?.message) return [];
  return [
    {
      type: 'Warning',
      reason: 'AllocationFailed',
      action: 'Allocate',
      message: `an error occurred while allocating IP: ${failure.message}`,
    },
  ];
}

/** Once, when it begins. */
function contended(was: VipContext | null, is: VipContext | null): readonly ClusterEvent[] {
  const message = is?.contention?.message;
  if (!message || message === was?.contention?.message) return [];
  return [{ type: 'Warning', reason: CONTENDED, action: 'Allocate', message }];
}

const normal = (reason: string, action: string, message: string): ClusterEvent => ({ type: 'Normal', reason, action, message });
