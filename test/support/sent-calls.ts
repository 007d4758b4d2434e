import type { MemoryProvider } from '../../adapters/memory/provider.ts';
import type { LoggedCall } from '../../adapters/memory/requests.ts';
import type { ObjectRef } from '../../machines/jobs.ts';

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
  readonly #provider: Pick<MemoryProvider, 'calls' | 'arriving'>;
  readonly #creating: () => readonly ObjectRef[];
  /** By call: the uids of those that were creating when it was sent. */
  readonly #senders = new WeakMap<LoggedCall, ReadonlySet<string>>();

  constructor(provider: Pick<MemoryProvider, 'calls' | 'arriving'>, creating: () => readonly ObjectRef[]) {
    this.#provider = provider;
    this.#creating = creating;
    hearSent(provider, (call) => {
      if (call.verb === 'createRoutedIP') this.#senders.set(call, new Set(creating().map(({ uid }) => uid)));
    });
  }

  /** Those that may have asked for the address that is made at this moment. */
  makers(): readonly ObjectRef[] {
    const call = this.#provider.arriving();
    const senders = call && this.#senders.get(call);
    return this.#creating().filter(({ uid }) => senders?.has(uid) ?? true);
  }
}
