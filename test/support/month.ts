import { firewallOf, isFirewall } from '../../machines/model/actor-id.ts';
import { secretKey } from '../../machines/model/provider-key.ts';
import type { ObjectRef, ObservedService, ProviderID } from '../../machines/model/types.ts';
import { node, type OperatorProcess, PROVIDER, World, type WorldOptions } from './world.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
export const DAY = 24 * 60 * MINUTE;

const ZONE = 'example.com';
const FIREWALL = 'edge';
/** What stays is called so. */
const STANDING = 'stays';

/** What is stored and grows with what has been, counted. */
export interface Stored {
  readonly cells: number;
  readonly records: number;
  readonly commands: number;
  /** Senders of which cells remember what they heard last. */
  readonly senders: number;
  readonly transitions: number;
  readonly claims: number;
  readonly queues: number;
  readonly jobs: number;
}

/** A world in which objects of all kinds come and go, with all that they need: nodes, accounts, firewalls, names. What stays is one of each kind. */
export class Month extends World {
  #day = 0;
  #process: OperatorProcess | null = null;
  readonly #standing: ObjectRef[] = [];

  constructor(options: WorldOptions = {}) {
    super({ away: true, vips: { virtualIPs: true }, ...options });
  }

  get process(): OperatorProcess {
    if (!this.#process) throw new Error('nobody leads yet');
    return this.#process;
  }

  /** One of each kind that stays, and a leader. */
  async begin(): Promise<void> {
    this.provider.cloud.addZone(ZONE);
    this.vips?.setGroup('group', { segment: '192.0.2.0/24', excludedIPs: [] });
    this.vips?.virtualIPs.setMapping('mapping', { segment: '198.51.100.0/29', keepalivedGroup: 'mapping' });
    await this.#lead();
    this.nodes(...this.#nodesOf(STANDING));
    this.#create(STANDING, FIREWALL, this.#standing);
    await this.#served(STANDING, this.#standing);
  }

  /** A day, or as much of one as given, on which one of each kind comes, loses its node, is led by somebody else, and goes. */
  async day(lastsMs = DAY): Promise<void> {
    const endsAt = this.clock.monotonic() + lastsMs;
    this.#day += 1;
    const [name, refs] = [`day-${this.#day}`, [] as ObjectRef[]];
    this.nodes(...this.#nodesOf(name));
    const key = secretKey(PROVIDER, 'web', name);
    this.#accounts.add(key);
    this.#know(this.process);
    this.#create(name, name, refs);
    await this.#served(name, refs);
    await this.#fail(name);
    await this.#change();
    await this.#served(name, refs);
    await this.#remove(name, refs);
    this.#accounts.delete(key);
    this.process.providers.set(key, null);
    await this.clock.advance(endsAt - this.clock.monotonic());
    if (this.invariants.violations.length > 0) throw new Error(JSON.stringify(this.invariants.violations[0]));
    this.#forgetHistory();
  }

  async stored(): Promise<Stored> {
    const { cells, claims } = this.store.checkpoint().data;
    const all = [...cells.values()];
    const sum = (counts: readonly number[]): number => counts.reduce((one, other) => one + other, 0);
    const queues = await this.queues.names();
    return {
      cells: cells.size,
      records: sum(all.map(({ records }) => records.size)),
      commands: sum(all.map(({ outbox }) => outbox.size)),
      senders: sum(all.map(({ seen }) => seen.size)),
      transitions: sum(all.map(({ journal }) => journal.length)),
      claims: sum([...claims.values()].map((nodes) => nodes.size)),
      queues: queues.length,
      jobs: sum(queues.map((name) => this.queues.jobs(name).length)),
    };
  }

  /** The cells that are stored, by name. */
  cells(): readonly string[] {
    return [...this.store.checkpoint().data.cells.keys()].sort();
  }

  /** Firewalls of which something is stored. */
  firewalls(): readonly string[] {
    return this.cells().flatMap((id) => (isFirewall(id) ? [firewallOf(id).name] : []));
  }

  // ---------------------------------------------------------------- what comes and goes

  readonly #accounts = new Set<string>();

  #nodesOf(name: string) {
    return ['a', 'b', 'c', 'd', 'e'].map((each) => node(`${name}-${each}`, { externalIPs: ['203.0.113.200'] as never }));
  }

  #create(name: string, firewall: string, refs: ObjectRef[]): void {
    const nodes = this.#nodesOf(name).map((each) => each.name);
    this.provider.cloud.addFirewall(firewall, ['tcp/22']);
    const spec = { region: 'nyc3', routedIPFirewallName: firewall, routedIPReclaimPolicy: 'Delete' };
    // Only a class whose Jobs do all of it has a name of its own.
    const className = name === STANDING ? 'digitalocean.com/floating-ip' : `example.com/${name}`;
    const issuer = { issuerClass: 'digitalocean', fromSecretsRef: name === STANDING ? [] : [{ name }], ...spec };
    this.namespaces.set('web', { 'routedip.io/allow-operator-credentials': 'true' });
    this.#policies.push(
      this.cluster.setPolicy({ kind: 'ClusterRoutedIPClass', name, spec: { className, ...spec } }),
      this.cluster.setPolicy({ kind: 'RoutedIPIssuer', namespace: 'web', name, spec: issuer }),
    );
    const servedBy = { [name]: { className: 'digitalocean.com/floating-ip' }, [`own-${name}`]: { issuerRef: { name } } };
    for (const [each, by] of Object.entries(servedBy)) {
      this.cluster.setService('web', each, serviceOn(nodes));
      const routed = { ...by, serviceRef: { serviceName: each } };
      refs.push(this.cluster.setPool({ kind: 'RoutedIP', namespace: 'web', name: each, spec: routed }));
    }
    const dnsRecordSet = { zone: ZONE, recordName: name };
    refs.push(this.pool(name, { desiredIPs: 1, ips: [], dnsRecordSet }));
    const set = { match: { nodeLabel: 'pool=work' }, dnsRecordSet: { zone: ZONE, recordName: `nodes-${name}` } };
    refs.push(this.cluster.setPool({ kind: 'NodeDNSRecordSet', name, spec: set }));
    const ports = { ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 }], selector: { app: 'web' } };
    this.#services.set(name, this.#vips.setService({ name }));
    this.#vips.setService({ name: `legacy-${name}`, type: 'ClusterIP', more: { labels: {}, annotations: {}, owners: [], spec: ports } });
    this.#vips.virtualIPs.set({ name, service: `legacy-${name}` });
  }

  readonly #policies: ObjectRef[] = [];
  readonly #services = new Map<string, ObjectRef>();

  get #vips() {
    if (!this.vips) throw new Error('no Services are served here');
    return this.vips;
  }

  async #served(name: string, refs: readonly ObjectRef[]): Promise<void> {
    const stateOf = (ref: ObjectRef): string => {
      const { state, ips } = (this.cluster.pool(ref)?.status ?? {}) as { state?: string; ips?: Record<string, { state: string }> };
      return (
        state ??
        Object.values(ips ?? {})
          .map((ip) => ip.state)
          .join()
      );
    };
    const states = (): readonly string[] => [
      ...refs.map((ref) => `${ref.kind} ${ref.name} ${stateOf(ref)}`),
      `Service ${this.#vips.service('default', name)?.ingress.length ? 'active' : 'waits'}`,
      `VirtualIP ${this.#vips.virtualIPs.find(name)?.status.state}`,
    ];
    const isServed = (text: string): boolean => /(?:Stable|active|Valid)$/.test(text);
    await this.clock
      .runUntil(() => states().every(isServed), 30 * MINUTE)
      .catch((cause: unknown) => {
        throw new Error(`not served: ${states().filter((text) => !isServed(text))}`, { cause });
      });
  }

  /** Two of its nodes are lost, one after the other, and come back. */
  async #fail(name: string): Promise<void> {
    for (const each of this.#nodesOf(name).slice(0, 2)) {
      this.cluster.setNode({ ...each, ready: false });
      await this.clock.advance(2 * MINUTE);
      this.cluster.setNode(each);
      await this.clock.advance(MINUTE);
    }
  }

  /** Another process leads, or the store is another one, or is away for a while, in turns. */
  async #change(): Promise<void> {
    const turn = this.#day % 4;
    if (turn === 0) this.store.restart();
    else if (turn === 1) await this.process.stop();
    else if (turn === 2) this.process.kill();
    else {
      this.store.goDown();
      this.queues.goDown();
      await this.clock.advance(20 * SECOND);
      this.store.comeBack();
      this.queues.comeBack();
    }
    if (this.process.dead) await this.#lead();
    await this.clock.advance(MINUTE);
  }

  async #remove(name: string, refs: readonly ObjectRef[]): Promise<void> {
    const isGone = (ref: ObjectRef): boolean => this.cluster.pool(ref) === null;
    for (const ref of refs) {
      if (ref.kind === 'RoutedIP') this.cluster.markDeleting(ref);
      else this.cluster.removePool(ref);
    }
    const service = this.#services.get(name);
    if (service) this.#vips.deleteService(service);
    this.#services.delete(name);
    this.#vips.virtualIPs.remove(name);
    await this.clock.runUntil(() => refs.every(isGone) && this.#vips.service('default', name) === null, 30 * MINUTE);
    await this.clock.runUntil(() => this.#vips.virtualIPs.find(name) === null, 30 * MINUTE);
    for (const each of ['', 'own-']) this.cluster.setService('web', `${each}${name}`, null);
    const legacy = this.#vips.service('default', `legacy-${name}`);
    if (legacy) this.#vips.deleteService(legacy.ref);
    for (const ref of this.#policies.filter((policy) => policy.name === name)) this.cluster.removePolicy(ref);
    for (const each of this.#nodesOf(name)) {
      this.cluster.removeNode(each.name);
      this.provider.cloud.removeNode(each.providerID as ProviderID);
    }
    await this.clock.advance(MINUTE);
    // What the reclaim policy of a pool leaves in the account.
    for (const { address, providerID } of this.provider.cloud.list()) if (providerID === null) this.provider.cloud.delete(address);
  }

  async #lead(): Promise<void> {
    const process = await this.start();
    this.#process = process;
    this.#know(process);
    await this.clock.runUntil(() => process.supervisor.leading, 5 * MINUTE);
  }

  #know({ providers }: OperatorProcess): void {
    for (const key of this.#accounts) if (!providers.all[key]) providers.set(key, { facts: this.facts, provider: this.provider.process() });
  }

  /** What the world itself has noted for tests that look at it: no part of what is measured. */
  #forgetHistory(): void {
    const { projections, announced } = this.cluster;
    for (const list of [
      projections,
      announced,
      this.provider.calls,
      this.invariants.turns,
      this.invariants.repeats,
      this.log,
      this.#policies,
    ])
      (list as unknown[]).length = 0;
    (this.#vips.writes as unknown[]).length = 0;
  }
}

const serviceOn = (nodes: readonly string[]): ObservedService => ({
  type: 'NodePort',
  hasSelector: true,
  ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 80, nodePort: 8080 }],
  endpoints: nodes.map((name) => ({ node: name, ready: true, pod: null })),
});
