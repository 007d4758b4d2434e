import type { ObjectRef } from '../../machines/model/types.ts';
import type { VipContext, VipRefusal } from '../../machines/vip/decisions.ts';
import { CONTENDED } from '../../machines/vip/objects.ts';
import type { ClusterEvent, ClusterWriter } from '../ports/cluster.ts';
import type { Observer, Transition } from '../ports/observers.ts';

/** Tells in Events of a Service what became of its address. After the save, off the path of an allocation; one that cannot be written is told in the log by the writer. */
export class VipAnnouncer implements Observer {
  readonly #writer: Pick<ClusterWriter, 'announce'>;

  readonly #contendedChanged: () => void;

  /** `contendedChanged` is called when a Service is left to somebody else, and when it is not any more. */
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

  /** Says again why the Service has no address when that is still as it was saved: it may never have reached the server, or was long ago. What the server has,
   *  the writer does not repeat; what is new is told once it is saved. */
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

/** Only of what we have just published: a Service that is found as it is to be is told nothing. */
function allocated(events: readonly string[], is: VipContext | null): readonly ClusterEvent[] {
  if (!is?.target || !events.includes('xstate.done.actor.publish')) return [];
  const { address, group } = is.target;
  return [normal('IPAllocated', 'Allocate', group === '' ? `has ${address}` : `has ${address}, from IPGroup ${group}`)];
}

/** While it is being freed: what a cache says of it may be heard before the outcome. */
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

/** Once as it begins. */
function contended(was: VipContext | null, is: VipContext | null): readonly ClusterEvent[] {
  const message = is?.contention?.message;
  if (!message || message === was?.contention?.message) return [];
  return [{ type: 'Warning', reason: CONTENDED, action: 'Allocate', message }];
}

const normal = (reason: string, action: string, message: string): ClusterEvent => ({ type: 'Normal', reason, action, message });
