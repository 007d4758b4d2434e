import { charts } from '../actors/controllers/chart-registry.ts';
import { DEFAULT_SETTINGS } from '../actors/ports/settings.ts';
import type { Chart, StoredSnapshot } from '../actors/runtime/charts.ts';
import { begin, type MachineEvent, step } from '../actors/runtime/step.ts';
import type { AddressInput } from '../machines/address/context.ts';
import type { Address, NodeRef, ProviderID } from '../machines/model/types.ts';
import type { Measured, Plan } from './scenario.ts';

const POOL = 'pool/default/ingress';
const ADDRESS = '203.0.113.1' as Address;

const nodes: readonly NodeRef[] = ['a', 'b'].map((name) => ({ name, providerID: `digitalocean://${name}` as ProviderID }));

const INPUT: AddressInput = {
  id: `${POOL}/ip/${ADDRESS}`,
  pool: POOL,
  provider: 'digitalocean',
  address: ADDRESS,
  origin: 'Found',
  observed: { address: ADDRESS, region: 'nyc3', providerID: null, locked: false },
};

/** A failover to `node`: granted, confirmed, and lost again. */
const failover = (node: NodeRef | undefined): readonly MachineEvent[] => [
  { type: 'NODE_GRANTED', at: 1, node, spaced: false },
  { type: 'xstate.done.actor.assign', at: 2, output: { providerID: node?.providerID } },
  { type: 'NODE_OBSERVED', at: 3, name: node?.name, eligible: false },
];

/** How many events the chart of an address takes a second, in one thread and without anything around it. */
export function transitions({ extent }: Plan): Promise<Measured> {
  const forMs = { full: 3_000, round: 1_500, quick: 500 }[extent];
  const chart = charts(DEFAULT_SETTINGS, () => 1).ip;
  if (chart === undefined) throw new Error('there is no chart of an address');
  const walk = nodes.flatMap(failover);
  proveMoves(chart, walk);
  const asItIs = (snapshot: StoredSnapshot): StoredSnapshot => snapshot;
  const asText = (snapshot: StoredSnapshot): StoredSnapshot => JSON.parse(JSON.stringify(snapshot)) as StoredSnapshot;
  return Promise.resolve({
    conditions: ['failovers of one address between two nodes, three events each, in one thread'],
    figures: [
      { what: 'transitions', value: rate(chart, walk, asItIs, forMs), unit: '/s' },
      { what: 'transitions with the snapshot through JSON each time', value: rate(chart, walk, asText, forMs), unit: '/s' },
    ],
  });
}

/** @throws Error when the walk does not lead where it should: then something else would be measured */
function proveMoves(chart: Chart, walk: readonly MachineEvent[]): void {
  let { snapshot } = begin(chart, INPUT);
  const states = walk.map((event) => {
    ({ snapshot } = step(chart, snapshot, event));
    return JSON.stringify(snapshot.value).replaceAll(/["{}]/g, '').split(':')[0];
  });
  const expected = ['Assigning', 'Stable', 'Unassigned', 'Assigning', 'Stable', 'Unassigned'];
  if (states.join() !== expected.join()) throw new Error(`the walk went ${states.join()} instead of ${expected.join()}`);
}

function rate(chart: Chart, walk: readonly MachineEvent[], through: (snapshot: StoredSnapshot) => StoredSnapshot, forMs: number): number {
  let { snapshot } = begin(chart, INPUT);
  const round = (): void => {
    for (const event of walk) snapshot = through(step(chart, snapshot, event).snapshot);
  };
  for (let warmUp = 0; warmUp < 500; warmUp += 1) round();
  const startedAt = performance.now();
  let rounds = 0;
  for (; performance.now() - startedAt < forMs; rounds += 1) round();
  return (rounds * walk.length * 1000) / (performance.now() - startedAt);
}
