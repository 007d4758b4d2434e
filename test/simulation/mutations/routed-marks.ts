import { vi } from 'vitest';
import { done, read, write } from '../../../actors/jobs/job.ts';
import { jobBodies } from '../../../actors/jobs/registry.ts';
import type { ClusterObserved } from '../../../machines/events.ts';
import type { PoolContext } from '../../../machines/pool/context.ts';
import * as facts from '../../../machines/pool/observe.ts';
import { action, guard, shown } from '../../machines/mutations-spoil.ts';
import type { MarkRule } from '../../support/marks.ts';
import type { ShortRouted as RoutedHistory } from '../short.ts';
import { MARK_MUTATIONS, neverForgets, staysSeen, unmarked } from './marks.ts';
import { inChart } from './pools.ts';
import { CALM, MADE, type RoutedMutation, step, wait } from './routed-ips.ts';

/** Its Service runs on three nodes: it goes to the youngest, `n2`. */
const served = (...steps: RoutedHistory['steps']): RoutedHistory => ({
  ...CALM,
  nodes: 3,
  services: CALM.services.map((service) => ({ ...service, nodes: [0, 1, 2] })),
  steps,
});
const pause = step(5_000, { kind: 'pause', routed: 0 });
const ask = step(5_000, { kind: 'moveTo', routed: 0, node: 0 });
const evacuate = (node: number) => step(5_000, { kind: 'evacuate', node });

/** The same defects as of pools, in histories of RoutedIPs, and some that only these can have. */
export const ROUTED_MARK_MUTATIONS: Readonly<Record<MarkRule, readonly [RoutedMutation, ...RoutedMutation[]]>> = {
  'is not moved while it is paused': [
    {
      ...MARK_MUTATIONS['is not moved while it is paused'][0],
      history: served(pause, step(70_000, { kind: 'nodeFails', node: 2 }), wait(10_000)),
    },
  ],
  'begins nothing while it is paused': [
    {
      ...MARK_MUTATIONS['begins nothing while it is paused'][0],
      history: {
        ...MADE,
        callMs: [500, 500],
        routed: MADE.routed.map((each) => ({ ...each, isThere: false })),
        steps: [step(5_000, { kind: 'make', routed: 0 }), step(700, { kind: 'pause', routed: 0 }), wait(10_000)],
      },
    },
    {
      mutation: 'what its Service needs is told as ever',
      spoil: inChart('pool', action<PoolContext, ClusterObserved>('observeCluster', shown(facts.observeCluster, unmarked))),
      history: served(pause, step(5_000, { kind: 'ports', service: 0, ports: [0, 1] }), wait(10_000)),
    },
  ],
  'goes where it was asked to go': [{ ...MARK_MUTATIONS['goes where it was asked to go'][0], history: served(ask, wait(5_000)) }],
  'is said to have moved when it has': [{ ...MARK_MUTATIONS['is said to have moved when it has'][0], history: served(ask, wait(5_000)) }],
  'comes to no node that is to be evacuated': [
    {
      ...MARK_MUTATIONS['comes to no node that is to be evacuated'][0],
      history: served(evacuate(1), step(70_000, { kind: 'nodeFails', node: 2 }), wait(10_000)),
    },
  ],
};

/** A verification assigns each address anew to where it is. */
function assignsAnew(): void {
  vi.spyOn(jobBodies, 'verifyAll').mockImplementation(async (context) => {
    const addresses = await context.provider.listRoutedIPs({ ...read(context, 'verify'), family: 4 });
    for (const { address, providerID } of addresses)
      if (providerID) await context.provider.assignRoutedIP(address, providerID, write(context, 'failover'));
    return done({ addresses });
  });
}

export const ROUTED_MARK_END_MUTATIONS: Readonly<Record<string, RoutedMutation>> = {
  'r0 has not answered n0': {
    mutation: 'requests are never answered',
    spoil: inChart(
      'pool',
      guard('hasAnswer', () => false),
    ),
    history: served(ask),
  },
  'n2 is to be evacuated, and says 1 address is held here': {
    mutation: 'nobody sees that a node is to be evacuated',
    spoil: inChart('pool', staysSeen),
    history: served(evacuate(2)),
  },
  'n1 says that it is evacuated, and is not to be': {
    mutation: 'nobody forgets that a node was',
    sabotage: neverForgets,
    history: served(evacuate(1), step(2_000, { kind: 'stay', node: 1 })),
  },
  'assignRoutedIP of 203.0.113.200 at rest, again and again': {
    mutation: 'a verification assigns what it finds to where it is',
    sabotage: assignsAnew,
    history: { ...served(), restsMs: 130_000 },
  },
};
