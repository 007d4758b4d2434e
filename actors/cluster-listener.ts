import { actorOf, isRoutedIP } from '../machines/model/actor-id.ts';
import type { ActorId } from '../machines/model/types.ts';
import { policyName } from './controllers/class-cache.ts';
import type { Guards } from './controllers/finalizers.ts';
import type { ObservedPools } from './controllers/pool-cache.ts';
import { uidOf } from './controllers/pool-facts.ts';
import type { Leader } from './leadership/leader.ts';
import type { ClusterListener, ClusterWriter, PoolObject } from './ports/cluster.ts';
import type { ProviderDirectory } from './ports/directory.ts';
import type { PolicyProjector } from './status/classes.ts';
import type { Evacuations } from './status/evacuation.ts';
import type { projector } from './status/projector.ts';

export interface ListenerPorts {
  readonly pools: ObservedPools;
  readonly guards: Guards;
  readonly policies: Pick<PolicyProjector, 'request'>;
  readonly evacuations: Pick<Evacuations, 'observed'>;
  readonly projector: Pick<ReturnType<typeof projector>, 'hindered' | 'observed' | 'routedIPGone'>;
  readonly providers: Pick<ProviderDirectory, 'need'>;
  readonly writer: Pick<ClusterWriter, 'retract'>;
  /** Null while this process does not lead. */
  readonly leader: () => Leader | null;
}

/** Caches observed pools, RoutedIPs and their classes, and passes changes on to whatever depends on them. */
export function clusterListener({
  pools,
  guards,
  policies,
  evacuations,
  projector,
  providers,
  writer,
  leader,
}: ListenerPorts): ClusterListener {
  /** Its cell belongs to an earlier object of the same name. */
  const isWaiting = (ref: PoolObject['ref']): boolean => {
    const cell = leader()?.cells.get(actorOf(ref));
    return cell !== undefined && uidOf(actorOf(ref), cell.records) !== ref.uid;
  };
  const observeAgain = (ids: readonly ActorId[]): void => {
    for (const id of ids) {
      const pool = pools.all.get(id);
      if (pool) leader()?.observePool(pool);
    }
  };
  const policiesChanged = (ref: PoolObject['ref'], ...changed: readonly (PoolObject | undefined)[]): void => {
    providers.need(policyName(ref), pools.policies.needOf(ref));
    const ids = pools.policiesChanged(changed.filter((policy) => policy !== undefined));
    leader()?.policiesChanged(ids);
    policies.request();
  };
  return {
    poolObserved: (pool) => {
      const others = pools.put(pool);
      guards.see(pool);
      leader()?.observePool(pool);
      if (isRoutedIP(actorOf(pool.ref))) policies.request();
      observeAgain(others);
    },
    poolGone: (ref) => {
      const others = pools.remove(ref);
      // It was never begun, so no cell reports that it is gone.
      if (isWaiting(ref)) void writer.retract(ref, []);
      if (!pools.all.has(actorOf(ref))) leader()?.poolGone(actorOf(ref));
      observeAgain(others);
      if (!isRoutedIP(actorOf(ref))) return;
      projector.routedIPGone();
      policies.request();
    },
    policyObserved: (policy) => {
      const former = pools.policies.get(policy.ref);
      if (pools.policies.put(policy)) policiesChanged(policy.ref, former, policy);
      else policies.request();
    },
    policyGone: (ref) => {
      const former = pools.policies.get(ref);
      pools.policies.remove(ref);
      policiesChanged(ref, former);
    },
    hindered: (ref, why) => {
      pools.putHindrance(ref, why);
      projector.hindered(actorOf(ref));
    },
    machinesObserved: (machines) => {
      pools.machines = machines;
      leader()?.machinesChanged();
    },
    evacuationsObserved: (nodes) => evacuations.observed(nodes),
    clusterObserved: (ref, fact) => {
      pools.putFact(ref, fact);
      leader()?.observeCluster(actorOf(ref));
      projector.observed(actorOf(ref));
    },
  };
}
