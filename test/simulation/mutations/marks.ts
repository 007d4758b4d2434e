import { vi } from 'vitest';
import type { MachineEvent } from '../../../actors/runtime/step.ts';
import { Evacuations } from '../../../actors/status/evacuation.ts';
import type { ClusterObserved, SpecObserved } from '../../../machines/events.ts';
import { isPrimed, type PoolContext } from '../../../machines/pool/context.ts';
import * as granting from '../../../machines/pool/grant.ts';
import * as facts from '../../../machines/pool/observe.ts';
import { action, guard, type Spoil, shown } from '../../machines/mutations-spoil.ts';
import type { MarkRule } from '../../support/marks.ts';
import type { ShortPools as History } from '../short.ts';
import { CALM, inChart, type Mutation, step, wait } from './pools.ts';

/** One address on the first of three nodes. */
const served = (...steps: History['steps']): History => ({ ...CALM, holders: [0, null, null, null], steps });
const pause = step(2_000, { kind: 'pause', pool: 0 });
const ask = step(2_000, { kind: 'moveTo', pool: 0, address: 0, node: 2 });
const evacuate = (node: number) => step(2_000, { kind: 'evacuate', node });

/** The context without what people ask for, or as if they asked for something else. */
export const unmarked = (): Pick<PoolContext, 'marks'> => ({ marks: null });
const askedFor =
  (node: string) =>
  ({ marks }: PoolContext): Pick<PoolContext, 'marks'> =>
    marks?.moves ? { marks: { ...marks, moves: marks.moves.map((move) => ({ ...move, node })) } } : {};

/** Grants are decided on what `view` shows. */
const grantsOn = (view: (context: PoolContext) => Partial<PoolContext>): Spoil =>
  action<PoolContext, MachineEvent>('grant', (context, { at }) =>
    shown((given: PoolContext) => granting.grant(given, at), view)(context, undefined),
  );
const grantsUnmarked: Spoil = (chart) =>
  guard<PoolContext>(
    'canGrant',
    (context, { at }) => isPrimed(context) && granting.decideGrants({ ...context, ...unmarked() }, at).grants.length > 0,
  )(grantsOn(unmarked)(chart));

/** It leaves its node once. */
const grantsAnother: Spoil = (chart) =>
  guard<PoolContext>(
    'canRelieve',
    (context, { at }) =>
      isPrimed(context) && !context.marks?.moves?.some(({ begun }) => begun) && granting.decideGrants(context, at).reliefs.length > 0,
  )(grantsOn(askedFor('n1'))(chart));

export const staysSeen: Spoil = action<PoolContext, ClusterObserved>('observeCluster', (context, event) =>
  facts.observeCluster(context, { ...event, nodes: event.nodes.map(({ evacuating: _, ...node }) => node) }),
);

/** It hears that it is paused, and goes on with its addresses as ever. */
const staffsUnmarked: Spoil = action<PoolContext, SpecObserved>('observeSpec', (context, event) => {
  const { marks: _, ...unpaused } = event;
  const { context: heard } = facts.observeSpec(context, event);
  const { context: decided, effects } = facts.observeSpec({ ...context, ...unmarked() }, unpaused);
  return { context: { ...decided, marks: heard.marks ?? null }, effects };
});

const isOpen = ({ marks }: PoolContext): boolean => (marks?.moves ?? []).some(({ answer }) => answer === null);
const saysDone: Spoil = (chart) =>
  guard<PoolContext>(
    'hasAnswer',
    isOpen,
  )(
    action<PoolContext>('answerMoves', (context) => {
      const { marks = null } = context;
      const moves = (marks?.moves ?? []).map((move) => ({ ...move, answer: { done: true, message: 'it is there' } }));
      return { context: { ...context, marks: marks && { ...marks, moves } }, effects: [] };
    })(chart),
  );

export const MARK_MUTATIONS: Readonly<Record<MarkRule, readonly [Mutation, ...Mutation[]]>> = {
  'is not moved while it is paused': [
    {
      mutation: 'nobody reads that it is paused',
      spoil: inChart(
        'pool',
        action<PoolContext, SpecObserved>('observeSpec', (context, { marks: _, ...event }) => facts.observeSpec(context, event)),
      ),
      history: served(pause, step(70_000, { kind: 'nodeFails', node: 0 }), wait(10_000)),
    },
    {
      mutation: 'nodes are granted as ever',
      spoil: inChart('pool', grantsUnmarked),
      history: served(pause, step(1_000, { kind: 'moveByHand', address: 0, node: null }), wait(70_000)),
    },
  ],
  'begins nothing while it is paused': [
    {
      mutation: 'what was about to be created is created',
      spoil: inChart(
        'pool',
        guard('createsNoMore', () => false),
      ),
      history: served(step(5_000, { kind: 'want', pool: 0, extra: 1 }), step(10, { kind: 'pause', pool: 0 }), wait(10_000)),
    },
    {
      mutation: 'what it lists no more is given up as ever',
      spoil: inChart('pool', staffsUnmarked),
      history: served(pause, step(5_000, { kind: 'list', pool: 0, addresses: [1] }), wait(10_000)),
    },
  ],
  'goes where it was asked to go': [
    {
      mutation: 'it leaves its node for the one that was asked for, and gets another one',
      spoil: inChart('pool', grantsAnother),
      history: served(ask, wait(5_000)),
    },
  ],
  'is said to have moved when it has': [
    { mutation: 'what is asked for counts as done', spoil: inChart('pool', saysDone), history: served(ask, wait(5_000)) },
  ],
  'comes to no node that is to be evacuated': [
    {
      mutation: 'nobody sees that a node is to be evacuated',
      spoil: inChart('pool', staysSeen),
      history: served(evacuate(1), step(70_000, { kind: 'nodeFails', node: 0 }), wait(10_000)),
    },
  ],
};

/** What was said of a node once is said for ever. */
export function neverForgets(): void {
  const { observed } = Evacuations.prototype;
  vi.spyOn(Evacuations.prototype, 'observed').mockImplementation(function (this: Evacuations, nodes) {
    if (nodes.length > 0) observed.call(this, nodes);
  });
}

export const MARK_END_MUTATIONS: Readonly<Record<string, readonly [Mutation]>> = {
  'pool-0 has not answered 203.0.113.200=n2': [
    {
      mutation: 'requests are never answered',
      spoil: inChart(
        'pool',
        guard('hasAnswer', () => false),
      ),
      history: served(ask),
    },
  ],
  'n0 is to be evacuated, and says 1 address is held here': [
    { mutation: 'nobody sees that a node is to be evacuated', spoil: inChart('pool', staysSeen), history: served(evacuate(0)) },
  ],
  'n1 says that it is evacuated, and is not to be': [
    {
      mutation: 'nobody forgets that a node was',
      sabotage: neverForgets,
      history: served(evacuate(1), step(2_000, { kind: 'stay', node: 1 })),
    },
  ],
};
