import { charts } from '../actors/controllers/chart-registry.ts';
import type { Log } from '../actors/ports/observers.ts';
import { DEFAULT_SETTINGS } from '../actors/ports/settings.ts';
import { Supervisor } from '../actors/supervisor.ts';
import { virtualClock } from '../adapters/memory/clock.ts';
import { type MemoryCluster, memoryCluster } from '../adapters/memory/cluster.ts';
import { memoryLease } from '../adapters/memory/leadership.ts';
import { memoryNamespaces } from '../adapters/memory/namespaces.ts';
import { memoryQueues } from '../adapters/memory/queues.ts';
import { memoryStore } from '../adapters/memory/store.ts';
import { queryOf } from '../machines/model/matching.ts';
import type { ObjectRef, ObservedService } from '../machines/model/types.ts';
import { isPolicy } from './manifest.ts';
import { newServices } from './new-services.ts';
import { keyOf, type Scene, type Snapshot, type Wish } from './stage.ts';
import { stageAccounts } from './stage-accounts.ts';
import { stageVips } from './stage-vips.ts';

/** Virtual time that passes before the change is applied, and after it: longer than any back-off and most cool-offs. */
const SETTLING_MS = 60_000;
export const REHEARSED_MS = 900_000;

const SILENT: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** Runs the operator itself on memory and virtual time, for the same time without `changes` and with them, and returns both end states: what it does by itself meanwhile is in
 *  both. Nothing outside this process is read or changed. */
export async function rehearse(
  scene: Scene,
  changes: readonly Wish[],
  now: number,
): Promise<{ readonly without: Snapshot; readonly applied: Snapshot }> {
  return { without: await endOf(scene, [], now), applied: await endOf(scene, changes, now) };
}

async function endOf(scene: Scene, changes: readonly Wish[], now: number): Promise<Snapshot> {
  const clock = virtualClock({ startAt: now });
  const cluster = memoryCluster({ queryOf });
  const accounts = stageAccounts(clock, scene);
  cluster.setNode(...scene.nodes);
  cluster.setPod(...scene.pods);
  const setService = (key: string, service: ObservedService): void => {
    const [namespace = '', name = ''] = key.split('/');
    cluster.setService(namespace, name, service);
  };
  for (const [key, service] of scene.services) setService(key, service);
  const setPolicy = ({ kind, namespace, name, spec }: Wish): void => void cluster.setPolicy({ kind, namespace, name, spec });
  for (const policy of scene.policies) setPolicy(policy);
  const refs = new Map<string, ObjectRef>();
  const put = ({ annotations, uid: _, ...wish }: Wish): void => {
    const ref = cluster.setPool(wish);
    refs.set(keyOf(wish), ref);
    if (annotations && Object.keys(annotations).length > 0) cluster.annotate(ref, annotations);
  };
  for (const wish of scene.wishes) put(wish);
  const vips = scene.vips && stageVips(clock, scene.vips, (key) => cluster.pool(refs.get(key) ?? NOBODY));
  for (const { uid = '', ...wish } of scene.wishes) vips?.isNow(uid, refs.get(keyOf(wish))?.uid ?? '');
  const namespaces = memoryNamespaces();
  for (const [name, labels] of scene.namespaces) namespaces.set(name, labels);
  const process = cluster.process();
  const seen = vips?.open();
  const supervisor = new Supervisor({
    charts: charts(DEFAULT_SETTINGS, () => accounts.addressesPerNode),
    store: memoryStore(),
    queues: memoryQueues(clock),
    clock,
    log: SILENT,
    probe: () => undefined,
    leadership: memoryLease(clock).contender('rehearsal'),
    source: process,
    writer: process,
    providers: accounts.providers,
    namespaces,
    observers: [],
    settings: DEFAULT_SETTINGS,
    ...(seen && { vips: { source: seen, writer: seen } }),
  });
  const snapshot = (): Snapshot => ({
    ...accounts.snapshot(),
    allocated: vips?.allocated() ?? new Map(),
    refusals: refusalsIn(cluster.announced),
    status: Object.fromEntries([...refs].map(([key, ref]) => [key, cluster.pool(ref)?.status ?? null])),
    conditions: Object.fromEntries([...refs].map(([key, ref]) => [key, cluster.conditions(ref)])),
  });
  void supervisor.start();
  await clock.advance(SETTLING_MS);
  // As if all were applied at once: a RoutedIP must not lack a class that follows it in the manifest.
  for (const change of changes.filter(isPolicy)) setPolicy(change);
  for (const change of changes) if (!isPolicy(change) && !vips?.apply(change)) put(change);
  for (const [key, service] of newServices(scene, changes)) setService(key, service);
  await clock.advance(REHEARSED_MS);
  return snapshot();
}

const NOBODY: ObjectRef = { kind: '', namespace: '', name: '', uid: '' };

/** The last Event of each Service, where that says that it does not get what it asks for. */
function refusalsIn(announced: MemoryCluster['announced']): ReadonlyMap<string, string> {
  const last = new Map(announced.map(({ about, event }) => [keyOf(about), event]));
  return new Map([...last].flatMap(([key, { type, reason, message }]) => (type === 'Warning' ? [[key, `${reason}: ${message}`]] : [])));
}
