import type { Provider } from '../../actors/ports/provider.ts';

/** A provider's client for one token. */
export type Client = Provider & {
  /** Closes idle connections. */
  readonly close: () => void;
};

export interface Lent {
  readonly provider: Provider;
  /** No new calls follow: it is closed once its running calls have ended. */
  readonly giveBack: () => void;
}

type Verb = (...args: unknown[]) => Promise<unknown>;

/** The verbs of `client`, with calls counted so that none of them is cut off by closing. */
export function lent(client: Client): Lent {
  let running = 0;
  let over = false;
  const closeWhenIdle = (): void => {
    if (over && running === 0) client.close();
  };
  const counted =
    (call: Verb): Verb =>
    async (...args) => {
      running += 1;
      try {
        return await call.apply(client, args);
      } finally {
        running -= 1;
        closeWhenIdle();
      }
    };
  const { close: _, ...verbs } = client;
  const entries = Object.entries(verbs).map(([name, value]) => [name, typeof value === 'function' ? counted(value as Verb) : value]);
  return {
    provider: Object.fromEntries(entries) as Provider,
    giveBack: () => {
      over = true;
      closeWhenIdle();
    },
  };
}
