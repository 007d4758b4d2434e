import type { Cast, Moment } from './cast.ts';
import { DemoFailure } from './failure.ts';
import type { Screen } from './screen.ts';
import { span } from './time.ts';

type Teller = Pick<Cast, 'until'> & { readonly screen: Pick<Screen, 'step'> };

/** What follows something, one after the other. */
export interface Order {
  /** Waits for it, says it, and answers when it was. @throws DemoFailure when that was before the one before */
  next(what: string, find: () => number | null): Promise<number>;
  /** The same for what may come at any time. */
  also(what: string, find: () => number | null): Promise<void>;
  /** By time. */
  moments(): readonly Moment[];
}

export function orderOf({ until, screen }: Teller, first: Moment): Order {
  const ordered: Moment[] = [first];
  const others: Moment[] = [];
  const seen = async (what: string, find: () => number | null): Promise<Moment> => {
    const at = await until(what, find);
    screen.step(`${what} after ${span(at - first.at)}`);
    return { what, at };
  };
  return {
    next: async (what, find) => {
      const last = ordered.at(-1) ?? first;
      const moment = await seen(what, find);
      if (moment.at < last.at)
        throw new DemoFailure(`the order is wrong: "${what}" came ${span(last.at - moment.at)} before "${last.what}"`);
      ordered.push(moment);
      return moment.at;
    },
    also: async (what, find) => void others.push(await seen(what, find)),
    moments: () => [...ordered, ...others].toSorted((a, b) => a.at - b.at),
  };
}
