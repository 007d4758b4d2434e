import { vi } from 'vitest';
import { jobBodies } from '../../../actors/jobs/registry.ts';
import type { Chart } from '../../../actors/runtime/charts.ts';
import type { Ready } from '../../../machines/events.ts';
import type { PoolContext } from '../../../machines/pool/context.ts';
import * as members from '../../../machines/pool/members.ts';
import { action } from '../../machines/mutations-spoil.ts';
import type { AdoptionRule } from '../../support/adoption-rules.ts';
import type { ShortRouted as RoutedHistory } from '../short.ts';
import type { Mutations } from './mutation.ts';
import { CALM, type RoutedMutation, step, wait } from './routed-ips.ts';

/** The pool takes over where an address is as if it were another place. */
const told = (change: (event: Ready) => Ready): NonNullable<RoutedMutation['spoil']> => {
  const spoil = action<PoolContext, Ready>('noteReady', (context, event) => members.onReady(context, change(event)));
  return (charts) => ({ ...charts, pool: spoil(charts.pool as Chart) });
};

/** It is assigned without one more look. */
function looksNoMore(): void {
  const { assign } = jobBodies;
  vi.spyOn(jobBodies, 'assign').mockImplementation(({ input: { looksFirst: _, ...input }, ...context }) => assign({ ...context, input }));
}

const CAREFUL: RoutedHistory = { ...CALM, policies: CALM.policies.map((policy) => ({ ...policy, adoption: 'Unassigned' as const })) };
/** Onto a machine that is none of the cluster's. */
const moved = (afterMs: number) => step(afterMs, { kind: 'moveByHand', address: 0, node: 4 });
const endpoints = (afterMs: number, ...nodes: readonly number[]) => step(afterMs, { kind: 'endpoints', service: 0, nodes, pods: 'unseen' });

export const ADOPTION_MUTATIONS: Mutations<AdoptionRule, RoutedHistory> = {
  'takes nothing off machines outside of the cluster': [
    {
      mutation: 'an address is taken from anywhere',
      spoil: told((event) => ({ ...event, adopts: 'Free' })),
      history: {
        ...CAREFUL,
        routed: CAREFUL.routed.map((each) => ({ ...each, isThere: false })),
        steps: [moved(5_000), step(40_000, { kind: 'make', routed: 0 }), wait(10_000)],
      },
    },
    {
      mutation: 'an address is not looked at once more before it is assigned',
      sabotage: looksNoMore,
      history: { ...CAREFUL, steps: [endpoints(0), moved(63_000), endpoints(40_000, 0, 1), wait(10_000)] },
    },
  ],
};

export const ADOPTION_END_MUTATIONS: Readonly<Record<string, RoutedMutation>> = {
  'is on foreign': {
    mutation: 'an address is held up although it is its RoutedIP’s own',
    spoil: told((event) => ({ adopts: 'Outside', ...event })),
    history: { ...CAREFUL, steps: [moved(10_000), wait(70_000)] },
  },
};
