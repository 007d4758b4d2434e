import { isPool, isRecordSet, isRoutedIP } from '../machines/model/actor-id.ts';
import type { ActorId, Finding, ObjectRef } from '../machines/model/types.ts';
import type { ObservedPools } from './controllers/pool-cache.ts';
import type { Terms } from './leadership/terms.ts';
import type { ClusterWriter } from './ports/cluster.ts';
import type { Leadership } from './ports/leadership.ts';
import type { Log } from './ports/observers.ts';
import type { Clock } from './ports/records.ts';
import type { PolicyProjector } from './status/classes.ts';
import { type Notices, unservedProjection } from './status/notices.ts';
import type { projector } from './status/projector.ts';
import { Watchdog } from './status/watchdog.ts';
import type { Watched } from './status/watchdog-log.ts';
import { troublesIn, whyUnserved } from './unserved.ts';
import type { Vips } from './vip/controller.ts';

export interface StandingPorts {
  readonly clock: Clock;
  readonly log: Log;
  readonly leadership: Pick<Leadership, 'holder'>;
  readonly writer: ClusterWriter;
  readonly pools: ObservedPools;
  readonly vips: Pick<Vips, 'watched'>;
  readonly terms: Pick<Terms, 'leader' | 'decides' | 'takingOverSince' | 'hindrance' | 'outage'>;
  readonly projector: Pick<ReturnType<typeof projector>, 'noticed'>;
  readonly policies: Pick<PolicyProjector, 'request'>;
}

const POLICY = 'policy/';

/** Whether the objects of one process are served, and why not, published where users look. */
export class Standing {
  readonly #ports: StandingPorts;
  readonly #watchdog: Watchdog;
  /** Uids of objects whose unreadable provider has been reported. */
  readonly #unread = new Set<string>();

  constructor(ports: StandingPorts) {
    this.#ports = ports;
    this.#watchdog = new Watchdog({
      ...ports,
      objects: () => this.#objects(),
      judge: () => this.#judge(),
      troubles: () => troublesIn(ports.terms.leader?.cells ?? new Map()),
      changed: (id, object, notices) => this.#show(id, object, notices),
    });
  }

  /** Call about every two seconds. */
  look(): void {
    this.#watchdog.look();
  }

  noticesOf(id: ActorId): Notices {
    return this.#watchdog.noticesOf(id);
  }

  unserved(): ReturnType<Watchdog['unserved']> {
    return this.#watchdog.unserved();
  }

  *#objects(): Iterable<readonly [ActorId, Watched]> {
    const { pools, vips } = this.#ports;
    yield* pools.all;
    for (const policy of pools.policies.all) yield [`${POLICY}${policy.ref.kind}/${policy.ref.namespace}/${policy.ref.name}`, policy];
    yield* vips.watched();
  }

  #judge(): ((id: ActorId, object: Watched) => Finding | null) | null {
    const { pools, writer, terms, leadership, clock } = this.#ports;
    const { leader, takingOverSince, outage } = terms;
    if (leader && terms.decides) {
      const ports = { leader, writer, storeError: outage.error, now: clock.monotonic(), hindranceOf: (id: ActorId) => pools.hindrance(id) };
      return (id, object) => whyUnserved(id, object, ports);
    }
    const why = takingOverSince === null ? this.#leaderless(leadership.holder()) : this.#takingOver();
    return why && (() => why);
  }

  #takingOver(): Finding {
    const { hindrance, outage } = this.#ports.terms;
    const why = `whoever leads has not taken the records over yet: ${hindrance ?? 'they are being loaded'}`;
    return { reason: outage.error === null || outage.isAway ? 'TakingOver' : 'StoreUnreachable', message: why };
  }

  /** Null while another process leads. */
  #leaderless(holder: string | null): Finding | null {
    const { error } = this.#ports.terms.outage;
    if (holder !== null) return null;
    return { reason: 'NoLeader', message: `nobody holds the Lease${error === null ? '' : `; this process does not take it: ${error}`}` };
  }

  #show(id: ActorId, { ref }: Watched, notices: Notices): void {
    const { projector, terms, pools, policies, writer } = this.#ports;
    // A process without the Lease writes nothing.
    if (!terms.leader && terms.takingOverSince === null) return;
    const said = notices.unserved ?? notices.trouble;
    if (isPool(id) || isRecordSet(id)) {
      projector.noticed(id);
      // An unreadable provider concerns its classes. For thousands of RoutedIPs their class reports it.
      policies.request();
      this.#tellUnread(id, ref, said);
      return;
    }
    if (!said) return;
    if (!id.startsWith(POLICY)) {
      // Its status has no field for it. What holds up thousands is reported by the conditions of other objects.
      if (terms.takingOverSince === null) this.#announce(ref, said);
      return;
    }
    const policy = [...pools.policies.all].find((each) => each.ref.uid === ref.uid);
    if (policy && said.reason !== 'NotWritten') writer.project(unservedProjection(policy, said, 0));
    else policies.request();
  }

  /** An error text that differs on each attempt is not reported again. */
  #tellUnread(id: ActorId, ref: ObjectRef, said: Finding | null): void {
    if (said?.reason !== 'ProviderUnread') {
      this.#unread.delete(ref.uid);
      return;
    }
    if (!this.#unread.has(ref.uid) && !isRoutedIP(id)) this.#announce(ref, said);
    this.#unread.add(ref.uid);
  }

  #announce(ref: ObjectRef, said: Finding): void {
    this.#ports.writer.announce(ref, { type: 'Warning', action: 'Serve', ...said }).catch(() => undefined);
  }
}
