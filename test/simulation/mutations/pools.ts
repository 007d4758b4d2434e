import { vi } from 'vitest';
import { done, write } from '../../../actors/jobs/job.ts';
import { jobBodies } from '../../../actors/jobs/registry.ts';
import type { RecordStore } from '../../../actors/ports/records.ts';
import { DEFAULT_SETTINGS } from '../../../actors/ports/settings.ts';
import { Cell } from '../../../actors/runtime/cell.ts';
import type { Chart, Charts } from '../../../actors/runtime/charts.ts';
import type { MemoryStore } from '../../../adapters/memory/store.ts';
import type { AddressContext, AnyAddressEvent } from '../../../machines/address/context.ts';
import * as ip from '../../../machines/address/decisions.ts';
import type { Assigned, Ready } from '../../../machines/events.ts';
import type { PoolContext } from '../../../machines/pool/context.ts';
import * as pool from '../../../machines/pool/context.ts';
import * as granting from '../../../machines/pool/grant.ts';
import * as members from '../../../machines/pool/members.ts';
import { action, guard, type Spoil, state } from '../../machines/mutations-spoil.ts';
import { grants } from '../../machines/pool/mutations.ts';
import type { Rule } from '../../support/invariants.ts';
import type { ShortPoolHappening as Happening, ShortPools as History } from '../short.ts';
import type { SimulationWorld as World } from '../world.ts';
import type { Mutation as MutationOf, Mutations } from './mutation.ts';

export type Mutation = MutationOf<History>;

/** Three nodes, four addresses that nobody holds, a pool of the first of them, and nothing happens. */
export const CALM: History = {
  nodes: 3,
  pools: [[0]],
  holders: [null, null, null, null],
  coolOffSeconds: 0,
  actionMs: [300, 300],
  callMs: [20, 20],
  seed: 1,
  steps: [],
};

export const step = (afterMs: number, what: Happening): History['steps'][number] => ({ afterMs, what });
/** Nothing happens for so long. */
export const wait = (ms: number) => step(ms, { kind: 'jump', ms: 0 });

/** The charts with one of them spoilt. */
export const inChart =
  (name: 'ip' | 'pool' | 'virtual-ip', spoil: Spoil) =>
  (charts: Charts): Charts => ({ ...charts, [name]: spoil(charts[name] as Chart) });

/** Every process finds the store changed so. */
const inStore = (change: (store: RecordStore) => Partial<RecordStore>) => (world: World) => {
  const { connect } = world.store;
  vi.spyOn(world.store, 'connect').mockImplementation((): MemoryStore => {
    const store = connect();
    return { ...store, ...change(store) };
  });
};

/** What is waited for no more is let through without a fence. */
function hearStale(): void {
  const send = Cell.prototype.send;
  vi.spyOn(Cell.prototype, 'send').mockImplementation(function (this: Cell, { fence, ...envelope }) {
    const isWaitedFor = fence && this.records.get(envelope.to)?.waiting[fence.key]?.commandId === fence.commandId;
    return send.call(this, isWaitedFor ? { ...envelope, fence } : envelope);
  });
}

const lost = { kind: 'fault', verb: 'assignRoutedIP', fault: { kind: 'loseRequest' }, times: 1 } as const;

/** A grant is given back as if it were known that the call took no effect. */
const givesBackUndoubted = action<AddressContext, AnyAddressEvent>('giveBack', (context, event) => {
  const known = 'error' in event ? { ...event, error: { ...event.error, unknownOutcome: false } } : event;
  return ip.giveBack(DEFAULT_SETTINGS)(context, known as AnyAddressEvent);
});

const unspaced = ({ spec }: PoolContext): Pick<PoolContext, 'spec'> => ({ spec: spec && { ...spec, coolOffMs: 0 } });
const canGrantUnspaced = (context: PoolContext, { at }: { readonly at: number }): boolean =>
  pool.isPrimed(context) && granting.decideGrants({ ...context, ...unspaced(context) }, at).grants.length > 0;

/** For each rule of every moment defects that it must catch: one for each way in which it looks. */
export const MUTATIONS: Mutations<Exclude<Rule, 'comes to rest'>, History> = {
  'one assign at a time': [
    {
      mutation: 'a node that was lost is given back while nobody knows what became of its assign',
      spoil: inChart('ip', (chart) => guard<AddressContext>('nodeLostAndSettled', ({ eligible }) => !eligible)(givesBackUndoubted(chart))),
      history: { ...CALM, callMs: [400, 400], steps: [step(0, lost), step(500, { kind: 'nodeFails', node: 0 }), wait(10_000)] },
    },
    {
      mutation: 'a node that is lost ends the assign that is under way',
      spoil: inChart(
        'ip',
        state('Assigning', (config) => ({
          ...config,
          on: { ...config.on, NODE_OBSERVED: { guard: 'losesNode', target: 'Unassigned', actions: 'noteNode' } },
        })),
      ),
      history: { ...CALM, actionMs: [3_000, 3_000], steps: [step(1_000, { kind: 'nodeFails', node: 0 }), wait(10_000)] },
    },
  ],
  'reads before it repeats': [
    {
      mutation: 'an assign without an answer counts as one that was refused',
      spoil: inChart(
        'ip',
        action<AddressContext, AnyAddressEvent>('coolOffToAssign', (context, event) => {
          const known = 'error' in event ? { ...event, error: { ...event.error, unknownOutcome: false } } : event;
          return ip.fail(DEFAULT_SETTINGS, 'Assigning', 'grant')(context, known);
        }),
      ),
      history: { ...CALM, steps: [step(0, lost), wait(5_000)] },
    },
  ],
  'hears only what it waits for': [
    {
      mutation: 'outcomes and timers that are waited for no more are heard all the same',
      sabotage: hearStale,
      // While the store is away what comes piles up: a fact that moves the address, and the outcome of an assign that was heard long ago.
      history: {
        ...CALM,
        nodes: 1,
        steps: [
          step(2_000, { kind: 'storeDown' }),
          step(0, { kind: 'nodeFails', node: 0 }),
          step(0, { kind: 'repeatJobs' }),
          step(100, { kind: 'nodeRecovers', node: 0 }),
          step(2_000, { kind: 'storeUp' }),
        ],
      },
    },
    {
      mutation: 'the outcome of an assign is heard as that of the next one',
      sabotage: hearStale,
      history: {
        ...CALM,
        actionMs: [3_000, 3_000],
        steps: [step(10_000, { kind: 'nodeFails', node: 0 }), step(100, { kind: 'repeatJobs' }), wait(5_000)],
      },
    },
  ],
  'confirmed by the provider': [
    {
      mutation: 'an assign that the provider accepted counts as confirmed',
      sabotage: () => {
        vi.spyOn(jobBodies, 'assign').mockImplementation(async (context) => {
          const { address, node } = context.input;
          await context.provider.assignRoutedIP(address, node.providerID, write(context, 'failover'));
          return done({ providerID: node.providerID });
        });
      },
      history: CALM,
    },
  ],
  'one address on a node': [
    {
      mutation: 'an address does not claim its node',
      spoil: (charts) => inChart('ip', (chart) => ({ ...chart, claims: (context) => ({ ...chart.claims(context), nodes: [] }) }))(charts),
      history: { ...CALM, pools: [[0], [1]] },
    },
  ],
  'never taken off': [
    {
      mutation: 'an address is detached from its former node before it is assigned to the next one',
      sabotage: () => {
        const assign = jobBodies.assign;
        vi.spyOn(jobBodies, 'assign').mockImplementation(async (context) => {
          const { input, progress, provider } = context;
          if (progress === null && input.holder !== null) await provider.unassignRoutedIP(input.address, write(context, 'failover'));
          return assign(context);
        });
      },
      history: { ...CALM, holders: [0, null, null, null], steps: [step(2_000, { kind: 'nodeFails', node: 0 })] },
    },
  ],
  spaced: [
    {
      mutation: 'the cool-off is counted from nowhere: the time of an assignment is not kept',
      spoil: inChart(
        'pool',
        action<PoolContext, Assigned>('noteAssigned', (context, event) => members.onAssigned(context, { ...event, moved: false })),
      ),
      history: { ...CALM, pools: [[0, 1]], coolOffSeconds: 10 },
    },
    {
      mutation: 'as many nodes are granted as can be had, whatever the cool-off',
      spoil: inChart('pool', (chart) => grants(unspaced)(guard<PoolContext>('canGrant', canGrantUnspaced)(chart))),
      history: { ...CALM, pools: [[0, 1]], coolOffSeconds: 10 },
    },
  ],
  'stays where it may': [
    {
      mutation: 'who holds an address is not looked at when nodes are granted',
      spoil: inChart(
        'pool',
        grants(({ members }) => ({
          members: Object.fromEntries(Object.entries(members).map(([address, member]) => [address, { ...member, holder: null }])),
        })),
      ),
      history: {
        ...CALM,
        holders: [0, null, null, null],
        steps: [step(2_000, { kind: 'moveByHand', address: 0, node: 1 }), wait(70_000)],
      },
    },
  ],
  'terms only grow': [
    {
      mutation: 'the store takes writes of a leader whose term is over',
      sabotage: inStore((store) => ({
        save: async (write) => store.save({ ...write, term: (await store.state()).term ?? write.term }),
      })),
      history: {
        ...CALM,
        callMs: [600, 600],
        steps: [
          step(3_300, { kind: 'start' }),
          step(1_000, { kind: 'deleteLease' }),
          step(1_200, { kind: 'nodeFails', node: 0 }),
          wait(5_000),
        ],
      },
    },
  ],
};

/** What is asked when a history is over: whether all is right, and whether an error was logged. By words of the answer, with a defect that leads to it. */
export const END_MUTATIONS: Mutations<string, History> = {
  'says no-match of 203.0.113.200, not active': [
    {
      mutation: 'a pool does not note that an address waits again once it has had a node',
      spoil: inChart(
        'pool',
        action<PoolContext, Ready>('noteReady', (context, event) =>
          context.members[event.address]?.node ? { context, effects: [] } : members.onReady(context, event),
        ),
      ),
      history: { ...CALM, steps: [step(2_000, { kind: 'nodeFails', node: 0 }), wait(1_000)] },
    },
  ],
  '203.0.113.200 is on foreign': [
    {
      mutation: 'what a complete list shows of an address is not compared with what is believed',
      spoil: inChart(
        'ip',
        guard('differs', () => false),
      ),
      history: { ...CALM, steps: [step(2_000, { kind: 'moveByHand', address: 0, node: 4 })] },
    },
  ],
  '203.0.113.200 is not annotated': [
    {
      mutation: 'the annotations of nodes are not written',
      sabotage: ({ cluster }) => {
        const { process } = cluster;
        vi.spyOn(cluster, 'process').mockImplementation(() => {
          const one = process();
          return { ...one, project: (projection) => one.project({ ...projection, annotated: {} }) };
        });
      },
      history: CALM,
    },
  ],
  'a claim is asked for again although it is known to be refused': [
    {
      mutation: 'a pool does not note that another one holds a node',
      spoil: inChart(
        'pool',
        action<PoolContext>('observeClaims', (context) => ({ context, effects: [] })),
      ),
      history: { ...CALM, nodes: 2, pools: [[0], [1]] },
    },
  ],
};
