import type { Json } from '../../actors/ports/records.ts';
import { MemoryJobs } from '../../adapters/memory/job-driver.ts';
import { memoryQueues } from '../../adapters/memory/queues.ts';
import { seededRandom } from '../../adapters/memory/random.ts';
import type { MemoryVipCluster } from '../../adapters/memory/vip-cluster.ts';
import type { ProcessVips } from '../../adapters/memory/vip-process.ts';
import type { VipChange } from '../../adapters/memory/vip-world.ts';
import type { Address, ObjectRef } from '../../machines/model/types.ts';
import { RoutedRules } from '../support/routed-rules.ts';
import { VipRules } from '../support/vip-rules.ts';
import { VirtualRules } from '../support/virtual-rules.ts';
import { type Killer, type OperatorProcess, World, type WorldOptions } from '../support/world.ts';
import type { History } from './history.ts';
import { CloudPlatform } from './job-platform.ts';

/** How long a process may take to start, virtual ms: watches take their time to tell what is there. */
const STARTS_WITHIN_MS = 60_000;

/** So many addresses no namespace ever has: in every other history each creation waits to be told that there is room, and always is. */
const MANY = 1000;

/** The rules of Services with addresses of IPGroups, and of VirtualIPs. */
interface ServiceRules {
  readonly vips: VipRules;
  /** Null in a history without VirtualIPs. */
  readonly virtualIPs: VirtualRules | null;
}

/** Everything outside the operator that a history needs, on one virtual clock, and the rules of every moment. What no domain of the history looks at is not there. */
export class SimulationWorld extends World {
  /** Those that stand by run jobs, too. */
  override readonly queues = memoryQueues(this.clock, { inTurn: true });
  /** Null in a history without RoutedIPs. */
  readonly routedRules: RoutedRules | null;
  /** Those of the class; null where none drive it. */
  readonly jobs: MemoryJobs<CloudPlatform> | null;
  /** Processes go on in memory while the store is away. */
  readonly isAway: boolean;
  readonly #services: ServiceRules | null;
  #started = 0;

  constructor(history: History, options: WorldOptions = {}) {
    const random = seededRandom(history.seed);
    const { perNode, routed, actionMs, callMs, firewallMs, api } = history;
    // What Jobs drive is another platform to the operator, which counts by itself what a node holds.
    const onNode = routed?.jobs ? 2 * perNode : perNode;
    // The cluster is there before anything in it changes.
    const services = api
      ? serviceRules(
          history,
          () => this.clock.monotonic(),
          () => this.k8s,
        )
      : null;
    const changed = (change: VipChange): void => {
      services?.vips.changed(change);
      services?.virtualIPs?.changed(change);
    };
    const vips = api && {
      ...{ callMs: api.callMs, watchMs: api.watchMs, wipesIngress: api.wipesIngress, random: seededRandom(history.seed) },
      virtualIPs: history.virtualIPs !== undefined,
      changed,
    };
    const away = options.away ?? history.away ?? false;
    super({
      ...options,
      away,
      facts: { addressesPerNode: perNode },
      provider: { actionMs, callMs, firewallMs, random, addressesPerNode: onNode },
      settings: {
        verifyEveryMs: 60_000,
        ...(history.editLooks && { editLooksAtLeastMs: 5_000 }),
        maxAddressesPerNamespace: history.seed % 2 === 0 ? MANY : null,
        ...(history.adopt && { adopt: history.adopt }),
        ...options.settings,
      },
      ...(vips && { vips }),
    });
    this.isAway = away;
    this.#services = services;
    const jobs = history.routed?.jobs && { ...history.routed.jobs, random: seededRandom(history.seed) };
    this.jobs = jobs ? new MemoryJobs(this.clock, jobs, new CloudPlatform(this)) : null;
    this.routedRules = history.routed ? new RoutedRules(this) : null;
  }

  /** Where Services are watched that takes time. */
  override async start(kills?: Killer): Promise<OperatorProcess> {
    this.#started += 1;
    if (!this.vips) return super.start(kills);
    let started: OperatorProcess | null = null;
    void super.start(kills).then((process) => {
      started = process;
    });
    await this.clock.runUntil(() => started !== null, STARTS_WITHIN_MS);
    if (started === null) throw new Error('the process did not start');
    return started;
  }

  /** Processes end by what happens to them here, never by a job: one that so many of them may have run as it has lost is rightly given up, and tried again. */
  override faults(): readonly unknown[] {
    const ended = this.#started - this.processes.length;
    const isDue = ({ message, fields }: (typeof this.log)[number]): boolean =>
      message.startsWith('a job is given up') && (fields as { readonly count: number }).count <= ended;
    return this.log.filter((entry) => entry.level === 'error' && !isDue(entry));
  }

  /** Services, IPGroups, IPs and VirtualIPs. @throws Error in a history without */
  get k8s(): MemoryVipCluster {
    if (!this.vips) throw new Error('no Services are served here');
    return this.vips;
  }

  /** @throws Error in a history without Services */
  get serviceRules(): ServiceRules {
    if (!this.#services) throw new Error('no Services are served here');
    return this.#services;
  }

  vipsOf({ vips }: OperatorProcess): ProcessVips {
    if (!vips) throw new Error('no Services are served here');
    return vips;
  }

  /** What people do to Services, IPGroups, IPs and VirtualIPs breaks no rule. `interferes`: they put their hands on what a VirtualIP serves. */
  hands<T>(act: () => T, { interferes = false } = {}): T {
    const { vips, virtualIPs } = this.serviceRules;
    const byHand = (): T => vips.hands(act);
    return virtualIPs ? virtualIPs.hands(interferes, byHand) : byHand();
  }

  statusOf(ref: ObjectRef): { readonly [field: string]: Json } {
    return (this.cluster.pool(ref)?.status ?? {}) as { readonly [field: string]: Json };
  }

  reasonOf(ref: ObjectRef, type = 'Ready'): string {
    return this.cluster.conditions(ref).find((condition) => condition.type === type)?.reason ?? '';
  }

  messageOf(ref: ObjectRef, type = 'Ready'): string {
    return this.cluster.conditions(ref).find((condition) => condition.type === type)?.message ?? '';
  }

  /** Node that holds the address at the provider; null for none, and for an address that is not there. */
  holderIfAny(address: Address): string | null {
    return this.provider.cloud.addresses().some((each) => each.address === address) ? this.holderOf(address) : null;
  }

  get leader(): OperatorProcess | undefined {
    return this.processes.find(({ supervisor }) => supervisor.leading);
  }
}

function serviceRules({ virtualIPs }: History, now: () => number, cluster: () => MemoryVipCluster): ServiceRules {
  const vips = new VipRules({ now, cluster });
  vips.migrates = virtualIPs !== undefined;
  return { vips, virtualIPs: virtualIPs ? new VirtualRules({ now, cluster }) : null };
}
