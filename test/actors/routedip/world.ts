import type { Json } from '../../../actors/ports/records.ts';
import type { FirewallContext } from '../../../machines/firewall/context.ts';
import type {
  ObjectRef,
  ObservedEndpoint,
  ObservedNode,
  ObservedService,
  ObservedServicePort,
  ProviderID,
} from '../../../machines/model/types.ts';
import { RoutedRules } from '../../support/routed-rules.ts';
import { type OperatorProcess, PROVIDER, World, type WorldOptions } from '../../support/world.ts';

export const CLASS_NAME = 'digitalocean.com/floating-ip';
/** The firewall that classes of these tests name; it stands at the provider with a rule of somebody else. */
export const FIREWALL = 'edge';
export const SECOND = 1000;
export const MINUTE = 60 * SECOND;

export const endpoint = (node: string, change: Partial<ObservedEndpoint> = {}): ObservedEndpoint => ({
  node,
  ready: true,
  pod: null,
  ...change,
});

export const servicePort = (nodePort: number, change: Partial<ObservedServicePort> = {}): ObservedServicePort => ({
  name: `port-${nodePort}`,
  port: 80,
  protocol: 'TCP',
  targetPort: 80,
  nodePort,
  ...change,
});

/** A Service with a ready endpoint on each of the nodes, and one port that nodes listen on: 8080, outside of the range that the platform allows. */
export const service = (nodes: readonly string[], change: Partial<ObservedService> = {}): ObservedService => ({
  type: 'NodePort',
  hasSelector: true,
  ports: [servicePort(8080)],
  endpoints: nodes.map((name) => endpoint(name)),
  ...change,
});

/** RoutedIPs and their classes in a world in memory. */
export class RoutedWorld extends World {
  readonly rules: RoutedRules;

  constructor(options: WorldOptions = {}) {
    super(options);
    this.rules = new RoutedRules(this);
    this.provider.cloud.addFirewall(FIREWALL, ['tcp/22']);
  }

  /** A class that opens its ports in the firewall; say what is different. */
  setClass(change: { readonly [field: string]: Json } = {}, name = 'floating'): ObjectRef {
    const spec = { className: CLASS_NAME, region: 'nyc3', routedIPFirewallName: FIREWALL, ...change };
    return this.cluster.setPolicy({ kind: 'ClusterRoutedIPClass', name, spec });
  }

  /** A RoutedIP in namespace `web` for a Service of the same name. */
  setRoutedIP(name: string, change: { readonly [field: string]: Json } = {}): ObjectRef {
    const spec = { className: CLASS_NAME, serviceRef: { serviceName: name }, ...change };
    return this.cluster.setPool({ kind: 'RoutedIP', namespace: 'web', name, spec });
  }

  /** An administrator lets the issuers of a namespace use the operator's credentials. */
  openNamespace(name = 'web'): void {
    this.namespaces.set(name, { 'routedip.io/allow-operator-credentials': 'true' });
  }

  /** Nodes of the cluster, and the machines behind them. */
  setNode(...nodes: readonly ObservedNode[]): void {
    this.provider.cloud.addNode(...nodes.map(({ providerID }) => providerID as ProviderID));
    this.cluster.setNode(...nodes);
  }

  setWeb(name: string, nodes: readonly string[], change: Partial<ObservedService> = {}): void {
    this.cluster.setService('web', name, service(nodes, change));
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

  /** Runs until a condition of the object has the reason. */
  async untilReason(ref: ObjectRef, reason: string, type = 'Ready', withinMs = 30_000): Promise<number> {
    return this.clock.runUntil(() => this.reasonOf(ref, type) === reason, withinMs);
  }

  /** Has another term begin, as when another replica takes over. */
  async restart(process: OperatorProcess): Promise<OperatorProcess> {
    process.kill();
    const next = await this.start();
    await this.clock.runUntil(() => next.supervisor.leading, MINUTE);
    return next;
  }

  /** Runs until the RoutedIP is Stable, on the node when one is named. */
  async stable(ref: ObjectRef, on?: string, withinMs = 30_000): Promise<void> {
    await this.clock.runUntil(() => {
      const { state, assignedNode } = this.statusOf(ref);
      return state === 'Stable' && (on === undefined || assignedNode === on);
    }, withinMs);
  }

  /** The calls that changed something, in order, with what they were about. */
  changes(): readonly string[] {
    return this.provider.writes().map(({ verb }) => verb);
  }

  /** Every Event that was told of an object, oldest first. */
  eventsOf(ref: ObjectRef): readonly string[] {
    return this.cluster.projections
      .filter((projection) => projection.ref.uid === ref.uid)
      .flatMap(({ events }) => events.map(({ reason }) => reason));
  }

  firewall(name = FIREWALL): { readonly ports: readonly string[]; readonly nodes: readonly string[] } {
    const { ports = [], nodes = [] } = this.provider.cloud.findFirewall(name) ?? {};
    return { ports, nodes };
  }

  async leader(): Promise<OperatorProcess> {
    return this.start();
  }

  /** What the firewall knows of itself; null when nobody has claimed anything of it. */
  firewallRecord(name = FIREWALL): FirewallContext | null {
    const actor = `firewall/${PROVIDER}/${name}`;
    for (const { supervisor } of this.processes) {
      const record = supervisor.records().get(actor)?.get(actor);
      if (record) return record.snapshot.context as unknown as FirewallContext;
    }
    return null;
  }
}
