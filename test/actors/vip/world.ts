import { stateOf } from '../../../actors/controllers/record-view.ts';
import type { MemoryVipCluster } from '../../../adapters/memory/vip-cluster.ts';
import type { ProcessVips } from '../../../adapters/memory/vip-process.ts';
import type { StoredService, VipChange } from '../../../adapters/memory/vip-world.ts';
import type { VipContext } from '../../../machines/vip/decisions.ts';
import { VipRules } from '../../support/vip-rules.ts';
import { type Killer, type OperatorProcess, World, type WorldOptions } from '../../support/world.ts';

export const SECOND = 1000;

/** Services of type LoadBalancer in a world in memory. */
export class VipWorld extends World {
  /** What must hold at every moment. */
  readonly rules: VipRules;
  readonly #byHand: MemoryVipCluster;

  constructor({ vips, ...options }: WorldOptions = {}) {
    // The cluster is there before anything in it changes.
    const rules = new VipRules({ now: () => this.clock.monotonic(), cluster: () => this.k8s });
    const changed = (change: VipChange): void => {
      rules.changed(change);
      vips?.changed?.(change);
    };
    super({ ...options, vips: { ...vips, changed } });
    this.rules = rules;
    if (!this.vips) throw new Error('no Services are served here');
    this.#byHand = byHand(this.vips, rules);
  }

  /** Watches may take their time to tell what is there. */
  override async start(kills?: Killer): Promise<OperatorProcess> {
    let started: OperatorProcess | null = null;
    void super.start(kills).then((process) => {
      started = process;
    });
    await this.clock.runUntil(() => started !== null, 60 * SECOND);
    if (started === null) throw new Error('the process did not start');
    return started;
  }

  /** The cluster as that process sees it. @throws Error in a world without Services */
  vipsOf({ vips }: OperatorProcess): ProcessVips {
    if (!vips) throw new Error('no Services are served here');
    return vips;
  }

  /** The cluster, for people: what is changed through it is their doing. */
  get k8s(): MemoryVipCluster {
    return this.#byHand;
  }

  /** The addresses that the Service lists. */
  listed(name: string): readonly (string | null)[] {
    return this.#service(name)?.ingress.map(({ ip }) => ip) ?? [];
  }

  finalizers(name: string): readonly string[] {
    return this.#service(name)?.finalizers ?? [];
  }

  /** Address → `namespace/name` of its owner, of all IPs that stand. */
  reserved(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.k8s.ips().map(({ address, owner }) => [address, owner ? `${owner.namespace}/${owner.name}` : '']));
  }

  /** Waits until each of these Services lists exactly its address; answers the ms that passed. */
  untilListed(wanted: Readonly<Record<string, string>>, maxMs = 30 * SECOND): Promise<number> {
    return this.clock.runUntil(() => Object.entries(wanted).every(([name, address]) => this.listed(name).join() === address), maxMs);
  }

  untilGone(name: string, maxMs = 30 * SECOND): Promise<number> {
    return this.clock.runUntil(() => this.#service(name) === null, maxMs);
  }

  state(name: string): string | null {
    const snapshot = this.#snapshot(name);
    return snapshot ? stateOf(snapshot.value) : null;
  }

  context(name: string): VipContext | null {
    return (this.#snapshot(name)?.context as VipContext | undefined) ?? null;
  }

  /** Events about the Service, oldest first, as `Reason: message`. */
  told(name: string): readonly string[] {
    return this.cluster.announced.filter(({ about }) => about.name === name).map(({ event }) => `${event.reason}: ${event.message}`);
  }

  #service(name: string): StoredService | null {
    return this.k8s.service('default', name);
  }

  #snapshot(name: string): { readonly value: unknown; readonly context: unknown } | undefined {
    const id = `vip/default/${name}`;
    return this.processes.flatMap(({ supervisor }) => supervisor.records().get(id)?.get(id)?.snapshot ?? [])[0];
  }
}

/** Every call of it is somebody's hands. */
const byHand = (cluster: MemoryVipCluster, rules: VipRules): MemoryVipCluster =>
  new Proxy(cluster, {
    get: (target, name) => {
      const found: unknown = Reflect.get(target, name);
      return typeof found === 'function' ? (...given: readonly unknown[]) => rules.hands(() => Reflect.apply(found, target, given)) : found;
    },
  });
