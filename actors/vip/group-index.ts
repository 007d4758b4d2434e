import type { Address, Family } from '../../machines/model/types.ts';
import { addressOf, contains, gives, type InvalidGroup, located, overlap, type ParsedGroup, usable } from '../../machines/vip/ip-group.ts';
import type { VipWish } from '../../machines/vip/request.ts';
import { FreeRanges } from './free-ranges.ts';
import { byNumber, byText, SortedMap } from './sorted-map.ts';

/** How an address is in use: an IP object exists, or it is offered to a Service and has none yet. */
export type Hold = 'reserved' | 'offered';

/** Address counts of one IPGroup. Excluded addresses count nowhere, though one may have an IP from earlier. */
export interface GroupFigures {
  /** All addresses that it can give. */
  readonly capacity: bigint;
  /** Those with an IP object, whichever group that names: groups that overlap share addresses. */
  readonly allocated: bigint;
  /** Those that are free now: neither reserved nor offered. */
  readonly available: bigint;
}

/** An address and the IPGroup that it is taken from. */
export interface Place {
  readonly address: Address;
  readonly group: string;
}

/** Any address of this family and this group, null for either; of none of the barred groups. */
export type Asked = Pick<VipWish, 'family' | 'group' | 'barred'>;

interface Member {
  readonly group: ParsedGroup;
  readonly free: FreeRanges;
  reserved: bigint;
}

/** The IPGroups and their free addresses. Groups are few, addresses and their holders many: a step is O(groups + log addresses). */
export class GroupIndex {
  readonly #groups = new Map<string, ParsedGroup | InvalidGroup>();
  /** Usable groups by name, ascending. */
  #members: readonly Member[] = [];
  readonly #holds: Record<Family, SortedMap<bigint, Hold>> = { 4: new SortedMap(byNumber), 6: new SortedMap(byNumber) };

  put(group: ParsedGroup | InvalidGroup): void {
    this.remove(group.name);
    this.#groups.set(group.name, group);
    if (group.kind === 'Valid') this.#members = [...this.#members, this.#member(group)].sort((a, b) => byText(a.group.name, b.group.name));
  }

  remove(name: string): void {
    this.#groups.delete(name);
    this.#members = this.#members.filter(({ group }) => group.name !== name);
  }

  get(name: string): ParsedGroup | InvalidGroup | null {
    return this.#groups.get(name) ?? null;
  }

  /** The group if addresses are taken from it. */
  valid(name: string | null): ParsedGroup | null {
    const group = name === null ? undefined : this.#groups.get(name);
    return group?.kind === 'Valid' ? group : null;
  }

  /** Sets how the address is in use, null for free. Returns whether it became free by that. */
  hold(address: Address, hold: Hold | null): boolean {
    const at = located(address);
    const { family, number } = at;
    const holds = this.#holds[family];
    const before = holds.get(number) ?? null;
    if (before === hold) return false;
    if (hold === null) holds.delete(number);
    else holds.set(number, hold);
    for (const member of this.#members) {
      if (!gives(member.group, at)) continue;
      if (before === null) member.free.take(number);
      if (hold === null) member.free.give(number);
      member.reserved += BigInt(Number(hold === 'reserved') - Number(before === 'reserved'));
    }
    return hold === null;
  }

  isFree(address: Address): boolean {
    const { family, number } = located(address);
    return this.#holds[family].get(number) === undefined;
  }

  /** The reserved addresses in the segment, excluded ones too, ascending. */
  reservedIn({ family, first, last }: ParsedGroup): readonly Address[] {
    const holds = this.#holds[family].between(first, last).filter(([, hold]) => hold === 'reserved');
    return holds.map(([number]) => addressOf(number, family));
  }

  /** The names of the groups whose segment the address is in, ascending. */
  around(address: Address): readonly string[] {
    const at = located(address);
    return this.#members.filter(({ group }) => contains(group, at)).map(({ group }) => group.name);
  }

  /** The first group by name that may give the address to this request; null for none. */
  giver(address: Address, asked: Asked): ParsedGroup | null {
    const at = located(address);
    return this.#members.find(({ group }) => suits(group, asked) && gives(group, at))?.group ?? null;
  }

  /** The lowest free address of the first group by name that has one. O(groups). */
  lowest(asked: Asked): Place | null {
    for (const { group, free } of this.#members) {
      const number = suits(group, asked) ? free.lowest() : null;
      if (number !== null) return { address: addressOf(number, group.family), group: group.name };
    }
    return null;
  }

  /** Null when nothing is taken from a group of this name. */
  figures(name: string): GroupFigures | null {
    const member = this.#members.find(({ group }) => group.name === name);
    return member ? { capacity: member.group.capacity, allocated: member.reserved, available: member.free.count } : null;
  }

  /** For each group that overlaps others, their names, ascending. Groups by name, ascending. */
  overlaps(): ReadonlyMap<string, readonly string[]> {
    const found = new Map<string, string[]>();
    const ascending = this.#members.map(({ group }) => group).sort((a, b) => byNumber(a.first, b.first));
    for (const [index, group] of ascending.entries()) {
      for (const other of ascending.slice(index + 1)) {
        if (other.first > group.last) break;
        if (!overlap(group, other)) continue;
        found.set(group.name, [...(found.get(group.name) ?? []), other.name]);
        found.set(other.name, [...(found.get(other.name) ?? []), group.name]);
      }
    }
    return new Map([...found].map(([name, others]) => [name, others.sort()] as const).sort(([a], [b]) => byText(a, b)));
  }

  #member(group: ParsedGroup): Member {
    const member = { group, free: new FreeRanges(usable(group)), reserved: 0n };
    for (const [number, hold] of this.#holds[group.family].between(group.first, group.last)) {
      if (!gives(group, { family: group.family, number })) continue;
      member.free.take(number);
      if (hold === 'reserved') member.reserved += 1n;
    }
    return member;
  }
}

const suits = (of: ParsedGroup, { family, group, barred }: Asked): boolean =>
  (family === null || of.family === family) && (group === null || of.name === group) && !barred?.includes(of.name);
