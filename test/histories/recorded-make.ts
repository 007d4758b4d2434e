import { charts } from '../../actors/controllers/chart-registry.ts';
import { DEFAULT_SETTINGS } from '../../actors/ports/settings.ts';
import { SCENARIOS } from '../actors/crash/scenarios.ts';
import { Simulation } from '../simulation/run.ts';
import { ofPools, type ShortPools } from '../simulation/short.ts';
import { node, World } from '../support/world.ts';
import { type Journal, newestSet, openSet, readSet, writeSet } from './recorded-files.ts';
import { Recorder, type Recording } from './recorded-journal.ts';
import { changedMeanings } from './recorded-meaning.ts';
import { names } from './recorded-names.ts';
import { ROUTED_RECORDINGS } from './recorded-routed.ts';
import { VIP_RECORDINGS } from './recorded-vips.ts';

const scenario =
  (name: string, before: (world: World) => void = () => {}): Recording =>
  async (options, begin) => {
    const given = SCENARIOS.find((each) => each.name === name);
    if (!given) throw new Error(`there is no scenario ${name}`);
    const world = new World({ ...given.options, ...options });
    begin(world);
    before(world);
    const ref = given.before(world);
    await world.start();
    const { ready } = given;
    if (ready) await world.clock.runUntil(() => ready(world, ref), 60_000);
    given.begin(world, ref);
    await world.clock.runUntil(() => given.isOver(world, ref), given.withinMs);
  };

const play =
  (history: Partial<ShortPools>): Recording =>
  async (options, begin) => {
    const played = new Simulation(ofPools({ ...CALM, ...history }), options);
    begin(played.world);
    await played.run();
  };

/** Nobody knows whether an address was created when its pool goes, and the first list that is to tell fails. */
const deletedWhileCreating: Recording = async (options, begin) => {
  const world = new World(options);
  begin(world);
  const { clock, cluster, invariants, provider } = world;
  world.nodes(node('a'));
  provider.faults.next('createRoutedIP', { kind: 'loseReply' });
  const ref = world.pool('ingress', { desiredIPs: 1 });
  await world.start();
  await clock.runUntil(() => provider.writes().some(({ verb }) => verb === 'createRoutedIP'), 30_000);
  provider.faults.next('listRoutedIPs', { kind: 'refuse', error: 'Unavailable' });
  cluster.removePool(ref);
  await clock.runUntil(() => ![...invariants.records.keys()].some((actor) => actor.startsWith('pool/')), 120_000);
};

const CALM: ShortPools = {
  nodes: 2,
  pools: [[0]],
  holders: [null, null, null, null],
  coolOffSeconds: 0,
  actionMs: [300, 300],
  callMs: [20, 20],
  seed: 1,
  steps: [],
};

/** What is recorded, by the name of its file. */
export const RECORDINGS: Readonly<Record<string, Recording>> = {
  'first-assignment': scenario('first assignment'),
  'failover-while-cool-off': scenario('failover while cool-off'),
  'verification-with-drift': scenario('verification with drift'),
  'failover-after-a-grace': scenario('failover after a grace'),
  retire: scenario('retire'),
  'pool-deletion': scenario('pool deletion'),
  creation: scenario('creation', ({ provider }) => {
    provider.faults.next('createRoutedIP', { kind: 'refuse', error: 'Invalid' });
    provider.faults.next('createRoutedIP', { kind: 'loseReply' });
  }),
  'deleted-while-creating': deletedWhileCreating,
  names: async (options, begin) => {
    const world = new World({ ...options, settings: { verifyEveryMs: 20_000 } });
    begin(world);
    await names(world);
  },
  'restart-with-an-assign-in-doubt': play({
    steps: [
      { afterMs: 0, what: { kind: 'fault', verb: 'assignRoutedIP', fault: { kind: 'loseReply' }, times: 1 } },
      { afterMs: 500, what: { kind: 'killAll' } },
      { afterMs: 0, what: { kind: 'deleteLease' } },
      { afterMs: 0, what: { kind: 'start' } },
      { afterMs: 20_000, what: { kind: 'nodeFails', node: 0 } },
    ],
  }),
  'node-lost-with-an-assign-in-doubt': play({
    steps: [
      { afterMs: 0, what: { kind: 'fault', verb: 'assignRoutedIP', fault: { kind: 'hang' }, times: 1 } },
      { afterMs: 1_000, what: { kind: 'nodeFails', node: 0 } },
      { afterMs: 60_000, what: { kind: 'nodeRecovers', node: 0 } },
    ],
  }),
  'deleted-by-hand': play({
    steps: [
      { afterMs: 2_000, what: { kind: 'deleteByHand', address: 0 } },
      { afterMs: 70_000, what: { kind: 'restoreByHand', address: 0 } },
      { afterMs: 70_000, what: { kind: 'breakSpec', pool: 0 } },
    ],
  }),
  ...ROUTED_RECORDINGS,
  ...VIP_RECORDINGS,
};

/** Records one of them anew. */
export async function record(name: string): Promise<Journal> {
  const recording = RECORDINGS[name];
  if (!recording) throw new Error(`there is no recording ${name}`);
  const recorder = new Recorder();
  let settings: Journal['settings'] = {};
  let faults: () => readonly unknown[] = () => [];
  await recording({ spoil: recorder.listen }, (world) => {
    faults = () => world.faults();
    const { backoff, callDeadlineMs, verifyEveryMs } = world.settings;
    settings = { backoff, callDeadlineMs, verifyEveryMs };
    recorder.watch(world);
  });
  const [fault] = faults();
  if (fault) throw new Error(`what ${name} shows must never be: ${JSON.stringify(fault)}`);
  return { settings, lines: recorder.lines };
}

/** Writes those with these names, or all of them: over the newest set, or into a new one when a chart's version was raised since. */
async function recordAll(anyway: boolean, names: readonly string[]): Promise<void> {
  const newest = newestSet();
  const former = newest === null ? new Map<string, Journal>() : readSet(newest);
  const fresh = new Map<string, Journal>();
  for (const name of new Set([...Object.keys(RECORDINGS), ...names])) {
    const kept = names.length === 0 || names.includes(name) ? undefined : former.get(name);
    fresh.set(name, kept ?? (await record(name)));
  }
  const changed = changedMeanings(
    [...former.values()],
    [...fresh.values()],
    charts(DEFAULT_SETTINGS, () => 1),
  );
  if (changed.length > 0 && !anyway) {
    console.error(`Records that are stored mean something else by now:\n  ${changed.join('\n  ')}`);
    console.error(
      'Raise the version of the chart in actors/controllers/chart-registry.ts and write `migrate`; or run with --anyway while no release stored any.',
    );
    process.exitCode = 1;
    return;
  }
  const set = openSet(newest, former, fresh);
  console.log(`${writeSet(set, fresh)} bytes in ${fresh.size} files of test/histories/recorded/${set}`);
}

if (import.meta.main) {
  const words = process.argv.slice(2);
  await recordAll(
    words.includes('--anyway'),
    words.filter((word) => word !== '--anyway'),
  );
}
