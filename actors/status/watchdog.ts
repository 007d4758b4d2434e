import type { ActorId, Finding } from '../../machines/model/types.ts';
import { inSlices } from '../ports/in-slices.ts';
import type { Log } from '../ports/observers.ts';
import type { Clock } from '../ports/records.ts';
import { NO_NOTICES, type Notices } from './notices.ts';
import type { Watched } from './watchdog-log.ts';
import { WatchdogLog } from './watchdog-log.ts';

export interface WatchdogPorts {
  readonly clock: Clock;
  readonly log: Log;
  /** Each with the actor that represents it. */
  readonly objects: () => Iterable<readonly [ActorId, Watched]>;
  /** Called once per look. Returns a function that says why an object is not served as it is now; null while another process leads, which is responsible for them. */
  readonly judge: () => ((id: ActorId, object: Watched) => Finding | null) | null;
  /** Failing turns of cells, by the actor whose object reports them. */
  readonly troubles: () => ReadonlyMap<ActorId, Finding>;
  /** The notices of the object have changed. */
  readonly changed: (id: ActorId, object: Watched, notices: Notices) => void;
}

/** How long an object may go unserved before it is reported, ms. */
const PATIENCE_MS = 10_000;
/** How long another reason has to last before it replaces the reported one, ms: work in several steps has many. */
const REASON_MS = 3_000;

const NEVER = (): boolean => false;

/** All times are monotonic ms. */
interface Seen {
  readonly object: Watched;
  /** Since when it is not served, and since when for this reason; null when it is served. */
  readonly waits: { readonly since: number; readonly reason: string; readonly reasonSince: number } | null;
  readonly notices: Notices;
}

/** Checks regularly whether each observed object is served, and reports what the others wait for. Keeps only start times and what was reported: all else is read from its
 *  owners. */
export class Watchdog {
  readonly #ports: WatchdogPorts;
  readonly #log: WatchdogLog;
  #seen = new Map<ActorId, Seen>();
  #isLooking = false;

  constructor(ports: WatchdogPorts) {
    this.#ports = ports;
    this.#log = new WatchdogLog(ports);
  }

  /** What the status of this actor's object has to say beyond its records. */
  noticesOf(id: ActorId): Notices {
    return this.#seen.get(id)?.notices ?? NO_NOTICES;
  }

  /** How many objects are not served, by kind and reason. */
  unserved(): readonly { readonly kind: string; readonly reason: string; readonly count: number }[] {
    const told = [...this.#seen.values()].flatMap(({ object, notices: { unserved } }) => (unserved ? [{ object, unserved }] : []));
    const groups = Map.groupBy(told, ({ object, unserved }) => `${object.ref.kind} ${unserved.reason}`);
    return [...groups].map(([group, { length }]) => {
      const [kind = '', reason = ''] = group.split(' ');
      return { kind, reason, count: length };
    });
  }

  /** Call about every two seconds: does nothing while a look is still running. */
  look(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    void this.#look().finally(() => {
      this.#isLooking = false;
    });
  }

  async #look(): Promise<void> {
    const { clock, judge, changed } = this.#ports;
    const why = judge();
    const former = this.#seen;
    const seen = why ? await this.#seenNow(why) : new Map<ActorId, Seen>();
    this.#seen = seen;
    const show = ([id, { object }]: readonly [ActorId, Seen]): void => {
      const [before, after] = [former.get(id)?.notices ?? NO_NOTICES, this.noticesOf(id)];
      if (JSON.stringify(before) === JSON.stringify(after)) return;
      this.#log.changed(object, before.unserved, after.unserved);
      changed(id, object, after);
    };
    await inSlices(new Map([...former, ...seen]), clock, NEVER, show);
    if (why) this.#log.write();
    else this.#log.forget();
  }

  async #seenNow(why: (id: ActorId, object: Watched) => Finding | null): Promise<Map<ActorId, Seen>> {
    const { clock, objects, troubles } = this.#ports;
    const [now, troubled] = [clock.monotonic(), troubles()];
    const seen = new Map<ActorId, Seen>();
    const look = ([id, object]: readonly [ActorId, Watched]): void => {
      const found = why(id, object);
      const trouble = troubled.get(id) ?? null;
      if (found || trouble) seen.set(id, seenNow({ object, found, trouble, former: this.#seen.get(id), now }));
    };
    await inSlices(objects(), clock, NEVER, look);
    return seen;
  }
}

interface Finds {
  readonly object: Watched;
  readonly found: Finding | null;
  readonly trouble: Finding | null;
  readonly former: Seen | undefined;
  readonly now: number;
}

function seenNow({ object, found, trouble, former, now }: Finds): Seen {
  if (!found) return { object, waits: null, notices: { unserved: null, trouble } };
  const isSameObject = former?.object.ref.uid === object.ref.uid;
  const waited = isSameObject ? former.waits : null;
  const told = isSameObject ? former.notices.unserved : null;
  const { reason } = found;
  const waits = { since: waited?.since ?? now, reason, reasonSince: waited?.reason === reason ? waited.reasonSince : now };
  const isToBeTold = told === null || told.reason === reason || now - waits.reasonSince >= REASON_MS;
  const unserved = now - waits.since < PATIENCE_MS ? null : isToBeTold ? found : told;
  return { object, waits, notices: { unserved, trouble } };
}
