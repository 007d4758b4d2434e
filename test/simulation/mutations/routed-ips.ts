import { vi } from 'vitest';
import { again, done, write } from '../../../actors/jobs/job.ts';
import { jobBodies } from '../../../actors/jobs/registry.ts';
import type { ClusterSource, ClusterWriter } from '../../../actors/ports/cluster.ts';
import { ProviderError } from '../../../actors/ports/errors.ts';
import type { Chart, Charts } from '../../../actors/runtime/charts.ts';
import type { AddressContext, AnyAddressEvent } from '../../../machines/address/context.ts';
import * as walls from '../../../machines/address/firewall-claim.ts';
import type { ClusterObserved, SpecObserved } from '../../../machines/events.ts';
import type { FirewallContext } from '../../../machines/firewall/context.ts';
import * as firewall from '../../../machines/firewall/decisions.ts';
import type { FirewallFound } from '../../../machines/jobs.ts';
import type { PoolContext } from '../../../machines/pool/context.ts';
import * as facts from '../../../machines/pool/observe.ts';
import { action, guard, type Spoil, shown, state } from '../../machines/mutations-spoil.ts';
import type { FirewallRule } from '../../support/firewall-rule.ts';
import type { RoutedRule } from '../../support/routed-rules.ts';
import type { ShortRoutedHappening as RoutedHappening, ShortRouted as RoutedHistory } from '../short.ts';
import type { SimulationWorld as World } from '../world.ts';
import type { Mutation, Mutations } from './mutation.ts';

export type RoutedMutation = Mutation<RoutedHistory>;

const POLICY = { firewall: 0, postAllow: false, taint: 'PreferNoSchedule', reclaim: 'Retain', coolOffSeconds: 0, graceSeconds: 0 } as const;
const SERVICE = { ports: [0], nodes: [0, 1], pods: 'unseen' } as const;

/** One RoutedIP of a class for a Service on two nodes, which names its address; two more are not there. Nothing happens. */
export const CALM: RoutedHistory = {
  nodes: 2,
  perNode: 1,
  policies: [POLICY, POLICY],
  services: [SERVICE, { ...SERVICE, ports: [1] }],
  routed: [
    { policy: 0, service: 0, address: 0, isThere: true },
    { policy: 0, service: 1, address: 1, isThere: false },
    { policy: 0, service: 0, address: 2, isThere: false },
  ],
  pool: [],
  holders: [null, null, null],
  restarts: true,
  actionMs: [300, 300],
  callMs: [20, 20],
  firewallMs: [0, 0],
  seed: 1,
  steps: [],
};
const [FIRST, SECOND, THIRD] = CALM.routed as [
  RoutedHistory['routed'][number],
  RoutedHistory['routed'][number],
  RoutedHistory['routed'][number],
];
/** The address is made. */
export const MADE: RoutedHistory = { ...CALM, routed: [{ ...FIRST, address: null }, SECOND, THIRD] };

export const step = (afterMs: number, what: RoutedHappening): RoutedHistory['steps'][number] => ({ afterMs, what });
export const wait = (ms: number) => step(ms, { kind: 'jump', ms: 0 });
const fails = step(5_000, { kind: 'nodeFails', node: 1 });
const removed = step(5_000, { kind: 'remove', routed: 0 });

const inChart =
  (name: 'ip' | 'pool' | 'firewall', ...spoils: readonly Spoil[]) =>
  (charts: Charts): Charts => ({ ...charts, [name]: spoils.reduce((chart, spoil) => spoil(chart), charts[name] as Chart) });

/** Every process finds what writes to the cluster changed so. */
const inWriter =
  (change: (writer: ClusterWriter & ClusterSource) => Partial<ClusterWriter>) =>
  ({ cluster }: World): void => {
    const { process } = cluster;
    vi.spyOn(cluster, 'process').mockImplementation(() => {
      const one = process();
      return { ...one, ...change(one) };
    });
  };

/** Everything that nobody claims is removed, whoever added it. */
const removesAll = (): void => {
  const { prune } = jobBodies;
  vi.spyOn(jobBodies, 'prune').mockImplementation((context) => prune({ ...context, input: { ...context.input, exclusive: true } }));
};

/** An address is made for nobody besides the one that is asked for. */
const makesTwo = (): void => {
  const { create } = jobBodies;
  vi.spyOn(jobBodies, 'create').mockImplementation(async (context) => {
    await context.provider.createRoutedIP(context.input.region, write(context, 'create'));
    return create(context);
  });
};

const deletesAlways = (): void => {
  vi.spyOn(jobBodies, 'release').mockImplementation(async (context) => {
    await context.provider.deleteRoutedIP(context.input.address, write(context, 'failover'));
    return done({ deleted: true });
  });
};

const unguarded = {
  sabotage: inWriter(() => ({ guard: async () => undefined })),
  spoil: inChart(
    'pool',
    action<PoolContext, SpecObserved>('observeSpec', (context, event) => facts.observeSpec(context, { ...event, guarded: true })),
  ),
};

const afterAddRule = [
  step(5_000, { kind: 'addRule', firewall: 0, port: 2 }),
  step(1_000, { kind: 'policy', policy: 0, change: { firewall: 1 } }),
];

/** For each rule of every moment defects that it must catch. */
export const ROUTED_MUTATIONS: Mutations<FirewallRule | RoutedRule, RoutedHistory> = {
  'opens before it assigns': [
    {
      mutation: 'an address is assigned before its ports are open',
      spoil: inChart(
        'ip',
        guard('opensFirst', () => false),
      ),
      history: CALM,
    },
    {
      mutation: 'a change of a firewall counts as made before it is in force',
      sabotage: () => {
        const { openFirewall } = jobBodies;
        vi.spyOn(jobBodies, 'openFirewall').mockImplementation(async (context) => {
          await openFirewall(context);
          return done({ owned: context.input.owned, deferred: null });
        });
      },
      history: { ...CALM, firewallMs: [3_000, 3_000] },
    },
  ],
  'assigns before it opens, where that is asked for': [
    {
      mutation: 'what a class says of the order is passed over',
      spoil: inChart(
        'ip',
        guard('opensFirst', walls.opens),
        guard('opensNothingYet', () => false),
        action<AddressContext, AnyAddressEvent>(
          'claimOpen',
          shown(walls.claimOpen, ({ policy }) => ({ policy: { ...policy, postAllow: false } })),
        ),
      ),
      history: { ...CALM, policies: [{ ...POLICY, postAllow: true }, POLICY] },
    },
  ],
  'keeps open what serves': [
    {
      mutation: 'what is claimed for the next node takes the place of what is claimed for the present one',
      spoil: inChart(
        'firewall',
        action<FirewallContext>('noteClaim', (context, event) => {
          const noted = firewall.noteClaim(context, { ...event, mode: 'prune' } as never);
          const asks = Object.entries(noted.context.waiting).map(([id, ask]) => [
            id,
            { ...ask, mode: (event as unknown as { mode: 'open' }).mode, isOpen: false },
          ]);
          return { ...noted, context: { ...noted.context, waiting: Object.fromEntries(asks) } };
        }),
      ),
      history: { ...CALM, actionMs: [3_000, 3_000], steps: [step(12_000, { kind: 'nodeFails', node: 1 }), wait(20_000)] },
    },
  ],
  'removes only what it added': [
    { mutation: 'everything that nobody claims is removed', sabotage: removesAll, history: { ...CALM, steps: afterAddRule } },
  ],
  'one change of a firewall at a time': [
    {
      mutation: 'a claim that comes while a job runs has another one run beside it',
      spoil: inChart(
        'firewall',
        state('Opening', (config) => ({
          ...config,
          on: { ...config.on, CLAIM: { target: 'Opening', reenter: true, actions: 'noteClaim' } },
        })),
      ),
      history: { ...CALM, callMs: [800, 800], steps: [step(1_000, { kind: 'make', routed: 1 })] },
    },
  ],
  'leaves the last rules to namespaces that have few': [
    {
      mutation: 'whoever comes first has them',
      spoil: inChart(
        'firewall',
        action<FirewallContext>('plan', (context, event) => {
          const { freeRules: _, ...output } = (event as unknown as { output: FirewallFound }).output;
          const planned = firewall.plan(context, { ...(event as object), output } as never);
          return { ...planned, context: { ...planned.context, found: (event as unknown as { output: FirewallFound }).output } };
        }),
      ),
      history: { ...CALM, steps: [step(5_000, { kind: 'fewRules', firewall: 0 }), step(1_000, { kind: 'make', routed: 1 }), wait(5_000)] },
    },
    {
      mutation: 'nobody gets one of them',
      spoil: inChart(
        'firewall',
        action<FirewallContext>('plan', (context, event) => {
          const { output } = event as unknown as { output: FirewallFound };
          return firewall.plan(context, { ...(event as object), output: { ...output, freeRules: 0 } } as never);
        }),
      ),
      history: CALM,
    },
  ],
  'leaves nothing open behind': [
    {
      mutation: 'an address that leaves gives nothing back',
      spoil: inChart(
        'ip',
        guard<AddressContext>('prunesNothingAndRetires', ({ retiring }) => retiring !== null),
      ),
      history: { ...CALM, steps: [removed] },
    },
  ],
  'guarded before anything is done for it': [{ mutation: 'no finalizer is put on', ...unguarded, history: MADE }],
  'goes only when all is undone': [
    {
      mutation: 'what a class says of the address of a RoutedIP that is deleted is passed over',
      spoil: inChart(
        'ip',
        guard('prunesNothingAndReleases', () => false),
        guard('mustRelease', () => false),
      ),
      history: { ...MADE, policies: [{ ...POLICY, reclaim: 'Delete' }, POLICY], steps: [removed] },
    },
  ],
  'one address for each': [{ mutation: 'a creation makes two', sabotage: makesTwo, history: MADE }],
  'bound before it is used': [
    {
      mutation: 'an address that was made is not written down',
      sabotage: inWriter(({ project }) => ({
        bindAddress: async () => undefined,
        project: (projection) => {
          const { routedIP: _, ...status } = projection.status;
          project({ ...projection, status });
        },
      })),
      history: MADE,
    },
  ],
  'assigned only while it is wanted': [
    {
      mutation: 'after a restart the assign is asked for again, whether the address is wanted still or not',
      spoil: inChart(
        'ip',
        state('Assigning', (config) => ({
          ...config,
          on: { ...config.on, RESUME: { target: 'Assigning', reenter: true, actions: 'doubt' } },
        })),
      ),
      history: {
        ...CALM,
        actionMs: [20_000, 20_000],
        steps: [step(1_000, { kind: 'remove', routed: 0 }), step(1_000, { kind: 'restart' })],
      },
    },
  ],
  'gives back only what it may': [
    {
      mutation: 'an address is deleted, whatever the class says',
      spoil: inChart(
        'ip',
        guard<AddressContext>('prunesNothingAndReleases', (context) => walls.prunesNothing(context) && context.retiring !== null),
        guard<AddressContext>('mustRelease', ({ retiring }) => retiring !== null),
      ),
      sabotage: deletesAlways,
      history: { ...CALM, steps: [removed] },
    },
    {
      mutation: 'what the class says once a deletion is decided is passed over',
      sabotage: deletesAlways,
      history: {
        ...MADE,
        policies: [{ ...POLICY, reclaim: 'Delete' }, POLICY],
        steps: [
          step(5_000, { kind: 'fault', verb: 'deleteRoutedIP', fault: { kind: 'refuse', error: 'Unavailable' }, times: 1 }),
          removed,
          step(500, { kind: 'policy', policy: 0, change: { reclaim: 'Retain' } }),
        ],
      },
    },
  ],
  'marked before it is assigned': [
    {
      mutation: 'a node is not marked before the address goes there',
      spoil: inChart(
        'ip',
        guard('marks', () => false),
      ),
      history: { ...CALM, callMs: [0, 0], policies: [{ ...POLICY, firewall: null }, POLICY] },
    },
  ],
  'keeps its mark while it holds': [
    {
      mutation: 'all marks are taken off again',
      sabotage: inWriter(({ markHolders }) => ({ markHolders: () => markHolders({}, true) })),
      history: { ...CALM, steps: [wait(5_000)] },
    },
  ],
};

const unavailable = async (): Promise<never> => {
  throw new ProviderError('Unavailable', 'not today');
};

/** What is asked when a history is over, by words of the answer, with a defect that leads to it. */
export const ROUTED_END_MUTATIONS: Readonly<Record<string, RoutedMutation>> = {
  'r0 is deleted, and still there': {
    mutation: 'nothing can be pruned',
    sabotage: () => void vi.spyOn(jobBodies, 'prune').mockImplementation(unavailable),
    history: { ...CALM, steps: [removed] },
  },
  'r0 has no address': {
    mutation: 'nothing can be made',
    sabotage: () => void vi.spyOn(jobBodies, 'create').mockImplementation(unavailable),
    history: MADE,
  },
  'pool-0 says': {
    mutation: 'nothing can be assigned',
    sabotage: () => void vi.spyOn(jobBodies, 'assign').mockImplementation(unavailable),
    history: { ...CALM, pool: [2] },
  },
  'not AddressConflict': {
    mutation: 'what is another one’s is not said to be',
    spoil: inChart(
      'pool',
      action<PoolContext, SpecObserved>('observeSpec', (context, event) => facts.observeSpec(context, { ...event, conflicts: {} })),
    ),
    history: { ...CALM, routed: [FIRST, { ...SECOND, address: 0, isThere: true }, THIRD] },
  },
  '203.0.113.200 of r0 is on': {
    mutation: 'an address whose move by hand is seen is left there',
    spoil: inChart(
      'ip',
      guard('differs', () => false),
    ),
    history: { ...CALM, steps: [step(5_000, { kind: 'moveByHand', address: 0, node: 4 })] },
  },
  '203.0.113.200 of r0 stays on': {
    mutation: 'what becomes of the nodes is passed over once some are known',
    spoil: inChart(
      'pool',
      action<PoolContext, ClusterObserved>('observeCluster', (context, event) =>
        context.candidates.length > 0 ? { context, effects: [] } : facts.observeCluster(context, event),
      ),
    ),
    history: { ...CALM, steps: [fails] },
  },
  'waits for': {
    mutation: 'a pruning goes on for ever',
    sabotage: () => void vi.spyOn(jobBodies, 'prune').mockImplementation(async () => again(60_000, null)),
    history: { ...CALM, steps: [step(5_000, { kind: 'policy', policy: 0, change: { firewall: 1 } })] },
  },
  'is gone from edge': {
    mutation: 'everything that nobody claims is removed',
    sabotage: removesAll,
    history: { ...CALM, steps: afterAddRule },
  },
  'was made, and nobody knows of it': { mutation: 'a creation makes two', sabotage: makesTwo, history: MADE },
  'bear the mark of a holder': {
    mutation: 'a mark is never taken off',
    sabotage: inWriter(() => ({ markHolders: () => undefined })),
    history: { ...CALM, steps: [fails] },
  },
  'is not guarded': { mutation: 'no finalizer is put on', ...unguarded, history: CALM },
  'is not open in edge': {
    mutation: 'what a list of firewalls shows is passed over',
    spoil: inChart(
      'firewall',
      guard('observesLoss', () => false),
    ),
    history: { ...CALM, steps: [step(20_000, { kind: 'closeRule', firewall: 0, item: 0 })] },
  },
  'is left in edge': {
    mutation: 'a pruning removes nothing',
    sabotage: () =>
      void vi.spyOn(jobBodies, 'prune').mockImplementation(async () => done({ owned: { ports: [], nodes: [] }, deferred: null })),
    history: { ...CALM, steps: [fails] },
  },
};
