import fc from 'fast-check';
import { ADDRESSES, exactly, index, NODES, of, orNull, POOLS, range, type Sort } from './domain.ts';
import { FAULTS_OF_VIRTUAL_IPS } from './domains/api.ts';
import { jobSetup } from './domains/jobs.ts';
import { policySetups } from './domains/policies.ts';
import { poolSetups } from './domains/pools.ts';
import { PROVIDER_FAULTS, unanswered, unlisted, unrenewed } from './domains/provider.ts';
import { routedIPSetups } from './domains/routed-ips.ts';
import { serviceSetups } from './domains/services.ts';
import { vipSetup } from './domains/vips.ts';
import { virtualIPSetup } from './domains/virtual-ips.ts';
import { DOMAINS, domainsOf } from './domains.ts';
import { type DomainName, type History, NAMES, type Step } from './history.ts';

/** What a history is about; all else comes with it. */
export const TOPICS = ['pools', 'names', 'routed', 'vips', 'virtualIPs'] as const;
export type Topic = (typeof TOPICS)[number];

/** How much of all that happens is of a domain. */
const WEIGHTS: Readonly<Record<DomainName, number>> = {
  nodes: 5,
  people: 2,
  provider: 6,
  api: 4,
  processes: 4,
  stores: 3,
  watches: 3,
  jobs: 5,
  pools: 3,
  names: 4,
  routed: 3,
  policies: 2,
  services: 3,
  firewalls: 2,
  vips: 7,
  virtualIPs: 7,
  // He has histories of his own.
  attacker: 0,
};
/** Domains of which nothing happens in a history that is not about these. */
const ONLY_WITH: Readonly<Partial<Record<DomainName, readonly Topic[]>>> = {
  nodes: ['pools', 'names', 'routed'],
  people: ['pools', 'routed'],
  provider: ['pools', 'names', 'routed'],
};

/** Small worlds mostly: how many topics a history is about. */
const topicsOf = (all: readonly Topic[]): fc.Arbitrary<readonly Topic[]> => {
  const some = (count: number): fc.Arbitrary<readonly Topic[]> => {
    const length = Math.min(count, all.length);
    return fc.shuffledSubarray([...all], { minLength: length, maxLength: length });
  };
  return fc.oneof(
    { weight: 10, arbitrary: some(1) },
    { weight: 7, arbitrary: some(2) },
    { weight: 2, arbitrary: some(3) },
    { weight: 1, arbitrary: some(all.length) },
  );
};

const between = (least: number, most: number): fc.Arbitrary<[number, number]> => range(most, least);

const routedParts = { policies: policySetups, services: serviceSetups, routed: routedIPSetups };
const routedSetup: fc.Arbitrary<NonNullable<History['routed']>> = fc.oneof(
  { weight: 2, arbitrary: fc.record(routedParts) },
  { weight: 1, arbitrary: fc.record({ ...routedParts, jobs: jobSetup }) },
);

type World = Omit<History, 'steps'>;

const worldOf = (topics: readonly Topic[]): fc.Arbitrary<World> => {
  const has = (topic: Topic): boolean => topics.includes(topic);
  const isServed = has('vips') || has('virtualIPs');
  return fc.record({
    seed: fc.nat(),
    nodes: fc.integer({ min: 1, max: NODES }),
    // A node shows one address of pools by its annotation.
    perNode: has('names') ? fc.constant(1) : fc.constantFrom(1, 1, 1, 2),
    holders: exactly(ADDRESSES, orNull(index(NODES))),
    actionMs: range(3_000),
    callMs: range(300),
    firewallMs: range(3_000),
    restarts: fc.constantFrom(true, true, true, false),
    away: fc.constantFrom(false, false, true),
    ...(has('pools') && { pools: poolSetups(has('names')), adopt: fc.constantFrom(undefined, undefined, 'unassigned') }),
    ...(has('names') && { names: fc.constant(true) }),
    ...(has('routed') && { routed: routedSetup }),
    ...(isServed && {
      api: fc.record({
        callMs: between(10, 150),
        watchMs: fc.oneof(between(5, 100), between(500, 9_000)),
        wipesIngress: fc.boolean(),
      }),
    }),
    ...(has('vips') && { vips: vipSetup }),
    ...(has('virtualIPs') && { virtualIPs: virtualIPSetup }),
  }) as fc.Arbitrary<World>;
};

/** From one step to the next, virtual ms. */
const afterMs: fc.Arbitrary<number> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 60 }) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 500 }) },
  { weight: 2, arbitrary: fc.integer({ min: 60, max: 1_500 }) },
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 20_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 16_000, max: 70_000 }) },
);

interface Weighted {
  readonly weight: number;
  readonly arbitrary: fc.Arbitrary<Step | readonly Step[]>;
}

const sortsOf = (domain: DomainName, world: World): readonly Sort<unknown>[] => [
  ...DOMAINS[domain].sorts,
  ...(domain === 'provider' && (world.pools || world.routed) ? PROVIDER_FAULTS.addresses : []),
  ...(domain === 'provider' && world.names ? PROVIDER_FAULTS.names : []),
  ...(domain === 'provider' && world.routed ? PROVIDER_FAULTS.firewalls : []),
  ...(domain === 'api' && world.virtualIPs ? FAULTS_OF_VIRTUAL_IPS : []),
];

const soon = (domain: DomainName, what: fc.Arbitrary<unknown>): fc.Arbitrary<Step> =>
  fc.record({ afterMs: fc.integer({ min: 0, max: 2_000 }), in: fc.constant(domain), what }) as fc.Arbitrary<Step>;

const anyOf = (domain: DomainName): fc.Arbitrary<unknown> => fc.oneof(...DOMAINS[domain].sorts.map((sort) => sort as Sort<unknown>));
/** A creation has no answer, and something else goes wrong while nobody knows what became of it. */
const doubt: fc.Arbitrary<readonly Step[]> = fc.tuple(
  soon('provider', unanswered),
  soon('pools', fc.record({ kind: of('want'), pool: index(POOLS), extra: fc.integer({ min: 1, max: 3 }) })),
  fc.oneof(
    { weight: 4, arbitrary: soon('pools', fc.record({ kind: of('removePool'), pool: index(POOLS) })) },
    { weight: 1, arbitrary: soon('people', fc.record({ kind: of('makeByHand') })) },
    { weight: 2, arbitrary: soon('processes', anyOf('processes')) },
    { weight: 2, arbitrary: soon('stores', anyOf('stores')) },
  ),
  soon('provider', unlisted),
);

/** A record that somebody changed is to be put right, and cannot be at first. */
const renewal: fc.Arbitrary<readonly Step[]> = fc.tuple(
  soon('provider', unrenewed),
  soon('names', fc.record({ kind: of('changeRecord'), name: index(NAMES) })),
);

/** How much of each sort there is in one history: none of some, much of others, so that what hides another thing is missing now and then. */
const MUCH = fc.constantFrom(0, 1, 1, 1, 1, 3);

const stepsOf = (world: World, topics: readonly Topic[]): fc.Arbitrary<readonly Step[]> => {
  const domains = domainsOf({ ...world, steps: [] }).filter((name) => ONLY_WITH[name]?.some((topic) => topics.includes(topic)) ?? true);
  const all = domains.flatMap((name) => {
    const sorts = sortsOf(name, world);
    const sum = sorts.reduce((total, { weight }) => total + weight, 0);
    return sorts.map(({ weight, arbitrary }): Weighted => {
      const step = fc.record({ afterMs, in: fc.constant(name), what: arbitrary }) as fc.Arbitrary<Step>;
      return { weight: (WEIGHTS[name] * weight) / sum, arbitrary: step };
    });
  });
  const bursts: readonly Weighted[] = [
    ...(world.pools ? [{ weight: 1, arbitrary: doubt }] : []),
    ...(world.names ? [{ weight: 1, arbitrary: renewal }] : []),
  ];
  const sorts = [...all, ...bursts];
  const most = 18 + 9 * topics.length;
  return fc
    .tuple(fc.array(MUCH, { minLength: sorts.length, maxLength: sorts.length }), fc.integer({ min: 5, max: most }))
    .chain(([much, length]) => {
      const present = sorts.flatMap(({ weight, arbitrary }, each) => {
        const factor = much[each] ?? 1;
        return factor === 0 ? [] : [{ weight: Math.max(1, Math.round(weight * factor * 20)), arbitrary }];
      });
      const steps = fc.array(fc.oneof(...(present.length > 0 ? present : all)), { minLength: length, maxLength: length });
      return steps.map((drawn) => drawn.flat() as Step[]);
    });
};

/** How long all has to stay right: in one history of four for so long that everything that comes again and again has come twice. */
const rests = ({ seed, virtualIPs }: World): Pick<History, 'restsMs'> => {
  if (seed % 4 === 0) return { restsMs: virtualIPs ? 400_000 : 130_000 };
  return virtualIPs ? { restsMs: 130_000 } : {};
};

/** In one history of three edits by hand are looked for between two verifications. */
const looks = ({ seed }: World): Pick<History, 'editLooks'> => (seed % 3 === 0 ? { editLooks: true } : {});

const historyOf = (topics: readonly Topic[]): fc.Arbitrary<History> =>
  topicsOf(topics).chain((chosen) =>
    worldOf(chosen).chain((world) => stepsOf(world, chosen).map((steps) => ({ ...world, ...rests(world), ...looks(world), steps }))),
  );

/** The history of a seed, always the same; of these topics alone when some are given. */
export function historyOfSeed(seed: number, topics: readonly Topic[] = TOPICS): History {
  const [history] = fc.sample(historyOf(topics), { seed, numRuns: 1, unbiased: true });
  if (!history) throw new Error('nothing was drawn');
  return history;
}

/** The seed of one of many histories: it depends on nothing but the seed of all and its number. */
export const seedOf = (seed: number, number: number): number =>
  (Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) + Math.imul(number + 1, 0xc2b2ae35)) | 0;
