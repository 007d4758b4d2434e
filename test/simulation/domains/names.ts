import fc from 'fast-check';
import { MemoryCloud } from '../../../adapters/memory/cloud.ts';
import type { RecordSetContext } from '../../../machines/dns/record-set.ts';
import { actorOf, isPool, recordSetActor } from '../../../machines/model/actor-id.ts';
import type { Address, DNSRecord, ObjectRef } from '../../../machines/model/types.ts';
import { NameRules } from '../../support/names.ts';
import { type Domain, index, of, type Played, type Stage, type Violation } from '../domain.ts';
import { NAMES, nameOf, ZONE } from '../history.ts';

/** Which addresses of its nodes a NodeDNSRecordSet publishes: those of the machines, or those that pools have put there. */
type AddressesOf = 'machines' | 'pools';

export type NameHappening =
  | { readonly kind: 'nameNodes'; readonly name: number; readonly of: AddressesOf }
  | { readonly kind: 'removeNodeSet' | 'breakNodeSet' | 'mendNodeSet' }
  | NameByHand;

/** What people do to the records of a name at the provider. */
interface NameByHand {
  readonly kind: 'dropRecord' | 'changeRecord' | 'addRecord' | 'addAlias';
  readonly name: number;
}

const TTL_SECONDS = 60;

/** What stands beside the records of the operator, and is none of its business. */
const OTHERS: readonly Omit<DNSRecord, 'id'>[] = [
  { type: 'A', name: 'api', data: '198.51.100.99', ttlSeconds: 3600, proxied: false },
  { type: 'TXT', name: 'web', data: 'v=spf1 -all', ttlSeconds: 3600, proxied: false },
];

/** Who wants a name, and the addresses that it is to have then. */
interface Claimant {
  readonly ref: ObjectRef;
  readonly name: string;
  readonly addresses: readonly string[];
}

/** A zone, a NodeDNSRecordSet, and what people do to them. */
export class PlayedNames implements Played<NameHappening> {
  readonly #stage: Stage;
  readonly #rules: NameRules;
  #set: { ref: ObjectRef; name: number; of: AddressesOf } | null = null;
  #broken = false;

  constructor(stage: Stage) {
    this.#stage = stage;
    const { world } = stage;
    world.provider.cloud.addZone(ZONE);
    for (const record of OTHERS) world.provider.cloud.addRecord(ZONE, record);
    this.#rules = new NameRules(world, ZONE, (name) => stage.nodes.mayHold(name) || stage.nodes.leavesWhileItWorks(name));
  }

  act(what: NameHappening): void {
    switch (what.kind) {
      case 'nameNodes':
        this.#apply(what);
        return;
      case 'removeNodeSet':
        if (this.#set) this.#stage.world.cluster.removePool(this.#set.ref);
        this.#set = null;
        return;
      case 'breakNodeSet':
      case 'mendNodeSet':
        this.#broken = what.kind === 'breakNodeSet';
        if (this.#set) this.#apply(this.#set);
        return;
      default:
        this.#byHand(what.kind, nameOf(what.name));
    }
  }

  #apply({ name, of }: { readonly name: number; readonly of: AddressesOf }): void {
    const record = this.#broken ? { zone: ZONE } : { zone: ZONE, recordName: nameOf(name) };
    const addressType = of === 'pools' ? 'flipop.digitalocean.com/ipv4-reserved-ip' : 'ExternalIP';
    const spec = { match: { nodeLabel: 'pool=work' }, dnsRecordSet: record, addressType };
    this.#set = { ref: this.#stage.world.cluster.setPool({ kind: 'NodeDNSRecordSet', name: 'nodes', spec }), name, of };
  }

  #byHand(kind: NameByHand['kind'], name: string): void {
    const { cloud } = this.#stage.world.provider;
    const [first] = this.#records(name);
    this.#rules.noteHand(name);
    const strange = { name, data: '198.51.100.250', ttlSeconds: 300, proxied: false };
    if (kind === 'addRecord') cloud.addRecord(ZONE, { type: 'A', ...strange });
    else if (kind === 'addAlias') cloud.addRecord(ZONE, { ...strange, type: 'CNAME', data: 'example.net' });
    // As the provider's own page does it: past those that look at what the operator sends.
    else if (first && kind === 'dropRecord') MemoryCloud.prototype.deleteRecord.call(cloud, ZONE, first.id);
    else if (first && kind === 'changeRecord') MemoryCloud.prototype.updateRecord.call(cloud, ZONE, { ...first, ...strange });
  }

  #records(name: string): readonly DNSRecord[] {
    return this.#stage.world.provider.cloud.zone(ZONE).records.filter((record) => record.name === name && record.type === 'A');
  }

  /** Nothing is in the way of a name any more. */
  mend(): void {
    const { cloud } = this.#stage.world.provider;
    for (const { id, type } of cloud.zone(ZONE).records) if (type === 'CNAME') MemoryCloud.prototype.deleteRecord.call(cloud, ZONE, id);
    this.#broken = false;
    if (this.#set) this.#apply(this.#set);
  }

  violations(): readonly Violation[] {
    return this.#rules.violations;
  }

  /** What does not stand in the zone as it must in the end, or too much. Of several that want one name one has it, which is not told that it is another’s: the oldest, also
   *  while it has no address to publish. */
  wrongs(): readonly string[] {
    const claimants = this.#claimants().filter((each) => !this.#isOthers(each));
    const wrong = [...Map.groupBy(claimants, ({ name }) => name)].flatMap(([name, wanting]) => {
      if (wanting.every(({ addresses }) => addresses.length === 0)) return [];
      const wanted = wanting.map(({ addresses }) => addresses.toSorted().join(' '));
      const there = this.#records(name)
        .map(({ data, ttlSeconds }) => (ttlSeconds === TTL_SECONDS ? data : `${data} for ${ttlSeconds} s`))
        .sort()
        .join(' ');
      return wanted.includes(there) ? [] : [`${name} lists ${there}, not ${wanted.join(' or ')}`];
    });
    const all = this.#stage.world.provider.cloud.zone(ZONE).records;
    const touched = OTHERS.filter(
      ({ type, name, data }) => !all.some((each) => each.type === type && each.name === name && each.data === data),
    );
    return [...wrong, ...touched.map(({ type, name }) => `${type} ${name} is gone`)];
  }

  /** What the name of the nodes is to list, as text: it follows their annotations. */
  ofNodes(): string {
    return this.#ofNodes()
      .map(({ addresses }) => addresses.toSorted().join(' '))
      .join();
  }

  #claimants(): readonly Claimant[] {
    const { pools, made } = this.#stage;
    const owners = made.owners();
    const ofPools = (pools?.claimants() ?? []).flatMap(({ ref, recordName, addresses, desired }) => {
      if (recordName === null) return [];
      const own = addresses.slice(0, desired).filter((address) => owners.get(address) === ref.uid);
      return [{ ref, name: nameOf(recordName), addresses: own }];
    });
    return [...ofPools, ...this.#ofNodes()];
  }

  /** Only the first thing that is wrong is shown: of one with another trouble its record set alone says so. */
  #isOthers({ ref }: Claimant): boolean {
    const { cluster, invariants } = this.#stage.world;
    const set = invariants.records.get(isPool(actorOf(ref)) ? recordSetActor(actorOf(ref)) : actorOf(ref));
    const { owner = null } = (set?.snapshot.context ?? {}) as Partial<RecordSetContext>;
    return owner !== null || cluster.conditions(ref).some(({ reason }) => reason === 'RecordConflict');
  }

  #ofNodes(): readonly Claimant[] {
    if (!this.#set) return [];
    const { world, nodes } = this.#stage;
    const { ref, name, of: kind } = this.#set;
    const annotated = world.cluster.annotations();
    const addresses = Object.entries(nodes.eligible()).flatMap(([node, external]: [string, Address]) =>
      kind === 'machines' ? external : (annotated[node] ?? []),
    );
    return [{ ref, name: nameOf(name), addresses }];
  }
}

const name = index(NAMES);

export const NAMES_DOMAIN: Domain<NameHappening, PlayedNames> = {
  sorts: [
    { weight: 3, arbitrary: fc.record({ kind: of('nameNodes'), name, of: of('machines', 'pools') }) },
    { weight: 1, arbitrary: fc.record({ kind: of('removeNodeSet', 'breakNodeSet', 'mendNodeSet') }) },
    { weight: 2, arbitrary: fc.record({ kind: of('dropRecord', 'changeRecord', 'addRecord', 'addAlias'), name }) },
  ],
  open: (stage) => new PlayedNames(stage),
};
