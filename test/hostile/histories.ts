import fc from 'fast-check';
import { exactly, NODES } from '../simulation/domain.ts';
import { historyOfSeed, TOPICS, type Topic } from '../simulation/generate.ts';
import type { DomainName, History, Step } from '../simulation/history.ts';
import { type AttackHappening, type AttackSetup, attackHappening, OBJECTS } from './attacker.ts';
import type { AttackKind } from './attacks.ts';

/** Nodes that nothing happens to: whatever fails, there is room for all. */
const SOUND_NODES = 12;
/** Nothing is waited for before an address is moved. */
const PROMPT = { coolOffSeconds: 0, graceSeconds: 0 };
/** What happens in a calm history: nodes fail and come back, and Services want other ports. */
const CALM: Readonly<Partial<Record<DomainName, readonly string[]>>> = { nodes: ['nodeFails', 'nodeRecovers'], services: ['ports'] };
/** With these he asks for nothing that he could get, and is older than all others. */
const BEFORE: readonly AttackKind[] = ['a RoutedIP that is not valid names it', 'a RoutedIP that is not valid waits'];

const afterMs = fc.oneof(fc.constantFrom(0, 0, 500), fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: 0, max: 30_000 }));
const attacking = fc.integer({ min: 6, max: 32 }).chain((count) => exactly(count, fc.tuple(afterMs, attackHappening)));
const before = fc.array(
  attackHappening.chain((what) => fc.constantFrom(...BEFORE).map((kind): AttackHappening => ({ ...what, kind }))),
  { maxLength: 3 },
);
/** Beyond those that attacks are drawn for, so that nothing else becomes of them: one with an address of its own, and one that asks for what is on a machine outside of the cluster. */
const [OWN, OUTWARD] = [OBJECTS, OBJECTS + 1];
const SERVED: AttackHappening = { kind: 'a RoutedIP wants an address of its own', object: OWN, by: 'class', target: 0 };
const ADOPTS: AttackHappening = { kind: 'a RoutedIP names an address on a machine outside', object: OUTWARD, by: 'class', target: 0 };
/** By then everybody knows where it is. */
const ADOPTS_AT_MS = 45_000;
const FAMILIES: readonly AttackSetup['family'][] = ['calm', 'served', 'wild'];
const failures = fc.array(
  fc.record({
    afterMs: fc.integer({ min: 5_000, max: 40_000 }),
    in: fc.constant('nodes' as const),
    what: fc.record({
      kind: fc.constantFrom('nodeFails' as const, 'nodeFails' as const, 'nodeRecovers' as const),
      node: fc.nat(NODES - 1),
    }),
  }),
  { minLength: 3, maxLength: 10 },
);

const drawn = <T>(arbitrary: fc.Arbitrary<T>, seed: number): T => {
  const [value] = fc.sample(arbitrary, { seed, numRuns: 1, unbiased: true });
  if (value === undefined) throw new Error('nothing was drawn');
  return value;
};

/** Nothing happens in it but what a failover is about, and everything takes the same time whenever it is done: what others do can be told by comparing. */
function calm({ routed, pools, steps, ...history }: History, seed: number, isPrompt: boolean): History {
  const nodes = NODES + SOUND_NODES;
  const everywhere = Array.from({ length: nodes }, (_, each) => each);
  const { jobs: _, ...kept } = routed ?? { policies: [], services: [], routed: [] };
  return {
    ...history,
    ...{ nodes, callMs: [20, 20], actionMs: [300, 300], firewallMs: [100, 100], restarts: true, away: false },
    ...(pools && { pools: isPrompt ? pools.map(({ rules: _, ...pool }) => ({ ...pool, coolOffSeconds: 0 })) : pools }),
    ...(routed && {
      routed: {
        ...kept,
        policies: kept.policies.map((policy) => ({ ...policy, ...(isPrompt && PROMPT) })),
        services: kept.services.map((service) => ({ ...service, nodes: everywhere })),
      },
    }),
    ...(history.api && { api: { ...history.api, callMs: [20, 20], watchMs: [20, 20] } }),
    steps: [...steps.filter((step) => CALM[step.in]?.includes(step.what.kind)), ...drawn(failures, seed)],
  };
}

interface Timed<What> {
  readonly at: number;
  readonly what: What;
}

/** When each is, counted from the beginning. */
function timed<What>(all: readonly (readonly [number, What])[]): readonly Timed<What>[] {
  let now = 0;
  return all.map(([after, what]) => {
    now += after;
    return { at: now, what };
  });
}

/** Attacks in between: all other steps stay when they were. */
function attacked(steps: readonly Step[], attacks: readonly Timed<AttackHappening>[]): readonly Step[] {
  const all = [
    ...timed(steps.map((step): readonly [number, Omit<Step, 'afterMs'>] => [step.afterMs, step])),
    ...attacks.map(({ at, what }) => ({ at, what: { in: 'attacker', what } as Omit<Step, 'afterMs'> })),
  ].sort((a, b) => a.at - b.at);
  return all.map(({ at, what }, each) => ({ ...what, afterMs: at - (all[each - 1]?.at ?? 0) }) as Step);
}

/** A history with an attacker in it, always the same of a seed. In two of three nothing else is in the way. */
export function hostileOfSeed(seed: number, topics: readonly Topic[] = TOPICS): History {
  const plain = historyOfSeed(seed, topics);
  const family = FAMILIES[Math.abs(seed) % FAMILIES.length] ?? 'wild';
  const base = family === 'wild' ? plain : calm(plain, seed, family === 'served');
  const attacks = drawn(attacking, seed ^ 0x5bd1e995);
  return {
    ...base,
    attacker: { family, before: [...drawn(before, seed), ...(family === 'calm' ? [] : [SERVED])] },
    steps: attacked(base.steps, [...timed(attacks), ...(family === 'calm' ? [] : [{ at: ADOPTS_AT_MS, what: ADOPTS }])]),
  };
}

/** The same history without him: what he does is done by nobody, at the same moments. */
export const withoutAttacker = ({ attacker: _, ...history }: History): History => history;
