import fc from 'fast-check';
import type { Fault } from '../../adapters/memory/faults.ts';
import type { VipVerb } from '../../adapters/memory/vip-world.ts';
import { between, fault, pause, trouble, type VipTrouble } from './vip-steps.ts';

/** What may happen to VirtualIPs, their Services and copies, and those who serve them. Plain data. Numbers choose among what exists. */
export type VirtualHappening =
  | { readonly kind: 'make' | 'remove' | 'migrate' | 'withdraw'; readonly vip: number }
  | { readonly kind: 'point'; readonly vip: number; readonly service: number }
  | { readonly kind: 'create' | 'delete' | 'label'; readonly service: number }
  | { readonly kind: 'type'; readonly service: number; readonly type: 'LoadBalancer' | 'ClusterIP' }
  /** Somebody puts his hands on the copy. */
  | { readonly kind: 'dropClone' | 'changeClone'; readonly vip: number }
  /** One of type LoadBalancer, which never had a VirtualIP. */
  | { readonly kind: 'balancerComes' | 'balancerGoes' }
  | { readonly kind: 'group'; readonly isThere: boolean }
  /** The definitions of VirtualIPs are taken away, or installed. */
  | { readonly kind: 'uninstall' | 'install' }
  | { readonly kind: 'legacyFault'; readonly verb: VipVerb; readonly fault: Fault; readonly times: number }
  | VipTrouble;

export interface VirtualStep {
  /** Virtual ms since the step before. */
  readonly afterMs: number;
  readonly what: VirtualHappening;
}

export interface VirtualPlan {
  readonly service: number;
  /** Of `ASKED`, the address that it asks for; null for any. */
  readonly address: number | null;
  readonly isThere: boolean;
}

export interface VirtualHistory {
  readonly vips: readonly VirtualPlan[];
  /** Whether the IPGroup with all addresses is there at first. */
  readonly group: boolean;
  readonly wipesIngress: boolean;
  readonly callMs: readonly [number, number];
  readonly watchMs: readonly [number, number];
  readonly seed: number;
  readonly steps: readonly VirtualStep[];
}

export const VIPS = 3;
export const SERVICES = 2;
export const ASKED = ['1.1.2.2', '1.1.2.4'] as const;
/** As a GroupSegmentMapping and as an IPGroup. */
export const SEGMENT = { segment: '1.1.2.0/28', excludedIPs: ['1.1.2.0', '1.1.2.1', '1.1.2.15'] } as const;

const index = (count: number): fc.Arbitrary<number> => fc.nat(count - 1);
const of = <K extends VirtualHappening['kind']>(...kinds: readonly K[]): fc.Arbitrary<K> => fc.constantFrom(...kinds);
const [vip, service] = [index(VIPS), index(SERVICES)];

const VERBS = [
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
] as const satisfies readonly VipVerb[];

const ofVirtualIPs: fc.Arbitrary<VirtualHappening> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: of('migrate'), vip }) },
  { weight: 2, arbitrary: fc.record({ kind: of('make', 'remove'), vip }) },
  { weight: 1, arbitrary: fc.record({ kind: of('withdraw'), vip }) },
  { weight: 1, arbitrary: fc.record({ kind: of('point'), vip, service }) },
);
const byHand: fc.Arbitrary<VirtualHappening> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: of('create', 'delete', 'label'), service }) },
  { weight: 1, arbitrary: fc.record({ kind: of('type'), service, type: fc.constantFrom('LoadBalancer' as const, 'ClusterIP' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: of('dropClone', 'changeClone'), vip }) },
  { weight: 2, arbitrary: fc.record({ kind: of('balancerComes', 'balancerGoes') }) },
  { weight: 1, arbitrary: fc.record({ kind: of('group'), isThere: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: of('uninstall', 'install') }) },
);
const ofMigration: fc.Arbitrary<VirtualHappening> = fc.record({
  kind: of('legacyFault'),
  verb: fc.constantFrom(...VERBS),
  fault,
  times: fc.integer({ min: 1, max: 3 }),
});

const step: fc.Arbitrary<VirtualStep> = fc.record({
  afterMs: pause,
  what: fc.oneof(
    { weight: 5, arbitrary: ofVirtualIPs },
    { weight: 2, arbitrary: byHand },
    { weight: 3, arbitrary: ofMigration },
    { weight: 3, arbitrary: trouble },
  ),
});

/** VirtualIPs that serve two Services, and are migrated to them. */
export const virtualHistory: fc.Arbitrary<VirtualHistory> = fc.record({
  vips: fc.array(
    fc.record({ service, address: fc.option(index(ASKED.length), { freq: 2 }), isThere: fc.constantFrom(true, true, true, false) }),
    { minLength: VIPS, maxLength: VIPS },
  ),
  group: fc.constantFrom(true, true, true, false),
  wipesIngress: fc.boolean(),
  callMs: between(10, 150),
  watchMs: fc.oneof(between(5, 100), between(500, 9_000)),
  seed: fc.nat(1_000_000),
  steps: fc.array(step, { minLength: 1, maxLength: 14 }),
});
