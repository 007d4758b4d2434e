import { charts } from '../../../actors/controllers/chart-registry.ts';
import { stateOf } from '../../../actors/controllers/record-view.ts';
import { consumeJobs } from '../../../actors/jobs/worker.ts';
import { loadCells } from '../../../actors/leadership/recovery.ts';
import type { KillPoint, Log } from '../../../actors/ports/observers.ts';
import type { ActorRecord } from '../../../actors/ports/records.ts';
import { Cells } from '../../../actors/runtime/cell-registry.ts';
import { Inbox } from '../../../actors/runtime/inbox.ts';
import type { Envelope } from '../../../actors/runtime/turn.ts';
import { endableClock } from '../../../adapters/system/clock.ts';
import type { RecordSetContext } from '../../../machines/dns/record-set.ts';
import { type ZoneContext, zoneInput } from '../../../machines/dns/zone.ts';
import { zoneActor } from '../../../machines/model/actor-id.ts';
import { queryOf } from '../../../machines/model/matching.ts';
import type { ActorId, Address } from '../../../machines/model/types.ts';
import { type RecordSetStatus, recordSetStatus } from '../../../machines/status/record-set.ts';
import { node, PROVIDER, World, type WorldOptions } from '../../support/world.ts';

export const ZONE = 'example.com';
export const MINUTE = 60_000;

const MATCH = { nodeLabel: 'pool=work' };

/** One NodeDNSRecordSet as the cluster has it: named like its record, listing these addresses, each on a node of its own. */
interface WantedSet {
  readonly since: number;
  readonly spec: { readonly dnsRecordSet: Readonly<Record<string, unknown>>; readonly match: typeof MATCH };
  readonly generation: number;
  readonly addresses: readonly Address[];
}

/** Opens the cell of a zone with the first claim on it, as a leader does. */
class ZoneOpeningCells extends Cells {
  override async deliver(envelope: Envelope): Promise<void> {
    const { to } = envelope;
    if (to.startsWith('zone/') && !this.all.has(to)) this.begin('dns-zone', to, zoneInput(to));
    await super.deliver(envelope);
  }
}

interface Process {
  readonly cells: Cells;
  readonly end: () => void;
  readonly isDead: () => boolean;
}

/** Zones and record sets under one leader after the other, on the memory adapters. Stands for what a leader does for them: tells the facts, and has
 *  whatever is stored resume. */
export class DNSWorld {
  readonly world: World;
  readonly log: { message: string; fields: unknown }[] = [];
  readonly #sets = new Map<string, WantedSet>();
  #process: Process | null = null;
  #term = 0;
  /** Whether the process is to end at the point. */
  kills: (point: KillPoint, about: string) => boolean = () => false;
  /** The points that were passed. */
  readonly passed: string[] = [];

  constructor(options: WorldOptions = {}) {
    this.world = new World(options);
    this.world.provider.cloud.addZone(ZONE);
  }

  /** A new process leads: it takes over what is stored and tells every fact. */
  async lead(): Promise<void> {
    const { world } = this;
    this.#process?.end();
    this.#term += 1;
    const term = this.#term;
    await world.store.openTerm(term);
    const clock = endableClock(world.clock);
    const store = world.store.connect();
    const queues = world.queues.connect();
    const state = { dead: false };
    const end = () => {
      if (state.dead) return;
      state.dead = true;
      clock.end();
      provider.end();
      store.reopen();
      queues.reopen();
    };
    const probe = (point: KillPoint, about: string) => {
      if (state.dead) return;
      this.passed.push(`${point} ${about}`);
      if (!this.kills(point, about)) return;
      end();
      if (point === 'beforeSend') throw new Error(`killed ${point} ${about}`);
    };
    const provider = world.provider.process({ probe });
    const write = (message: string, fields?: unknown) => void this.log.push({ message, fields });
    const log: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: write };
    const ports = { charts: charts(world.settings, () => 1), store, queues, clock, log, probe, observers: [], settings: world.settings };
    const cells = new ZoneOpeningCells(term, {
      ...ports,
      listAsked: () => {},
      gone: () => {},
      nodesOf: () => [],
      firewallInput: (id) => ({ id, provider: '', firewall: '' }),
      halted: () => {},
    });
    const resume = (actor: ActorId) => cells.tell(actor, { type: 'RESUME' });
    const inbox = new Inbox({ ...ports, term, cells, hasResumed: () => true, resume, placed: (observed) => observed, answered: () => {} });
    const leadership = { lease: () => ({ renewedAt: clock.monotonic(), durationMs: 15_000 }), seenTerm: () => term };
    consumeJobs(PROVIDER, provider, { ...ports, writer: world.cluster.process(), leadership }, 10);
    this.#process = { cells, end, isDead: () => state.dead };
    for (const [id, stored] of await loadCells(
      { ...ports, providers: { all: {} }, pools: { all: new Map(), providerOf: () => '', createsBy: () => null }, isGone: () => false },
      term,
    ))
      cells.load(id, stored);
    for (const id of cells.all.keys()) resume(id);
    for (const id of cells.all.keys()) if (id.startsWith('dns/') && !this.#sets.has(nameOf(id))) cells.tell(id, { type: 'DELETED' });
    for (const name of this.#sets.keys()) this.#tell(name);
    inbox.open();
    const sweep = () => {
      cells.sweep();
      inbox.wakeOverdue();
      clock.after(world.settings.sweepEveryMs, sweep);
    };
    clock.after(world.settings.sweepEveryMs, sweep);
  }

  /** A process leads, and has not ended. */
  get isLed(): boolean {
    return this.#process !== null && !this.#process.isDead();
  }

  /** Ends the leading process without a word. */
  kill(): void {
    this.#process?.end();
    this.#process = null;
  }

  /** A NodeDNSRecordSet of that name, or an edit of it. */
  set(name: string, addresses: readonly string[], record: Readonly<Record<string, unknown>> = {}): void {
    const former = this.#sets.get(name);
    this.#sets.set(name, {
      since: former?.since ?? this.world.clock.now() + this.#sets.size,
      spec: { dnsRecordSet: { zone: ZONE, recordName: name, ...record }, match: MATCH },
      generation: (former?.generation ?? 0) + 1,
      addresses: addresses as readonly Address[],
    });
    this.#tell(name);
  }

  delete(name: string): void {
    this.#sets.delete(name);
    this.#process?.cells.tell(`dns/default/${name}`, { type: 'DELETED' });
  }

  #tell(name: string): void {
    const wanted = this.#sets.get(name);
    const cells = this.#process?.cells;
    if (!wanted || !cells) return;
    const id = `dns/default/${name}`;
    const ref = { kind: 'NodeDNSRecordSet', namespace: 'default', name, uid: `uid-${name}` };
    if (!cells.all.has(id)) cells.begin('dns-record-set', id, { id, ref, since: wanted.since });
    const registry = { [PROVIDER]: this.world.facts };
    cells.tell(id, { type: 'SPEC_OBSERVED', spec: wanted.spec, generation: wanted.generation, registry });
    const nodes = wanted.addresses.map((address, index) => node(`node-${index}`, { externalIPs: [address] }));
    cells.tell(id, { type: 'CLUSTER_OBSERVED', query: queryOf(MATCH), nodes, serving: null });
  }

  /** The status that the record set would show; null while there is none. */
  status(name: string): RecordSetStatus | null {
    const context = this.#record(`dns/default/${name}`)?.snapshot.context as unknown as RecordSetContext | undefined;
    return context ? recordSetStatus({ context, term: this.#term }) : null;
  }

  zoneOf(zone = ZONE): { readonly state: string; readonly context: ZoneContext } | null {
    const record = this.#record(zoneActor(PROVIDER, zone));
    return record ? { state: stateOf(record.snapshot.value), context: record.snapshot.context as unknown as ZoneContext } : null;
  }

  #record(id: ActorId): ActorRecord | undefined {
    return this.#process?.cells.recordsOf(id)?.get(id);
  }

  /** The addresses at a name, sorted, doubled ones twice. */
  records(name: string, zone = ZONE): readonly string[] {
    return this.world.provider.cloud
      .zone(zone)
      .records.filter((record) => record.name === name && (record.type === 'A' || record.type === 'AAAA'))
      .map(({ data }) => data)
      .sort();
  }

  /** Waits until all these sets are active; answers the ms that passed. */
  untilActive(...names: readonly string[]): Promise<number> {
    return this.world.clock.runUntil(() => names.every((name) => this.status(name)?.state === 'active'), 30 * MINUTE);
  }

  /** Calls that were sent, by their verbs. */
  calls(since = 0): readonly string[] {
    return this.world.provider.calls.slice(since).map(({ verb }) => verb);
  }
}

const nameOf = (id: ActorId): string => id.slice('dns/default/'.length);
