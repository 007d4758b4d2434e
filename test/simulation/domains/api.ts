import fc from 'fast-check';
import type { Fault } from '../../../adapters/memory/faults.ts';
import type { VipVerb } from '../../../adapters/memory/vip-world.ts';
import { type Domain, of, type Played, type Stage } from '../domain.ts';

/** What goes wrong with requests of Services, IPGroups, IPs and VirtualIPs. `hold`: the leader is told nothing more, until `tell`. */
export type APIHappening =
  | { readonly kind: 'fault'; readonly verb: VipVerb | 'any'; readonly fault: Fault; readonly times: number }
  | { readonly kind: 'hold' | 'tell' };

class PlayedAPI implements Played<APIHappening> {
  readonly #stage: Stage;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  act(what: APIHappening): void {
    const { world } = this.#stage;
    if (what.kind === 'fault') world.k8s.faults.next(what.verb, what.fault, what.times);
    else if (what.kind === 'tell') this.#tell();
    else if (world.leader) world.vipsOf(world.leader).holdWatches();
  }

  mend(): void {
    this.#stage.world.k8s.faults.clear();
    this.#tell();
  }

  #tell(): void {
    const { world } = this.#stage;
    for (const process of world.processes) world.vipsOf(process).resumeWatches();
  }
}

/** How a call of the API server may end. */
const fault: fc.Arbitrary<Fault> = fc.oneof(
  fc.record({
    kind: fc.constant('refuse' as const),
    error: fc.constantFrom('Unavailable' as const, 'Unauthorized' as const, 'Conflict' as const, 'Invalid' as const),
  }),
  fc.record({ kind: fc.constantFrom('noConnection' as const, 'loseRequest' as const, 'loseReply' as const, 'hang' as const) }),
  fc.record({ kind: fc.constant('hang' as const), effectAfterMs: fc.integer({ min: 100, max: 20_000 }) }),
);
const faultOf = (...verbs: readonly (VipVerb | 'any')[]): fc.Arbitrary<APIHappening> =>
  fc.record({ kind: of('fault'), verb: fc.constantFrom(...verbs), fault, times: fc.integer({ min: 1, max: 3 }) });

export const API_DOMAIN: Domain<APIHappening> = {
  sorts: [
    { weight: 3, arbitrary: faultOf('guard', 'reserve', 'publish', 'free', 'unguard', 'look', 'any') },
    { weight: 2, arbitrary: fc.record({ kind: of('hold', 'tell', 'tell') }) },
  ],
  open: (stage) => new PlayedAPI(stage),
};

/** What goes wrong besides where there are VirtualIPs. */
export const FAULTS_OF_VIRTUAL_IPS = [
  {
    weight: 4,
    arbitrary: faultOf(
      'hold',
      'letGo',
      'report',
      'reserve',
      'reassociate',
      'free',
      'createClone',
      'syncClone',
      'deleteClone',
      'mark',
      'convert',
      'setIngress',
      'settle',
      'virtualIPs',
    ),
  },
];
