import fc from 'fast-check';
import type { Fault } from '../../../adapters/memory/faults.ts';
import type { Verb } from '../../../adapters/memory/requests.ts';
import { type Domain, of, type Played, type Stage } from '../domain.ts';

/** What goes wrong at the provider of addresses, firewalls and records, and on the way there. */
export type ProviderHappening =
  | { readonly kind: 'fault'; readonly verb: Verb | 'any'; readonly fault: Fault; readonly times: number }
  /** Reads answer what is true now for so long. */
  | { readonly kind: 'staleReads'; readonly ms: number }
  | { readonly kind: 'failActions'; readonly times: number }
  /** Lists of addresses leave some out, and say so. */
  | { readonly kind: 'partialLists'; readonly times: number };

class PlayedProvider implements Played<ProviderHappening> {
  readonly #stage: Stage;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  act(what: ProviderHappening): void {
    const { provider } = this.#stage.world;
    if (what.kind === 'fault') provider.faults.next(what.verb, what.fault, what.times);
    else if (what.kind === 'staleReads') provider.staleReads(what.ms);
    else if (what.kind === 'partialLists') provider.partialLists(what.times);
    else provider.cloud.failActions(what.times);
  }

  mend(): void {
    const { provider } = this.#stage.world;
    provider.faults.clear();
    provider.cloud.failActions(0);
    provider.partialLists(0);
  }
}

/** What may happen to any call. */
const usual: fc.Arbitrary<Fault> = fc.oneof(
  fc.record({ kind: fc.constant('refuse' as const), error: fc.constantFrom('Unavailable' as const, 'Unauthorized' as const) }),
  fc.record({
    kind: fc.constant('refuse' as const),
    error: fc.constant('RateLimited' as const),
    retryAfterMs: fc.integer({ min: 500, max: 20_000 }),
  }),
  fc.record({ kind: fc.constantFrom('noConnection' as const, 'loseRequest' as const, 'loseReply' as const, 'hang' as const) }),
  fc.record({ kind: fc.constant('hang' as const), effectAfterMs: fc.integer({ min: 100, max: 14_900 }) }),
  fc.record({
    kind: fc.constant('refuse' as const),
    error: fc.constant('Unavailable' as const),
    effectAfterMs: fc.integer({ min: 0, max: 1_900 }),
  }),
);
type Refusal = Extract<Fault, { readonly kind: 'refuse' }>['error'];
const refused = (...errors: readonly Refusal[]): fc.Arbitrary<Fault> =>
  fc.record({ kind: fc.constant('refuse' as const), error: fc.constantFrom(...errors) });
const faultOf = (fault: fc.Arbitrary<Fault>, ...verbs: readonly (Verb | 'any')[]): fc.Arbitrary<ProviderHappening> =>
  fc.record({ kind: of('fault'), verb: fc.constantFrom(...verbs), fault, times: fc.constantFrom(1, 1, 2, 3) });
const either = (...refusals: readonly Refusal[]): fc.Arbitrary<Fault> =>
  fc.oneof({ weight: 2, arbitrary: usual }, { weight: 1, arbitrary: refused(...refusals) });

const OF_ADDRESSES = [
  { weight: 3, arbitrary: faultOf(either('InProgress', 'NodeInUse', 'Invalid', 'Conflict'), 'assignRoutedIP') },
  { weight: 2, arbitrary: faultOf(usual, 'findRoutedIP', 'listRoutedIPs', 'findNode', 'findNode', 'any') },
  { weight: 2, arbitrary: faultOf(either('Invalid'), 'createRoutedIP') },
  { weight: 1, arbitrary: fc.record({ kind: of('staleReads'), ms: fc.integer({ min: 100, max: 8_000 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: of('partialLists'), times: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: of('failActions'), times: fc.integer({ min: 1, max: 2 }) }) },
];
const OF_NAMES = [
  { weight: 4, arbitrary: faultOf(either('NotFound', 'Conflict', 'Invalid'), 'createDNSRecord') },
  { weight: 4, arbitrary: faultOf(either('NotFound', 'Conflict', 'Invalid'), 'updateDNSRecord', 'deleteDNSRecord') },
  { weight: 2, arbitrary: faultOf(either('NotFound'), 'listDNSRecords') },
];
const OF_FIREWALLS = [
  {
    weight: 3,
    arbitrary: faultOf(
      either('Invalid'),
      'addRoutedIPFirewallPort',
      'addRoutedIPFirewallNode',
      'deleteRoutedIPFirewallPort',
      'deleteRoutedIPFirewallNode',
      'findRoutedIPFirewall',
    ),
  },
  { weight: 1, arbitrary: faultOf(usual, 'deleteRoutedIP') },
];

const open = (stage: Stage): PlayedProvider => new PlayedProvider(stage);

export const PROVIDER_DOMAIN: Domain<ProviderHappening> = { sorts: [{ weight: 1, arbitrary: faultOf(usual, 'any') }], open };
/** What goes wrong besides where there are addresses, names, and firewalls. */
export const PROVIDER_FAULTS = { addresses: OF_ADDRESSES, names: OF_NAMES, firewalls: OF_FIREWALLS };

/** A call that may have made an address, or not. */
export const unanswered: fc.Arbitrary<ProviderHappening> = fc.record({
  ...{ kind: of('fault'), verb: fc.constant('createRoutedIP' as const), times: fc.constant(1) },
  fault: fc.oneof(
    fc.record({ kind: fc.constantFrom('loseRequest' as const, 'loseReply' as const, 'hang' as const) }),
    fc.record({ kind: fc.constant('hang' as const), effectAfterMs: fc.integer({ min: 100, max: 14_900 }) }),
    fc.constant<Fault>({ kind: 'refuse', error: 'Unavailable' }),
  ),
});
export const unrenewed: fc.Arbitrary<ProviderHappening> = faultOf(either('NotFound', 'Conflict', 'Invalid'), 'updateDNSRecord');
export const unlisted: fc.Arbitrary<ProviderHappening> = faultOf(usual, 'listRoutedIPs');
