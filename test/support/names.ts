import type { SavedTurn, Transition } from '../../actors/ports/observers.ts';
import type { Queues } from '../../actors/ports/queues.ts';
import type { AddressContext } from '../../machines/address/context.ts';
import type { RecordSetContext } from '../../machines/dns/record-set.ts';
import type { EnsureRecordsInput } from '../../machines/jobs.ts';
import { addressActor } from '../../machines/model/actor-id.ts';
import { fullName, relativeName } from '../../machines/model/dns.ts';
import type { ActorId, Address, DNSRecord } from '../../machines/model/types.ts';
import type { PoolContext } from '../../machines/pool/context.ts';
import type { World } from './world.ts';

/** What must hold at every moment of the records of a zone. */
export type NameRule =
  | 'a name keeps an answer'
  | 'writes what a job carries, and nothing else'
  | 'only its own records are touched'
  | 'what serves stays published';

type Sets = ReadonlyMap<string, readonly string[]>;

/** A job that was waited for; `until` when another one took its place, virtual ms. */
interface Awaited {
  readonly commandId: string;
  until: number;
}

/** What a job of a queue holds, as far as it is looked at. */
interface JobData {
  readonly job?: string;
  readonly input?: unknown;
}

/** How long after its job was waited for a request may arrive at the latest, ms. */
const UNDER_WAY_MS = 16_000;

/** Looks at every request that changes a record of one zone, and at what record sets are told. */
export class NameRules {
  readonly violations: { readonly rule: NameRule; readonly at: number; readonly text: string }[] = [];
  readonly #world: World;
  readonly #zone: string;
  readonly #isReady: (node: string) => boolean;
  /** What each job is to bring about, by its id and by name. */
  readonly #carried = new Map<string, Sets>();
  readonly #awaited: Awaited[] = [];
  /** What each record that a write has changed said before, by its id, and until when, virtual ms. */
  readonly #former: { readonly id: string; readonly data: string; readonly until: number }[] = [];
  /** When a person last changed a record of a name, virtual ms. */
  readonly #byHand = new Map<string, number>();

  /** `isReady`: whether a node may hold an address now. */
  constructor(world: World, zone: string, isReady: (node: string) => boolean) {
    this.#world = world;
    this.#zone = zone;
    this.#isReady = isReady;
    this.#watchRequests();
    this.#watchJobs();
    const { invariants } = world;
    const { turnSaved } = invariants;
    invariants.turnSaved = (turn) => {
      turnSaved.call(invariants, turn);
      this.#look(turn);
    };
  }

  /** To be called when a person changes records of a name. */
  noteHand(name: string): void {
    this.#byHand.set(name, this.#world.clock.monotonic());
  }

  #watchRequests(): void {
    const { cloud } = this.#world.provider;
    const { createRecord, updateRecord, deleteRecord } = cloud;
    const watched = (id: string | null, after: Omit<DNSRecord, 'id'> | null, change: () => void): void => {
      const all = cloud.zone(this.#zone).records;
      const before = all.find((record) => record.id === id) ?? null;
      change();
      this.#checkWrite(before, after, all);
    };
    cloud.createRecord = (zone, record) => watched(null, record, () => createRecord.call(cloud, zone, record));
    cloud.updateRecord = (zone, record) => watched(record.id, record, () => updateRecord.call(cloud, zone, record));
    cloud.deleteRecord = (zone, id) => watched(id, null, () => deleteRecord.call(cloud, zone, id));
  }

  #watchJobs(): void {
    const { queues, queuesWithout } = this.#world;
    const { connect } = queues;
    queues.connect = () => this.#watched(connect());
    this.#world.queuesWithout = (clock) => this.#watched(queuesWithout(clock));
  }

  #watched<Q extends Queues>(queues: Q): Q {
    return {
      ...queues,
      queue: (name) => {
        const queue = queues.queue(name);
        return {
          ...queue,
          add: (jobs) => {
            for (const { id, data } of jobs) this.#noteJob(id, data as unknown as JobData);
            return queue.add(jobs);
          },
        };
      },
    };
  }

  /** A write had an effect: it was one that a job is there for, and it left its name with an answer. */
  #checkWrite(before: DNSRecord | null, after: Omit<DNSRecord, 'id'> | null, all: readonly DNSRecord[]): void {
    const record = after ?? before;
    if (!record) return;
    const about = `${this.#titled(before)} → ${this.#titled(after)}`;
    const { name } = record;
    if ([before, after].some((each) => each && (!isAddress(each) || each.name !== name)))
      this.#note('only its own records are touched', about);
    const sets = this.#setsOf(name);
    const isChanged = before !== null && before.data !== after?.data;
    // A request that takes effect late goes by what the record said when it was sent.
    const gone = isChanged ? [before.data, ...this.#formerOf(before.id)] : [];
    const isMeant = sets.some(
      (set) => (!isChanged || gone.some((data) => !set.includes(data)) || isTwice(all, before)) && (!after || set.includes(after.data)),
    );
    if (isChanged) this.#former.push({ id: before.id, data: before.data, until: this.#world.clock.monotonic() });
    if (!isMeant)
      this.#note(
        'writes what a job carries, and nothing else',
        `${about}; it carries ${sets.map((set) => set.join(' ')).join(' or ') || 'nothing'}`,
      );
    const answers = this.#world.provider.cloud.zone(this.#zone).records.filter((each) => each.name === name && isAddress(each));
    // What a person has taken out meanwhile was an answer when the request was sent.
    const isOurs = (this.#byHand.get(name) ?? Number.NEGATIVE_INFINITY) + UNDER_WAY_MS < this.#world.clock.monotonic();
    if (answers.length === 0 && isOurs) this.#note('a name keeps an answer', about);
  }

  #titled(record: Omit<DNSRecord, 'id'> | null): string {
    return record ? `${fullName({ recordName: record.name, zone: this.#zone })} ${record.type} ${record.data}` : 'nothing';
  }

  #formerOf(id: string): readonly string[] {
    const now = this.#world.clock.monotonic();
    return this.#former.filter((each) => each.id === id && each.until + UNDER_WAY_MS >= now).map(({ data }) => data);
  }

  /** What jobs that may still write were to make of a name. */
  #setsOf(name: string): readonly (readonly string[])[] {
    const now = this.#world.clock.monotonic();
    const jobs = this.#awaited.filter(({ until }) => until + UNDER_WAY_MS >= now);
    return jobs.map(({ commandId }) => this.#carried.get(commandId)?.get(name) ?? []);
  }

  #look({ transitions }: SavedTurn): void {
    for (const transition of transitions) {
      if (transition.chart === 'dns-zone') this.#noteAwaited(transition);
      if (transition.chart === 'dns-record-set' && transition.after) this.#checkPublished(transition, transitions);
    }
  }

  #noteJob(id: string, { job, input }: JobData): void {
    if (job !== 'ensureRecords') return;
    const { sets } = input as EnsureRecordsInput;
    const names = sets.map(({ recordName, addresses }) => [relativeName(recordName, this.#zone) ?? recordName, addresses] as const);
    this.#carried.set(id, new Map(names));
  }

  #noteAwaited({ after }: Transition): void {
    const commandId = after?.waiting.ensure?.commandId;
    const last = this.#awaited.at(-1);
    // Ids come again when the records, the Lease and all statuses are lost together.
    if (last?.commandId === commandId && last?.until === Number.POSITIVE_INFINITY) return;
    if (last) last.until = Math.min(last.until, this.#world.clock.monotonic());
    if (commandId !== undefined) this.#awaited.push({ commandId, until: Number.POSITIVE_INFINITY });
  }

  /** An address that is published no more does not serve: its own record, the provider or the cluster says otherwise. */
  #checkPublished({ actor, before, after }: Transition, turn: readonly Transition[]): void {
    const then = before?.snapshot.context as unknown as RecordSetContext | undefined;
    const now = after?.snapshot.context as unknown as RecordSetContext | undefined;
    if (!now || now.ref) return;
    const pool = actor.replace(/\/dns$/, '');
    for (const address of this.#formerly(then, now).filter((each) => !now.addresses.includes(each))) {
      const id = addressActor(pool, address);
      const of = this.#poolOf(pool);
      const isNews = turn.some((each) => each.actor === id && !this.#serves(each.before?.snapshot, of));
      // A turn whose process died before it was heard of may have let the address go.
      const isMember = of?.members[address]?.retiring === false;
      if (!isNews && isMember && this.#serves(this.#world.invariants.records.get(id)?.snapshot, of))
        this.#note('what serves stays published', `${address} was taken out of ${actor} although it serves`);
    }
  }

  /** What was published under its name. A record set that begins anew may have lost its records: then the zone tells. */
  #formerly(then: RecordSetContext | undefined, { target, addresses }: RecordSetContext): readonly Address[] {
    if (then && JSON.stringify(then.target) === JSON.stringify(target)) return then.addresses;
    if (then?.target || !target || addresses.length === 0) return [];
    const name = relativeName(target.recordName, this.#zone) ?? target.recordName;
    const { records } = this.#world.provider.cloud.zone(this.#zone);
    return records.filter((record) => record.name === name && isAddress(record)).map(({ data }) => data as Address);
  }

  #poolOf(pool: ActorId): PoolContext | undefined {
    return this.#world.invariants.records.get(pool)?.snapshot.context as unknown as PoolContext | undefined;
  }

  /** Where it stands it serves until it has gone from there, also while it waits to go elsewhere. */
  #serves(snapshot: { readonly context: unknown } | undefined, pool: PoolContext | undefined): boolean {
    const context = snapshot?.context as AddressContext | undefined;
    if (!context?.holder || context.retiring) return false;
    const { cloud } = this.#world.provider;
    const there = cloud.addresses().find(({ address }) => address === context.address);
    const node = [...(pool?.candidates ?? []), ...(pool?.leaving ?? [])].find(({ providerID }) => providerID === context.holder);
    return node !== undefined && there?.providerID === node.providerID && this.#isReady(node.name);
  }

  #note(rule: NameRule, text: string): void {
    this.violations.push({ rule, at: this.#world.clock.monotonic(), text });
  }
}

const isAddress = ({ type }: Pick<DNSRecord, 'type'>): boolean => type === 'A' || type === 'AAAA';

/** Another record says the same. */
const isTwice = (all: readonly DNSRecord[], one: DNSRecord): boolean =>
  all.some(({ id, name, type, data }) => id !== one.id && name === one.name && type === one.type && data === one.data);
