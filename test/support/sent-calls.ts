import type { MemoryProvider } from '../../adapters/memory/provider.ts';
import type { LoggedCall } from '../../adapters/memory/requests.ts';
import { isOfJobs } from '../../machines/model/provider-key.ts';
import type { ObjectRef } from '../../machines/model/types.ts';
import type { PoolContext } from '../../machines/pool/context.ts';
import { asBegun, createdAt } from '../../machines/pool/creation.ts';
import { isFromGroup } from '../../machines/pool/ip-group-offer.ts';
import type { World } from './world.ts';

/** Tells of each call when it is sent, since one that is refused, or lost on its way, asks all the same. */
export function hearSent({ calls }: Pick<MemoryProvider, 'calls'>, sent: (call: LoggedCall) => void): void {
  const log = calls as LoggedCall[];
  const { push } = log;
  const heard = (...added: readonly LoggedCall[]): number => {
    for (const call of added) if (call.result === 'sent') sent(call);
    return push.apply(log, [...added]);
  };
  // The log is compared with others: only its calls are to be seen.
  Object.defineProperty(log, 'push', { value: heard, configurable: true });
}

/** For whom addresses are made. A call may arrive long after it was sent, when others create. */
export class SentCreations {
  readonly #world: Pick<World, 'provider' | 'invariants'>;
  /** Those for which a call may be under way. */
  readonly #creating: () => readonly ObjectRef[];
  /** By call: the uids of those for which it may have been sent. */
  readonly #senders = new WeakMap<LoggedCall, ReadonlySet<string>>();

  constructor(world: Pick<World, 'provider' | 'invariants'>, creating: () => readonly ObjectRef[]) {
    this.#world = world;
    this.#creating = creating;
    hearSent(world.provider, (call) => {
      if (call.verb === 'createRoutedIP') this.#senders.set(call, new Set(this.#sending().map(({ uid }) => uid)));
    });
  }

  /** Those that may have asked for the address that is made at this moment. */
  makers(): readonly ObjectRef[] {
    const call = this.#world.provider.arriving();
    const senders = call && this.#senders.get(call);
    return this.#creating().filter(({ uid }) => senders?.has(uid) ?? true);
  }

  /** Whoever waits for a call that makes an address, of whatever kind it is, has one sent. Those whose call is in doubt send none; but where nobody waits, as when a process was
   *  stopped right before it sent, the call may be theirs. */
  #sending(): readonly ObjectRef[] {
    const awaiting = [...this.#world.invariants.records.values()].filter(({ chart, waiting }) => chart === 'pool' && waiting.create);
    const contexts = awaiting.map(({ snapshot }) => snapshot.context as unknown as PoolContext);
    const senders = contexts.filter((context) => !isOfJobs(createdAt(context)) && !isFromGroup(asBegun(context)));
    return senders.length > 0 ? senders.map(({ ref }) => ref) : this.#creating();
  }
}
