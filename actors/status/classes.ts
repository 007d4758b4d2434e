import { isRoutedIP } from '../../machines/model/actor-id.ts';
import { isPrivate } from '../../machines/model/provider-key.ts';
import { withStalled } from '../../machines/model/stalled.ts';
import type { ObjectRef } from '../../machines/model/types.ts';
import { type ActorId, type Condition, FINALIZER, type Finding } from '../../machines/model/types.ts';
import type { ObservedPools } from '../controllers/pool-cache.ts';
import type { ClusterWriter, PoolObject } from '../ports/cluster.ts';
import type { ProviderDirectory } from '../ports/directory.ts';
import { Unreachable } from '../ports/errors.ts';
import { inSlices } from '../ports/in-slices.ts';
import { type Log, type Observer, objectName, type SavedTurn } from '../ports/observers.ts';
import type { Clock, Json } from '../ports/records.ts';
import { coalesced } from '../runtime/debounce.ts';
import { doubtChanged } from './pool-view.ts';

/** Changes within this time are shown together, ms. */
const COALESCE_MS = 50;
/** Minimum interval while much changes, ms: with thousands of RoutedIPs it takes a while to find the class of each. */
const EVERY_MS = 1000;
/** Retry delay after a write that the API server refused, ms. */
const REFUSED_MS = 30_000;
/** How soon to check again whether a provider was read, or the API server answers, ms. */
const RECHECK_MS = 5_000;

const UNREAD = 'ProviderUnread';
/** A provider that is unreadable for this long is reported by an Event, ms: one call may fail. */
const PATIENCE_MS = 10_000;
/** This many users are named, the others only counted: with thousands each change would rewrite all of them. */
const USERS_NAMED = 10;

export interface PolicyProjectorPorts {
  readonly writer: ClusterWriter;
  readonly clock: Clock;
  readonly log: Log;
  readonly pools: ObservedPools;
  readonly providers: ProviderDirectory;
  readonly isLeading: () => boolean;
  /** Why it is unknown where the addresses of the account of that key are; null while it is known. */
  readonly unread: (key: string) => Finding | null;
}

/** Shows in classes and issuers whether they are used as they are, and which RoutedIPs use them; a finalizer keeps a used class from going. */
export class PolicyProjector implements Observer {
  readonly #ports: PolicyProjectorPorts;
  readonly #refused = new Map<string, { readonly text: string; readonly at: number }>();
  /** Shown classes and issuers by uid. */
  readonly #shown = new Map<string, ObjectRef>();
  /** By uid, those whose provider cannot be read: since when, monotonic ms, and whether that was reported. */
  readonly #unread = new Map<string, { readonly since: number; isTold: boolean }>();
  /** Something that they show may have changed. */
  readonly request: () => void;

  constructor(ports: PolicyProjectorPorts) {
    this.#ports = ports;
    this.request = coalesced(ports.clock, COALESCE_MS, () => this.#showAll(), EVERY_MS);
  }

  /** Classes, too, show whether their account's addresses can be verified. */
  turnSaved(turn: SavedTurn): void {
    if (doubtChanged(turn) !== null) this.request();
  }

  reset(): void {
    this.#unread.clear();
  }

  async #showAll(): Promise<void> {
    const { isLeading, pools, clock } = this.#ports;
    const isOver = (): boolean => !isLeading();
    if (isOver()) return;
    const users = new Map<string, User[]>();
    const isWhole = await inSlices(pools.all, clock, isOver, ([id, object]) => this.#note(id, object, users));
    if (!isWhole) return;
    const gone = new Map(this.#shown);
    let isUnread = false;
    await inSlices(pools.policies.all, clock, isOver, (policy) => {
      gone.delete(policy.ref.uid);
      this.#shown.set(policy.ref.uid, policy.ref);
      const trouble = this.#troubleOf(policy);
      isUnread ||= trouble?.reason === UNREAD;
      this.#show(policy, trouble, users.get(policy.ref.uid) ?? []);
      this.#tellUnread(policy.ref, trouble);
    });
    if (isOver()) return;
    for (const [uid, ref] of gone) {
      this.#shown.delete(uid);
      this.#unread.delete(uid);
      void this.#ports.writer.retract(ref, []);
    }
    // No event reports that it was read.
    if (isUnread) clock.after(RECHECK_MS, this.request);
  }

  #show(policy: PoolObject, trouble: Trouble | null, unsorted: readonly User[]): void {
    const { writer, log, clock } = this.#ports;
    const users = unsorted.toSorted(byName);
    writer.project({
      ref: policy.ref,
      generation: policy.generation,
      status: {
        routedIPCount: users.length,
        routedIPs: users.slice(0, USERS_NAMED) as unknown as Json,
        observedGeneration: policy.generation,
        ...(trouble && { error: trouble.message }),
      },
      conditions: [...withStalled(conditionsOf(trouble)), ...conflictIn(this.#ports.pools.policies.conflictOf(policy)?.message)],
      annotated: {},
      addresses: [],
      events: [],
    });
    const isGuarded = policy.marks?.finalizers.includes(FINALIZER) ?? false;
    const guards = users.length > 0 && !policy.deleting;
    if (guards === isGuarded || (users.length > 0 && isGuarded)) return;
    // It may have gained a user since its users were counted.
    if (!guards && this.#isUsed(policy)) return;
    const { uid } = policy.ref;
    const former = this.#refused.get(uid);
    if (former && clock.monotonic() - former.at < REFUSED_MS) return;
    const done = guards ? writer.guard(policy.ref) : writer.unguard(policy.ref);
    done.then(
      () => this.#refused.delete(uid),
      (error: unknown) => {
        const text = String(error);
        if (text !== former?.text) log.warn('a class could not be guarded, or let go', { object: objectName(policy.ref), error: text });
        if (!(error instanceof Unreachable)) this.#refused.set(uid, { text, at: clock.monotonic() });
        clock.after(error instanceof Unreachable ? RECHECK_MS : REFUSED_MS, this.request);
      },
    );
  }

  /** One Event for the class instead of thousands of RoutedIPs, sent once: an error text that differs on each attempt is no news. */
  #tellUnread(ref: ObjectRef, trouble: Trouble | null): void {
    if (trouble?.status !== 'Unknown') {
      this.#unread.delete(ref.uid);
      return;
    }
    const { clock, writer } = this.#ports;
    const unread = this.#unread.get(ref.uid) ?? { since: clock.monotonic(), isTold: false };
    this.#unread.set(ref.uid, unread);
    const { reason, message } = trouble;
    if (unread.isTold || (reason === UNREAD && clock.monotonic() - unread.since < PATIENCE_MS)) return;
    unread.isTold = true;
    writer.announce(ref, { type: 'Warning', action: 'Serve', reason, message }).catch(() => undefined);
  }

  #note(id: ActorId, object: PoolObject, users: Map<string, User[]>): void {
    if (!isRoutedIP(id)) return;
    const { namespace, name } = object.ref;
    for (const uid of this.#policiesOf(id, object)) {
      const others = users.get(uid);
      if (others) others.push({ namespace, name });
      else users.set(uid, [{ namespace, name }]);
    }
  }

  #isUsed({ ref: { uid } }: PoolObject): boolean {
    return [...this.#ports.pools.all].some(([id, object]) => isRoutedIP(id) && this.#policiesOf(id, object).includes(uid));
  }

  /** The uids of the class or the issuer that serves it, and of those under which an address is still being created: without these the outcome could not be read. */
  #policiesOf(id: ActorId, object: PoolObject): readonly string[] {
    const { policies } = this.#ports.pools;
    const uid = policies.servesFor(object)?.ref.uid;
    const key = this.#ports.pools.createsAt(id);
    const serving = uid === undefined ? [] : [uid];
    if (key === null || !isPrivate(key)) return serving;
    const former = [...policies.all].filter((policy) => policies.keyOf(policy) === key);
    return [...new Set([...serving, ...former.map(({ ref }) => ref.uid)])];
  }

  #troubleOf(policy: PoolObject): Trouble | null {
    const { providers, pools, unread } = this.#ports;
    const trouble = pools.policies.troubleOf(policy);
    if (trouble) return trouble;
    const key = pools.policies.keyOf(policy);
    const missing = key === '' ? null : (providers.all[key]?.facts.missing ?? null);
    if (missing !== null) return { reason: 'SecretNotFound', message: missing };
    const why = unread(key);
    return why && { status: 'Unknown', ...why };
  }
}

interface User {
  readonly namespace: string;
  readonly name: string;
}

const byName = (a: User, b: User): number => {
  const isBefore = a.namespace === b.namespace ? a.name < b.name : a.namespace < b.namespace;
  return isBefore ? -1 : 1;
};

interface Trouble {
  readonly status?: 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/** Present only while there is a conflict. A class that RoutedIPs can select is still ready. */
const conflictIn = (message: string | undefined): readonly Condition[] =>
  message === undefined ? [] : [{ type: 'Conflict', status: 'True', reason: 'Conflict', message }];

const conditionsOf = (trouble: Trouble | null): readonly Condition[] => [
  {
    type: 'Ready',
    status: trouble ? (trouble.status ?? 'False') : 'True',
    reason: trouble?.reason ?? 'AsExpected',
    message: trouble?.message ?? 'RoutedIPs are served as it says',
  },
];
