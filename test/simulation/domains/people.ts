import fc from 'fast-check';
import { ADDRESSES, type Domain, index, NODES, of, orNull, type Played, type Stage } from '../domain.ts';

/** What people do to addresses at the provider, past the operator. */
export type PeopleHappening =
  /** `node`: null takes it off; the last one is a machine that is none of the cluster's. */
  | { readonly kind: 'moveByHand'; readonly address: number; readonly node: number | null }
  | { readonly kind: 'deleteByHand'; readonly address: number }
  | { readonly kind: 'restoreByHand'; readonly address: number }
  | { readonly kind: 'lockByHand'; readonly address: number }
  /** Somebody makes an address, and attaches it to nothing. */
  | { readonly kind: 'makeByHand' };

const LOCKED_MS = 5_000;

class PlayedPeople implements Played<PeopleHappening> {
  readonly #stage: Stage;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  act(what: PeopleHappening): void {
    const { made, world } = this.#stage;
    const { cloud } = world.provider;
    if (what.kind === 'makeByHand') {
      made.buy();
      return;
    }
    const address = made.at(what.address);
    if (!address) return;
    const exists = made.isThere(address);
    if (what.kind === 'restoreByHand') {
      if (!exists && !made.isMaking()) world.address(address);
    } else if (!exists) return;
    else if (what.kind === 'deleteByHand') {
      cloud.removeByHand(address);
      world.invariants.forgetSent(address);
    } else if (what.kind === 'lockByHand') cloud.lock(address, LOCKED_MS);
    else made.moveByHand(address, what.node);
  }
}

/** Those that are there, and some that are made on the way. */
const address = index(ADDRESSES + 3);

export const PEOPLE_DOMAIN: Domain<PeopleHappening> = {
  sorts: [
    { weight: 4, arbitrary: fc.record({ kind: of('moveByHand'), address, node: orNull(index(NODES)) }) },
    {
      weight: 3,
      arbitrary: fc.record({ kind: of('deleteByHand', 'restoreByHand', 'lockByHand'), address }) as fc.Arbitrary<PeopleHappening>,
    },
    { weight: 1, arbitrary: fc.record({ kind: of('makeByHand') }) },
  ],
  open: (stage) => new PlayedPeople(stage),
};
