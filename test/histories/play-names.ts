import { MemoryCloud } from '../../adapters/memory/cloud.ts';
import type { ObjectRef } from '../../machines/jobs.ts';
import type { Address, DNSRecord } from '../../machines/types.ts';
import { NameRules } from '../support/names.ts';
import { ownersOf } from '../support/owners.ts';
import type { World } from '../support/world.ts';
import { claimingOf, type PlayedPool } from './play-pools.ts';
import { type AddressesOf, type Happening, nameOf, ZONE } from './steps.ts';

const TTL_SECONDS = 60;

/** What stands beside the records of the operator, and is none of its business. */
const OTHERS: readonly Omit<DNSRecord, 'id'>[] = [
  { type: 'A', name: 'api', data: '198.51.100.99', ttlSeconds: 3600, proxied: false },
  { type: 'TXT', name: 'web', data: 'v=spf1 -all', ttlSeconds: 3600, proxied: false },
];

type Act = Extract<
  Happening,
  {
    readonly kind:
      | 'nameNodes'
      | 'removeNodeSet'
      | 'breakNodeSet'
      | 'mendNodeSet'
      | 'dropRecord'
      | 'changeRecord'
      | 'addRecord'
      | 'addAlias';
  }
>;

/** Who wants a name, and the addresses that it is to have then. */
interface Claimant {
  readonly ref: ObjectRef;
  readonly name: string;
  readonly addresses: readonly string[];
}

/** The cluster as the end of a history sees it. */
export interface Truth {
  /** Nodes that may hold an address, with what their machines have. */
  readonly nodes: Readonly<Record<string, Address>>;
  readonly pools: readonly PlayedPool[];
  /** Addresses that are wanted: each by the pool that has it. */
  readonly wanted: ReadonlySet<Address>;
}

/** A zone, a NodeDNSRecordSet, and what people do to them. */
export class PlayedNames {
  readonly rules: NameRules;
  readonly #world: World;
  #set: { ref: ObjectRef; name: number; of: AddressesOf } | null = null;
  #broken = false;

  constructor(world: World, isReady: (node: string) => boolean) {
    this.#world = world;
    world.provider.cloud.addZone(ZONE);
    for (const record of OTHERS) world.provider.cloud.addRecord(ZONE, record);
    this.rules = new NameRules(world, ZONE, isReady);
  }

  act(what: Act): void {
    switch (what.kind) {
      case 'nameNodes':
        this.#apply(what);
        return;
      case 'removeNodeSet':
        if (this.#set) this.#world.cluster.removePool(this.#set.ref);
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
    this.#set = { ref: this.#world.cluster.setPool({ kind: 'NodeDNSRecordSet', name: 'nodes', spec }), name, of };
  }

  #byHand(kind: Extract<Act, { readonly name: number }>['kind'], name: string): void {
    const { cloud } = this.#world.provider;
    const [first] = this.#records(name);
    this.rules.noteHand(name);
    const strange = { name, data: '198.51.100.250', ttlSeconds: 300, proxied: false };
    if (kind === 'addRecord') cloud.addRecord(ZONE, { type: 'A', ...strange });
    else if (kind === 'addAlias') cloud.addRecord(ZONE, { ...strange, type: 'CNAME', data: 'example.net' });
    // As the provider's own page does it: past those that look at what the operator sends.
    else if (first && kind === 'dropRecord') MemoryCloud.prototype.deleteRecord.call(cloud, ZONE, first.id);
    else if (first && kind === 'changeRecord') MemoryCloud.prototype.updateRecord.call(cloud, ZONE, { ...first, ...strange });
  }

  #records(name: string): readonly DNSRecord[] {
    return this.#world.provider.cloud.zone(ZONE).records.filter((record) => record.name === name && record.type === 'A');
  }

  /** Nothing is in the way of a name any more. */
  mend(): void {
    const { cloud } = this.#world.provider;
    for (const { id, type } of cloud.zone(ZONE).records) if (type === 'CNAME') MemoryCloud.prototype.deleteRecord.call(cloud, ZONE, id);
    this.#broken = false;
    if (this.#set) this.#apply(this.#set);
  }

  /** What does not stand in the zone as it must in the end, or too much. Of several that want one name one has it, which is not told that it is another’s. */
  wrongs(truth: Truth): readonly string[] {
    const claimants = this.#claimants(truth).filter((each) => each.addresses.length > 0 && !this.#isOthers(each));
    const names = [...new Set(claimants.map(({ name }) => name))];
    const wrong = names.flatMap((name) => {
      const wanted = claimants.filter((each) => each.name === name).map(({ addresses }) => [...addresses].sort().join(' '));
      const listed = this.#records(name)
        .map(({ data, ttlSeconds }) => (ttlSeconds === TTL_SECONDS ? data : `${data} for ${ttlSeconds} s`))
        .sort()
        .join(' ');
      return wanted.includes(listed) ? [] : [`${name} lists ${listed}, not ${wanted.join(' or ')}`];
    });
    const there = this.#world.provider.cloud.zone(ZONE).records;
    const touched = OTHERS.filter(
      ({ type, name, data }) => !there.some((each) => each.type === type && each.name === name && each.data === data),
    );
    return [...wrong, ...touched.map(({ type, name }) => `${type} ${name} is gone`)];
  }

  #claimants({ nodes, pools, wanted }: Truth): readonly Claimant[] {
    const owners = ownersOf(pools.map((pool) => claimingOf(this.#world, pool)));
    const ofPools = pools.flatMap(({ ref, recordName, listed, desired }) => {
      if (recordName === null) return [];
      const addresses = listed.slice(0, desired).filter((address) => wanted.has(address) && owners.get(address) === ref.uid);
      return [{ ref, name: nameOf(recordName), addresses }];
    });
    return [...ofPools, ...this.#ofNodes(nodes)];
  }

  /** Only the first thing that is wrong is shown: of one with another trouble this is not known. */
  #isOthers({ ref }: Claimant): boolean {
    return this.#world.cluster.conditions(ref).some(({ reason }) => reason === 'RecordConflict');
  }

  #ofNodes(nodes: Truth['nodes']): readonly Claimant[] {
    if (!this.#set) return [];
    const { ref, name, of } = this.#set;
    const annotated = this.#world.cluster.annotations();
    const addresses = Object.entries(nodes).flatMap(([node, external]) => (of === 'machines' ? external : (annotated[node] ?? [])));
    return [{ ref, name: nameOf(name), addresses }];
  }
}
