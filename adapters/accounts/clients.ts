import type { Provider } from '../../actors/ports/provider.ts';
import { type Client, type Lent, lent } from './lent.ts';

/** One user's share of a client. */
export interface ClientUse {
  /** The same for all users of one token. */
  readonly provider: Provider;
  readonly leave: () => void;
}

/** One client per token of a cloud, shared by all keys: its request budget is shared anyway. Closed after its last user and its last call. */
export class Clients {
  readonly #connect: (cloud: string, token: string) => Client;
  readonly #shared = new Map<string, Lent & { users: number }>();

  constructor(connect: (cloud: string, token: string) => Client) {
    this.#connect = connect;
  }

  join(cloud: string, token: string): ClientUse {
    const key = JSON.stringify([cloud, token]);
    const shared = this.#shared.get(key) ?? { ...lent(this.#connect(cloud, token)), users: 0 };
    this.#shared.set(key, shared);
    shared.users += 1;
    return {
      provider: shared.provider,
      leave: () => {
        shared.users -= 1;
        if (shared.users > 0) return;
        this.#shared.delete(key);
        shared.giveBack();
      },
    };
  }
}
