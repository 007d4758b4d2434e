import { expect, test } from 'vitest';
import { intern } from '../../../../adapters/kubernetes/cache/intern.ts';
import { trimNode } from '../../../../adapters/kubernetes/cache/trim.ts';
import type { KubernetesSimulator } from '../../../../simulator/kubernetes/server.ts';
import { waitFor } from '../../../support/wait-for.ts';
import {
  addNode,
  addPod,
  connected,
  deletePod,
  nodeRef,
  poolObject,
  Recorder,
  recordedLog,
  setReady,
  simulated,
  sourceOn,
} from '../support.ts';

/** More than two pages of a list. */
const STEADY = 1_100;
const STARTS = 12;
const SELECTORS = { match: { nodeLabel: 'color=blue', podLabel: 'app=web' } };

const named = (index: number): string => `steady-${String(index).padStart(4, '0')}`;
const served = (simulator: KubernetesSimulator, name: string): void => {
  addNode(simulator, name, { labels: { color: 'blue' } });
  addPod(simulator, { name: `pod-${name}`, node: name, labels: { app: 'web' } });
};

/** Changes the cluster between any two steps of whoever else runs, until it is told to stop: what comes, goes, turns NotReady, and comes back. */
function unrest(simulator: KubernetesSimulator) {
  const brief: string[] = [];
  let round = 0;
  let goesOn = false;
  const step = (): void => {
    if (!goesOn) return;
    round += 1;
    const name = `brief-${round}`;
    served(simulator, name);
    const [oldest] = brief.push(name) > 5 ? brief.splice(0, 1) : [];
    if (oldest !== undefined) {
      simulator.store.delete(nodeRef(oldest));
      deletePod(simulator, `pod-${oldest}`);
    }
    setReady(simulator, named(round % STEADY), round % 2 === 0);
    setImmediate(step);
  };
  return {
    rounds: () => round,
    begin: () => {
      goesOn = true;
      setImmediate(step);
    },
    end: () => {
      goesOn = false;
    },
  };
}

/** FLIPOP walked over its nodes while its handlers changed them, and crashed in every fifth start with a thousand nodes. */
test('a source that starts in a large cluster that changes all the while tells nothing before it knows all, and then the truth', async () => {
  const simulator = await simulated();
  for (let index = 0; index < STEADY; index += 1) served(simulator, named(index));
  simulator.store.create(poolObject('pool', SELECTORS));
  const shared = intern();
  const changes = unrest(simulator);
  for (let start = 1; start <= STARTS; start += 1) {
    const log = recordedLog();
    const source = sourceOn(connected(simulator.kubeconfig()), { log });
    const partial: string[] = [];
    const seen = new (class extends Recorder {
      override clusterObserved(...told: Parameters<Recorder['clusterObserved']>): void {
        super.clusterObserved(...told);
        const steady = (texts: readonly string[] | null) => texts?.filter((text) => text.includes('steady-')).length;
        const known = [steady(this.nodes()), steady(this.serving())];
        if (known.some((count) => count !== STEADY)) partial.push(`start ${start}: ${known}`);
      }
    })();
    const before = changes.rounds();
    changes.begin();
    await source.start(seen);
    const heard = seen.count('fact pool');
    await waitFor('changes are heard of', () => seen.count('fact pool') > heard + 10);
    changes.end();
    expect(changes.rounds()).toBeGreaterThan(before + 10);
    const names = () =>
      simulator.store
        .list('v1', 'Node')
        .map((node) => trimNode(node, shared)?.value.node)
        .map((node) => `${node?.ready ? '' : '!'}${node?.name}`)
        .sort();
    await waitFor('all is known', () => JSON.stringify([...(seen.nodes() ?? [])].sort()) === JSON.stringify(names()));
    expect(partial).toEqual([]);
    expect(log.lines.filter((line) => /^(warn|error)/.test(line))).toEqual([]);
    await source.close();
  }
  const pages = simulator.requests.filter(({ path, query }) => path.endsWith('/nodes') && query.includes('continue='));
  expect(pages.length).toBeGreaterThanOrEqual(2 * STARTS);
});
