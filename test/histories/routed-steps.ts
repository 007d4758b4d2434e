import fc from 'fast-check';
import type { KillPoint } from '../../actors/ports/observers.ts';
import type { Fault } from '../../adapters/memory/faults.ts';
import type { OfProcess, OfStore } from './played-operator.ts';
import type { Happening } from './steps.ts';
import { happen, index, of, usual } from './steps.ts';

/** What may happen to RoutedIPs and to all that they need. Plain data, as for pools; numbers choose among what exists. */
export type RoutedHappening =
  | { readonly kind: RoutedNodeHappening; readonly node: number }
  | { readonly kind: 'ports'; readonly service: number; readonly ports: readonly number[] }
  | { readonly kind: 'endpoints'; readonly service: number; readonly nodes: readonly number[]; readonly pods: Pods }
  | { readonly kind: 'serviceGoes' | 'serviceComes' | 'serviceOdd' | 'serviceUsual'; readonly service: number }
  | { readonly kind: 'policy'; readonly policy: number; readonly change: Partial<PolicyRules> }
  | { readonly kind: 'breakPolicy' | 'mendPolicy' | 'removePolicy' | 'makePolicy'; readonly policy: number }
  | { readonly kind: 'secretGoes' | 'secretComes' | 'refuseToken' | 'newToken' }
  | { readonly kind: 'make' | 'remove' | 'force'; readonly routed: number }
  | { readonly kind: 'ask'; readonly routed: number; readonly address: number | null }
  | { readonly kind: 'use'; readonly routed: number; readonly policy: number }
  | RoutedMark
  | { readonly kind: 'list'; readonly addresses: readonly number[] }
  | { readonly kind: 'firewallGoes' | 'firewallComes' | 'fillRules' | 'fillNodes' | 'makeRoom'; readonly firewall: number }
  | { readonly kind: 'addRule' | 'removeRule'; readonly firewall: number; readonly port: number }
  /** Somebody takes out of it what the operator put in. */
  | { readonly kind: 'closeRule' | 'takeNode'; readonly firewall: number; readonly item: number }
  /** The process that comes to this point next, or that comes there so many times later, ends there. */
  | { readonly kind: 'killAt'; readonly point: KillPoint; readonly later: number }
  | ByHand
  | OfProcess
  | OfStore
  | Extract<Happening, { readonly kind: 'fault' | 'staleReads' | 'jump' }>
  | { readonly kind: 'failActions'; readonly times: number };

/** What people ask for by annotations of a RoutedIP. */
export type RoutedMark =
  | { readonly kind: 'pause' | 'resume'; readonly routed: number }
  | { readonly kind: 'moveTo'; readonly routed: number; readonly node: number };

export type ByHand =
  | { readonly kind: 'moveByHand'; readonly address: number; readonly node: number | null }
  | { readonly kind: 'deleteByHand'; readonly address: number }
  | { readonly kind: 'restoreByHand'; readonly address: number }
  | { readonly kind: 'lockByHand'; readonly address: number };

/** `taint`: somebody else's, which nobody tolerates. `exclude`: the label that keeps a node out of load balancing. `untaint`: somebody takes our mark off. */
export type RoutedNodeHappening =
  | 'nodeFails'
  | 'nodeRecovers'
  | 'nodeGoes'
  | 'nodeComes'
  | 'nodeEnds'
  | 'machineGoes'
  | 'machineDies'
  | 'cordon'
  | 'uncordon'
  | 'doom'
  | 'taint'
  | 'exclude'
  | 'relieve'
  | 'untaint'
  | 'evacuate'
  | 'stay';

/** What is seen of the Pods behind a Service: nothing yet; some of them; all of them, which listen on other ports of some nodes. */
export type Pods = 'unseen' | 'some' | 'seen';

/** What a class or an issuer says. */
export interface PolicyRules {
  /** Of its two firewalls; null for none. */
  readonly firewall: number | null;
  readonly postAllow: boolean;
  readonly taint: 'PreferNoSchedule' | 'NoSchedule' | 'None';
  readonly reclaim: 'Retain' | 'Delete';
  readonly coolOffSeconds: number;
  readonly graceSeconds: number;
}

export interface RoutedPlan {
  readonly policy: number;
  readonly service: number;
  /** The address that its spec names; null for one that is created. */
  readonly address: number | null;
  /** It is there from the start. */
  readonly isThere: boolean;
}

export interface ServicePlan {
  readonly ports: readonly number[];
  readonly nodes: readonly number[];
  readonly pods: Pods;
}

export interface RoutedStep {
  /** Virtual ms since the step before. */
  readonly afterMs: number;
  readonly what: RoutedHappening;
}

export interface RoutedHistory {
  readonly nodes: number;
  /** Addresses that one node can hold; the policies allow as many. */
  readonly perNode: number;
  /** A class, and an issuer with a Secret of its own. */
  readonly policies: readonly PolicyRules[];
  readonly services: readonly ServicePlan[];
  readonly routed: readonly RoutedPlan[];
  /** Addresses of a pool on the same nodes; none for no pool. */
  readonly pool: readonly number[];
  /** By address: the node that holds it at first, or null. */
  readonly holders: readonly (number | null)[];
  /** Another process comes soon after the last one has ended. */
  readonly restarts: boolean;
  readonly actionMs: readonly [number, number];
  readonly callMs: readonly [number, number];
  readonly firewallMs: readonly [number, number];
  readonly seed: number;
  /** How long all has to stay right in the end, virtual ms. */
  readonly restsMs?: number;
  readonly steps: readonly RoutedStep[];
}

export const NODES = 4;
export const ADDRESSES = 3;
export const ROUTED = 3;
export const SERVICES = 2;
export const POLICIES = 2;
/** Two of the class, two of the issuer. */
export const FIREWALLS: readonly string[] = ['edge', 'spare', 'inner', 'outer'];

/** Ports of Services; the last one is within the range that the platform allows by itself. */
export const PORTS = [
  { port: 80, nodePort: 8080, protocol: 'TCP' },
  { port: 443, nodePort: 8443, protocol: 'TCP' },
  { port: 53, nodePort: 8053, protocol: 'UDP' },
  { port: 81, nodePort: 30_080, protocol: 'TCP' },
] as const;
/** Rules that somebody else adds: some are what a Service needs as well. */
export const RULES = [
  { port: 22, protocol: 'TCP' },
  { port: 8443, protocol: 'TCP' },
  { port: 9_080, protocol: 'TCP' },
] as const;

const some = (count: number, minLength = 0): fc.Arbitrary<number[]> => fc.uniqueArray(index(count), { minLength });
const pods = fc.constantFrom<Pods>('unseen', 'unseen', 'some', 'seen');
const firewall = fc.constantFrom(0, 0, 1, null);
const coolOffSeconds = fc.constantFrom(0, 0, 0, 5);
const graceSeconds = fc.constantFrom(0, 0, 10);
const taint = fc.constantFrom<PolicyRules['taint']>('PreferNoSchedule', 'NoSchedule', 'None');
const reclaim = fc.constantFrom<PolicyRules['reclaim']>('Retain', 'Delete');
const rules: fc.Arbitrary<PolicyRules> = fc.record({ firewall, postAllow: fc.boolean(), taint, reclaim, coolOffSeconds, graceSeconds });

const ofNodes = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: of('nodeFails'), node: index(NODES) }) },
  { weight: 2, arbitrary: fc.record({ kind: of('nodeRecovers'), node: index(NODES) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom<RoutedNodeHappening>('nodeGoes', 'nodeComes', 'machineGoes', 'machineDies', 'nodeEnds', 'cordon', 'uncordon'),
      node: index(NODES),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom<RoutedNodeHappening>('doom', 'taint', 'exclude', 'relieve', 'untaint', 'untaint'),
      node: index(NODES),
    }),
  },
);
export const kindOf = <K extends RoutedHappening['kind']>(...kinds: readonly K[]): fc.Arbitrary<K> => fc.constantFrom(...kinds);
const ofServices = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: kindOf('ports'), service: index(SERVICES), ports: some(PORTS.length) }) },
  { weight: 3, arbitrary: fc.record({ kind: kindOf('endpoints'), service: index(SERVICES), nodes: some(NODES), pods }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: kindOf('serviceGoes', 'serviceComes', 'serviceOdd', 'serviceUsual'), service: index(SERVICES) }),
  },
);
const ofPolicies = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: kindOf('policy'),
      policy: index(POLICIES),
      change: fc.oneof(fc.record({ firewall }), fc.record({ postAllow: fc.boolean() }), fc.record({ taint }), fc.record({ reclaim })),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: kindOf('breakPolicy', 'mendPolicy', 'removePolicy', 'makePolicy'), policy: index(POLICIES) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: kindOf('secretGoes', 'secretComes', 'refuseToken', 'newToken') }) },
);
const ofRouted = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: kindOf('make', 'remove', 'remove', 'force'), routed: index(ROUTED) }) },
  { weight: 1, arbitrary: fc.record({ kind: kindOf('ask'), routed: index(ROUTED), address: fc.option(index(ADDRESSES)) }) },
  { weight: 1, arbitrary: fc.record({ kind: kindOf('use'), routed: index(ROUTED), policy: index(POLICIES) }) },
  { weight: 1, arbitrary: fc.record({ kind: kindOf('list'), addresses: some(ADDRESSES) }) },
);
const ofFirewalls = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: kindOf('firewallGoes', 'firewallComes', 'fillRules', 'fillNodes', 'makeRoom', 'makeRoom'),
      firewall: index(FIREWALLS.length),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: kindOf('addRule', 'addRule', 'removeRule'),
      firewall: index(FIREWALLS.length),
      port: index(RULES.length),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: kindOf('closeRule', 'takeNode'), firewall: fc.constantFrom(0, 0, 1, 2, 3), item: index(4) }),
  },
);
/** Those that are there, and some that are made on the way. */
const MANY = ADDRESSES + 2;
const ofPeople = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: kindOf('moveByHand'), address: index(MANY), node: fc.option(index(NODES + 1)) }) },
  { weight: 1, arbitrary: fc.record({ kind: kindOf('deleteByHand', 'restoreByHand', 'lockByHand'), address: index(MANY) }) },
);

const refused = (...errors: readonly Extract<Fault, { readonly kind: 'refuse' }>['error'][]): fc.Arbitrary<Fault> =>
  fc.record({ kind: fc.constant('refuse' as const), error: fc.constantFrom(...errors) });
const faultOf = <V extends string>(verb: fc.Arbitrary<V>, fault: fc.Arbitrary<Fault>) =>
  fc.record({ kind: kindOf('fault'), verb, fault, times: fc.integer({ min: 1, max: 3 }) });
const ofProvider = fc.oneof(
  {
    weight: 3,
    arbitrary: faultOf(fc.constant('assignRoutedIP' as const), fc.oneof(usual, refused('InProgress', 'NodeInUse', 'Invalid'))),
  },
  {
    weight: 4,
    arbitrary: faultOf(
      fc.constantFrom(
        'addRoutedIPFirewallPort' as const,
        'addRoutedIPFirewallNode' as const,
        'deleteRoutedIPFirewallPort' as const,
        'deleteRoutedIPFirewallNode' as const,
        'findRoutedIPFirewall' as const,
      ),
      fc.oneof(usual, refused('Invalid')),
    ),
  },
  { weight: 2, arbitrary: faultOf(fc.constantFrom('createRoutedIP' as const, 'deleteRoutedIP' as const), usual) },
  { weight: 2, arbitrary: faultOf(fc.constantFrom('findRoutedIP' as const, 'listRoutedIPs' as const, 'any' as const), usual) },
  { weight: 1, arbitrary: fc.record({ kind: kindOf('staleReads'), ms: fc.integer({ min: 100, max: 8_000 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: kindOf('failActions'), times: fc.integer({ min: 1, max: 2 }) }) },
);
const POINTS: readonly KillPoint[] = ['beforeWrite', 'afterWrite', 'afterDispatch', 'beforeSend', 'beforeReplyRead', 'afterReply'];
const ofProcesses = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: kindOf('killAt'), point: fc.constantFrom(...POINTS), later: fc.integer({ min: 0, max: 8 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: kindOf('start') }) },
  { weight: 2, arbitrary: fc.record({ kind: kindOf('kill', 'killAll', 'stop', 'freeze', 'deleteLease', 'cutLease', 'mendLease') }) },
);

/** What may happen in every kind of history of RoutedIPs, by what it happens to. */
export const routedHappen = {
  nodes: ofNodes,
  people: ofPeople,
  policies: ofPolicies,
  processes: ofProcesses,
  provider: ofProvider,
  routed: ofRouted,
  services: ofServices,
};

/** Steps, each soon after the one before. */
export const routedSteps = (what: fc.Arbitrary<unknown>): fc.Arbitrary<RoutedStep[]> => {
  const afterMs = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 500 }), fc.integer({ min: 0, max: 10_000 }));
  return fc.array(fc.record({ afterMs, what: what as fc.Arbitrary<RoutedHappening> }), { minLength: 3, maxLength: 20, size: 'max' });
};

const steps = routedSteps(
  fc.oneof(
    { weight: 5, arbitrary: ofNodes },
    { weight: 3, arbitrary: ofServices },
    { weight: 2, arbitrary: ofPolicies },
    { weight: 3, arbitrary: ofRouted },
    { weight: 2, arbitrary: ofFirewalls },
    { weight: 1, arbitrary: ofPeople },
    { weight: 4, arbitrary: ofProvider },
    { weight: 3, arbitrary: ofProcesses },
    { weight: 1, arbitrary: happen.stores },
  ),
);

const range = (max: number): fc.Arbitrary<[number, number]> =>
  fc.tuple(fc.integer({ min: 0, max: Math.floor(max / 2) }), fc.integer({ min: Math.floor(max / 2), max }));
const exactly = <T>(count: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.array(arbitrary, { minLength: count, maxLength: count });

/** RoutedIPs of a class and of an issuer, for Services on the same nodes, with a pool beside them. */
export const routedHistory: fc.Arbitrary<RoutedHistory> = fc.record({
  nodes: fc.integer({ min: 1, max: NODES }),
  perNode: fc.constantFrom(1, 1, 2),
  policies: exactly(POLICIES, rules),
  services: exactly(SERVICES, fc.record({ ports: some(PORTS.length), nodes: some(NODES, 1), pods })),
  routed: exactly(
    ROUTED,
    fc.record({
      policy: fc.constantFrom(0, 0, 1),
      service: index(SERVICES),
      address: fc.option(index(ADDRESSES), { freq: 2 }),
      isThere: fc.constantFrom(true, true, false),
    }),
  ),
  pool: fc.oneof(fc.constant([]), fc.constant([2]), some(ADDRESSES)),
  holders: exactly(ADDRESSES, fc.option(index(NODES))),
  restarts: fc.constantFrom(true, true, true, false),
  actionMs: range(2_000),
  callMs: range(200),
  firewallMs: range(3_000),
  seed: fc.integer(),
  steps,
});
