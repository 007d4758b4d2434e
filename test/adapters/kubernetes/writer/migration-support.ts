import { virtualIPChart } from '../../../../actors/controllers/migration-chart.ts';
import { migrationJobBodies } from '../../../../actors/jobs/migration.ts';
import { runVipJob, type VipMeans } from '../../../../actors/jobs/vip-queue.ts';
import { failureOf, Unreachable } from '../../../../actors/ports/errors.ts';
import type { Fence } from '../../../../actors/ports/fence.ts';
import { begin, type MachineEvent, type Step, step } from '../../../../actors/runtime/step.ts';
import { ipIn, serviceIn, virtualIPIn } from '../../../../adapters/kubernetes/client/migration-objects.ts';
import { KubernetesMigrationWriter } from '../../../../adapters/kubernetes/writer/migration-writer.ts';
import type { VirtualIPContext } from '../../../../machines/migration/decisions.ts';
import type { MigrationJobName } from '../../../../machines/migration/jobs.ts';
import { cloneOfVirtualIP, surroundingsOf } from '../../../../machines/migration/observe.ts';
import { isOvertaken } from '../../../../machines/migration/phase.ts';
import { FLIPOP_BACKOFF } from '../../../../machines/model/backoff.ts';
import type { ObjectEvent } from '../../../../machines/model/types.ts';
import { virtualIPEvents, virtualIPStatus } from '../../../../machines/status/virtual-ip.ts';
import type { VirtualIPStatus } from '../../../../machines/vip/virtualip.ts';
import type { Json, JsonObject, KubeObject } from '../../../../simulator/kubernetes/objects.ts';
import { TestFence } from '../../../contracts/vip-harness.ts';
import { connected, simulated } from '../support.ts';

const PAAS = 'paas.org/v1';
const NAMESPACE = 'default';
const CRDS = ['crds/ipgroups.yaml', 'crds/ips.yaml', 'crds/legacy/virtualips.yaml', 'crds/legacy/groupsegmentmappings.yaml'];
const chart = virtualIPChart({ backoff: FLIPOP_BACKOFF });

const refOf = (kind: string, name: string) =>
  kind === 'Service' ? { apiVersion: 'v1', kind, name, namespace: NAMESPACE } : { apiVersion: PAAS, kind, name, namespace: NAMESPACE };

export interface ClusterOptions {
  /** Legacy installs without any IPGroup have none yet. */
  readonly groups?: boolean;
  /** Without those of the mappings and the groups there are none of either. */
  readonly crds?: readonly string[];
}

/** A cluster with the examples' GroupSegmentMappings, and by default their IPGroups. */
export const legacyCluster = async ({ groups = true, crds = CRDS }: ClusterOptions = {}) => {
  const simulator = await simulated({ crds: [...crds] });
  const connection = connected(simulator.kubeconfig());
  const { store } = simulator;
  const segment = { segment: '1.1.2.0/29', excludedIPs: ['1.1.2.0', '1.1.2.1', '1.1.2.5', '1.1.2.7'] };
  const put = (kind: string, name: string, spec: JsonObject, metadata: JsonObject = {}) =>
    store.create({
      ...apiOf(kind),
      metadata: { name, ...(kind === 'IP' || kind.includes('Group') ? {} : { namespace: NAMESPACE }), ...metadata },
      spec,
    });
  if (crds === CRDS) put('GroupSegmentMapping', 'keepalived-2', { ...segment, keepalivedGroup: 'group2' });
  if (groups && crds === CRDS) put('IPGroup', 'ipgroup-2', segment);
  const find = (kind: string, name: string): KubeObject | null => store.find(refOf(kind, name)) ?? null;
  return {
    simulator,
    store,
    writer: new KubernetesMigrationWriter(connection),
    /** A writer before whose requests `before` runs, or which fail with what it throws; the answer is lost when it says true. */
    meddled: (before: (method: string, path: string) => unknown) =>
      new KubernetesMigrationWriter({
        ...connection,
        send: async (request) => {
          const isLost = before(request.method, request.path) === true;
          const answer = await connection.send(request);
          if (isLost) throw new Unreachable('the answer was lost');
          return answer;
        },
      }),
    put,
    find,
    addGroup: () => put('IPGroup', 'ipgroup-2', segment),
    addService: (name: string, spec: JsonObject = {}, metadata: JsonObject = {}) =>
      put(
        'Service',
        name,
        { ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 }], selector: { app: 'web' }, ...spec },
        metadata,
      ),
    addVirtualIP: (name: string, spec: JsonObject = { service: 'web' }, metadata: JsonObject = {}) =>
      put('VirtualIP', name, spec, metadata),
    annotate: (name: string, asked = true) =>
      store.patch(refOf('VirtualIP', name), { metadata: { annotations: { 'virtualips.paas.org/migrate': asked ? '' : null } } }),
    patch: (kind: string, name: string, body: Json, subresource?: 'status') =>
      store.patch(refOf(kind, name), body, subresource === undefined ? {} : { subresource }),
    remove: (kind: string, name: string) => void store.delete(refOf(kind, name)),
    service: (name: string) => (store.find(refOf('Service', name)) ? serviceIn(store.get(refOf('Service', name))) : null),
    /** IP → its labels and annotations. */
    ips: () =>
      Object.fromEntries(store.list(PAAS, 'IP').map(({ metadata }) => [metadata.name, { ...metadata.labels, ...metadata.annotations }])),
  };
};

const apiOf = (kind: string): JsonObject => ({ apiVersion: kind === 'Service' ? 'v1' : PAAS, kind });

export type LegacyCluster = Awaited<ReturnType<typeof legacyCluster>>;

/** One VirtualIP's actor against a cluster: facts are what stands there, jobs are the real ones, and its status is written after each turn. */
export class Actor {
  readonly events: ObjectEvent[] = [];
  /** Jobs that ran, by name; with `!` when they failed. */
  readonly ran: string[] = [];
  /** `status.state` whenever it changed. */
  readonly states: string[] = [];
  /** Called before each job. */
  before: (job: string) => unknown = () => undefined;
  now: Step = begin(chart, { id: 'vvip/default/vip' });
  readonly #cluster: LegacyCluster;
  readonly #name: string;
  readonly #fence: Fence;
  #timer: string | null = null;
  writer: LegacyCluster['writer'];
  /** Jobs are run as those of their queue are, which tell their stage first and look again when somebody else has written. */
  isQueued = false;

  constructor(cluster: LegacyCluster, name = 'vip', fence: Fence = new TestFence()) {
    this.#cluster = cluster;
    this.#name = name;
    this.#fence = fence;
    this.writer = cluster.writer;
    this.now = begin(chart, { id: `vvip/${NAMESPACE}/${name}` });
  }

  get context(): VirtualIPContext {
    return this.now.snapshot.context as VirtualIPContext;
  }

  get state(): unknown {
    return this.now.snapshot.value;
  }

  /** As the server has it; empty members are left out. */
  get status(): Partial<VirtualIPStatus> {
    return (this.#cluster.find('VirtualIP', this.#name)?.status ?? {}) as Partial<VirtualIPStatus>;
  }

  /** Looks, and does all that follows until nothing is left but to wait. */
  async settle(): Promise<this> {
    for (let turn = 0; turn < 40; turn += 1) {
      if (this.now.done) return this;
      if (this.now.starts.length > 0) await this.#work();
      else if (!(await this.look())) return this;
    }
    throw new Error(`does not come to rest: ${this.ran.join()}`);
  }

  /** The only wait ends. */
  async wait(): Promise<this> {
    const timer = this.#timer;
    if (timer === null) throw new Error(`nothing is waited for in ${String(this.state)}`);
    await this.#take({ type: timer, at: 0 });
    return this.settle();
  }

  /** Tells that it is gone, whatever stands, and does what comes of that first. */
  async tell(vip: null): Promise<void> {
    await this.#take({ type: 'VIRTUAL_IP_OBSERVED', vip, around: this.context.around, at: 0 });
    await this.#work();
  }

  /** A process that knows nothing of it goes on. */
  forget(): this {
    this.now = begin(chart, { id: `vvip/${NAMESPACE}/${this.#name}` });
    return this;
  }

  /** Tells what stands; answers whether that made any difference. */
  async look(): Promise<boolean> {
    const object = this.#cluster.find('VirtualIP', this.#name);
    const before = JSON.stringify(this.now.snapshot);
    const vip = object && virtualIPIn(object);
    const read = (kind: string, name: string): KubeObject | null => this.#cluster.find(kind, name);
    const service = vip && read('Service', vip.service);
    const clone = vip && read('Service', cloneOfVirtualIP(vip));
    const ip = vip && read('IP', vip.status.ip);
    const groups = this.#cluster.store.list(PAAS, 'IPGroup').map(({ metadata, spec }) => ({ name: metadata.name ?? '', spec }));
    const seen = { service: service && serviceIn(service), clone: clone && serviceIn(clone), ip: ip && ipIn(ip), groups };
    const around = vip ? surroundingsOf(vip, seen) : this.context.around;
    await this.#take({ type: 'VIRTUAL_IP_OBSERVED', vip, around, at: 0 });
    return before !== JSON.stringify(this.now.snapshot) || this.now.starts.length > 0;
  }

  async #work(): Promise<void> {
    const [start] = this.now.starts;
    if (!start) return;
    const { invokeId } = start;
    const job = start.job as string as MigrationJobName;
    await this.before(job);
    const asked = { input: start.input as never, writer: this.writer, fence: this.#fence };
    const means = { virtualIPs: { writer: this.writer } } as unknown as VipMeans;
    const body = migrationJobBodies[job] as (context: object) => Promise<{ output: unknown }>;
    try {
      const { output } = await (this.isQueued ? runVipJob(job, asked, means) : body(asked));
      this.ran.push(job);
      await this.#take({ type: `xstate.done.actor.${invokeId}`, output, at: 0 });
    } catch (error) {
      this.ran.push(`!${job}`);
      await this.#take({ type: `xstate.error.actor.${invokeId}`, error: failureOf(error), at: 0 });
    }
  }

  async #take(event: MachineEvent): Promise<void> {
    const before = this.context;
    this.now = step(chart, this.now.snapshot, event);
    const { cancels, delays } = this.now;
    if (this.#timer === event.type || cancels.includes(this.#timer ?? '')) this.#timer = null;
    this.#timer = delays[0]?.sendId ?? this.#timer;
    this.events.push(...virtualIPEvents(before, this.context));
    const { ref } = this.context;
    const live = ref && (await this.#cluster.writer.virtualIP(ref));
    const status = virtualIPStatus(this.context);
    if (live && !this.now.done && !isOvertaken(status.state, live)) await this.#cluster.writer.report(live, status, new TestFence());
    if (this.states.at(-1) !== status.state && ref) this.states.push(status.state);
  }
}

/** A Valid VirtualIP `vip` of the Service `web`. */
export const validVirtualIP = async (options: ClusterOptions & { readonly ip?: string } = {}) => {
  const cluster = await legacyCluster(options);
  cluster.addService('web');
  cluster.addVirtualIP('vip', { service: 'web', ...(options.ip !== undefined && { ip: options.ip }) });
  const actor = await new Actor(cluster).settle();
  return { ...cluster, cluster, actor };
};
