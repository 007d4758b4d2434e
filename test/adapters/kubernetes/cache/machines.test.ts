import { expect, test } from 'vitest';
import { systemClock } from '../../../../adapters/system/clock.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { addNode, connected, nodeRef, poolObject, Recorder, recordedLog, setReady, simulated, sourceOn } from '../support.ts';

test('the machines behind all nodes are told, whatever pools select, before any fact, and again when they are others', async () => {
  const simulator = await simulated();
  addNode(simulator, 'a', { labels: { color: 'blue' } });
  addNode(simulator, 'b', { dropletID: 2 });
  const pool = poolObject('pool', { match: { nodeLabel: 'color=blue' } });
  simulator.store.create(pool);
  const seen = new Recorder();
  const told: string[][] = [];
  seen.machinesObserved = (machines) => {
    if (told.length === 0) expect(seen.count('fact')).toBe(0);
    told.push([...machines].map((each) => each.join(' ')).sort());
  };
  await sourceOn(connected(simulator.kubeconfig()), { log: recordedLog(), clock: systemClock() }).start(seen);
  expect(told).toEqual([['digitalocean://1 a', 'digitalocean://2 b']]);
  setReady(simulator, 'a', false);
  await waitFor('a is not ready', () => seen.nodes()?.includes('!a') === true);
  expect(told).toHaveLength(1);
  simulator.store.delete(nodeRef('b'));
  await waitFor('b is gone', () => told.length === 2);
  expect(told[1]).toEqual(['digitalocean://1 a']);
});
