import type { MachineEvent } from '../../../actors/runtime/step.ts';
import type { ClusterObserved, Ready } from '../../../machines/events.ts';
import type { PoolContext } from '../../../machines/pool/context.ts';
import { isPrimed } from '../../../machines/pool/context.ts';
import * as naming from '../../../machines/pool/dns-records.ts';
import * as granting from '../../../machines/pool/grant.ts';
import * as members from '../../../machines/pool/members.ts';
import * as facts from '../../../machines/pool/observe.ts';
import type { PoolSpec } from '../../../machines/spec/pool.ts';
import { action, guard, type Spoil, shown } from '../../machines/mutations-spoil.ts';
import type { PatienceRule } from '../../support/patience.ts';
import type { PoolRules } from '../domains/pools.ts';
import type { ShortPools as History, ShortRouted } from '../short.ts';
import type { Mutations } from './mutation.ts';
import { CALM, inChart, type Mutation, step, wait } from './pools.ts';
import { CALM as ROUTED } from './routed-ips.ts';

/** One address on the first of three nodes, under a rule. */
const under = (rules: PoolRules, steps: History['steps'], change: Partial<History> = {}): History => ({
  ...CALM,
  holders: [0, 1, null, null],
  rules: [rules],
  steps,
  ...change,
});

/** Part of the context as if the spec said something else. */
const withSpec =
  (change: Partial<PoolSpec>) =>
  ({ spec }: PoolContext): Pick<PoolContext, 'spec'> => ({ spec: spec && { ...spec, ...change } });
/** The nodes are looked at as if the spec said something else. */
const looksAtNodes = (change: Partial<PoolSpec>): Spoil =>
  action<PoolContext, ClusterObserved>('observeCluster', shown(facts.observeCluster, withSpec(change)));

/** Addresses on absent nodes serve no more. */
const withoutAbsent = ({ members: all, absent }: PoolContext): Pick<PoolContext, 'members'> => {
  const away = new Set(absent.map(({ node }) => node.name));
  const seen = Object.entries(all).map(([address, member]) => [address, { ...member, heard: !away.has(member.stands?.name ?? '') }]);
  return { members: Object.fromEntries(seen) };
};
const differs = (context: PoolContext, { at }: MachineEvent): boolean => naming.namesDiffer({ ...context, ...withoutAbsent(context) }, at);
const namesWithoutAbsent: Spoil = (chart) =>
  action<PoolContext, MachineEvent>(
    'name',
    shown((context, { at }) => naming.name(context, at), withoutAbsent),
  )(
    guard<PoolContext, MachineEvent>(
      'namesDiffer',
      differs,
    )(guard<PoolContext, MachineEvent>('namesAgree', (context, event) => !differs(context, event))(chart)),
  );

const fails = (afterMs: number, node: number) => step(afterMs, { kind: 'nodeFails', node });
/** To a node that no pool may use. */
const taken = (afterMs: number) => step(afterMs, { kind: 'moveByHand', address: 0, node: 4 });
const contention = (moves: number, takeover: 'Yield' | 'Reclaim'): PoolRules => ({ contention: { moves, windowSeconds: 300, takeover } });

export const PATIENCE_MUTATIONS: Mutations<PatienceRule, History> = {
  'stays through the grace of its node': [
    {
      mutation: 'a node that is not Ready is lost at once, whatever its grace',
      spoil: inChart('pool', looksAtNodes({ graceMs: 0 })),
      history: under({ recoveryGraceSeconds: 30 }, [fails(5_000, 0), wait(20_000), step(0, { kind: 'nodeRecovers', node: 0 })]),
    },
  ],
  'stays published through the grace of its node': [
    {
      mutation: 'only what is on nodes that match is published',
      spoil: inChart('pool', namesWithoutAbsent),
      history: under({ recoveryGraceSeconds: 30 }, [fails(5_000, 0), wait(20_000)], { names: [0], pools: [[0, 1]] }),
    },
  ],
  'leaves a node that works only for another one': [
    {
      mutation: 'a cordoned node is lost at once, whether another one is free or not',
      spoil: inChart('pool', looksAtNodes({ drainPolicy: 'OnNotReady' })),
      history: under({ drainPolicy: 'OnCordon' }, [step(5_000, { kind: 'cordon', node: 0 }), wait(20_000)], { nodes: 1 }),
    },
  ],
  'stays while too many nodes are absent': [
    {
      mutation: 'nobody counts the nodes that are absent',
      spoil: inChart('pool', looksAtNodes({ safeHold: null })),
      history: under({ safeHold: { maxUnavailable: 1, windowSeconds: 60 } }, [fails(5_000, 0), fails(0, 1), wait(20_000)], {
        nodes: 4,
        pools: [[0, 1]],
      }),
    },
  ],
  'is left to others for a window': [
    {
      mutation: 'nobody counts the moves of others',
      spoil: inChart('pool', action<PoolContext, Ready>('noteReady', shown(members.onReady, withSpec({ contention: null })))),
      history: under(contention(1, 'Yield'), [taken(5_000), wait(70_000)]),
    },
    {
      mutation: 'an address that was taken back once is fought for as if nothing had been',
      spoil: inChart(
        'pool',
        action<PoolContext, MachineEvent>('grant', (context, { at }) =>
          shown((given: PoolContext) => granting.grant(given, at), yielding)(context, undefined),
        ),
      ),
      history: under(contention(2, 'Reclaim'), [taken(5_000), taken(70_000), wait(350_000), taken(10_000), wait(70_000)]),
    },
  ],
};

const PATIENT = { ...ROUTED.policies[0], firewall: null, graceSeconds: 30 } as ShortRouted['policies'][number];

/** Of a RoutedIP whose address goes to the account of an issuer. */
export const ROUTED_PATIENCE_MUTATIONS: Mutations<'stays through the grace of its node', ShortRouted> = {
  'stays through the grace of its node': [
    {
      mutation: 'where an address served is forgotten once its account has let it go',
      spoil: inChart(
        'pool',
        action<PoolContext, ClusterObserved>(
          'observeCluster',
          shown(facts.observeCluster, () => ({ stood: null })),
        ),
      ),
      history: {
        ...ROUTED,
        callMs: [300, 300],
        policies: [PATIENT, PATIENT],
        steps: [
          { afterMs: 10_000, what: { kind: 'use', routed: 0, policy: 1 } },
          { afterMs: 100, what: { kind: 'nodeFails', node: 1 } },
          { afterMs: 20_000, what: { kind: 'jump', ms: 0 } },
        ],
      },
    },
  ],
};

function yielding({ spec }: PoolContext): Pick<PoolContext, 'spec'> {
  return { spec: spec?.contention ? { ...spec, contention: { ...spec.contention, takeover: 'Yield' } } : spec };
}

const plansNow = action<PoolContext, MachineEvent>('planRecovery', (context, { at }) => ({
  context: { ...context, recoverAt: at },
  effects: [],
}));
const waitsAlways = guard<PoolContext>('givesTime', (context) => isPrimed(context) && context.absent.length > 0);
const isNever = (name: string): Spoil => guard(name, () => false);

/** What never comes to rest shows where times are set anew. */
export const RESTLESS: Mutation = {
  mutation: 'the time of a node that is absent is over at once, and set again',
  spoil: inChart('pool', (chart) =>
    [plansNow, waitsAlways, isNever('givesNoTime'), isNever('givesOtherTime')].reduce((all, spoil) => spoil(all), chart),
  ),
  history: under({ recoveryGraceSeconds: 30 }, [fails(5_000, 0), wait(20_000)]),
};
