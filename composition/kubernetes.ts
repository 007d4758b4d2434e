import { hostname } from 'node:os';
import type { PoolProjection } from '../actors/ports/cluster.ts';
import type { InventoryWriter } from '../actors/ports/inventory.ts';
import type { Leadership } from '../actors/ports/leadership.ts';
import type { LedgerStore } from '../actors/ports/ledger.ts';
import type { Log } from '../actors/ports/observers.ts';
import type { Clock } from '../actors/ports/records.ts';
import { CONTROLLERS, type Options } from '../adapters/cli/options.ts';
import { ownersOf } from '../adapters/kubernetes/cache/kinds.ts';
import { TIMINGS } from '../adapters/kubernetes/cache/reflector.ts';
import type { Connection } from '../adapters/kubernetes/client/connection.ts';
import { kubernetesLeadership } from '../adapters/kubernetes/election/leadership-factory.ts';
import { KubernetesNamespaces } from '../adapters/kubernetes/source/namespaces.ts';
import { KubernetesSource } from '../adapters/kubernetes/source/source.ts';
import { kubernetesInventory } from '../adapters/kubernetes/writer/inventory.ts';
import { kubernetesLedger } from '../adapters/kubernetes/writer/ledger.ts';
import { KubernetesWriter } from '../adapters/kubernetes/writer/writer.ts';
import { memoryLease } from '../adapters/memory/leadership.ts';
import { queryOf } from '../machines/model/matching.ts';

export interface KubernetesContext {
  readonly connection: Connection;
  /** Namespace of the Lease and of the ledger. */
  readonly namespace: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Receives what the cluster does not serve, and null once it does. */
  readonly waitsFor: (what: string | null) => void;
  /** Removes secrets from JSON. */
  readonly hide: (json: string) => string;
  /** Receives each written status. */
  readonly shown?: ((projection: PoolProjection) => void) | undefined;
}

export interface KubernetesParts {
  readonly leadership: Leadership;
  readonly source: KubernetesSource;
  readonly writer: KubernetesWriter;
  readonly ledger: LedgerStore;
  /** Absent when the inventory in the cluster may belong to another operator. */
  readonly inventoryWriter?: InventoryWriter;
  readonly namespaces: KubernetesNamespaces;
}

/** Watches and writes of one cluster, and its leader election. Sends no request yet. */
export function kubernetes(
  options: Options,
  { connection, namespace, clock, log, waitsFor, hide, shown }: KubernetesContext,
): KubernetesParts {
  // The Lease in the cluster may belong to an operator that this one only observes.
  const leadership = options.observe
    ? memoryLease(clock).contender(hostname())
    : kubernetesLeadership({
        connection,
        clock,
        log,
        namespace,
        elect: options.leaderElect,
        leaseDurationMs: options.leaseDuration,
        renewDeadlineMs: options.renewDeadline,
        retryPeriodMs: options.retryPeriod,
      });
  const { controllers = CONTROLLERS } = options;
  const nothing = `this cluster serves no ${ownersOf(controllers).join(', ')}: install the definitions in crds/`;
  const source = new KubernetesSource({
    controllers,
    connection,
    clock,
    log,
    random: Math.random,
    timings: TIMINGS,
    queryOf,
    served: (served) => {
      waitsFor(served ? null : nothing);
      if (!served) log.warn(`${nothing}; looks again every few seconds`);
    },
  });
  const writer = new KubernetesWriter({ connection, clock, log, random: Math.random, seen: source, instance: hostname(), shown });
  const namespaces = new KubernetesNamespaces({ connection, clock, log, random: Math.random, timings: TIMINGS });
  const ledger = kubernetesLedger(connection, namespace);
  const inventoryWriter = options.observe ? {} : { inventoryWriter: kubernetesInventory(connection, namespace, hide) };
  return { leadership, source, writer, ledger, namespaces, ...inventoryWriter };
}
