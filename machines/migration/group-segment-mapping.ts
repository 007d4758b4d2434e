import { parseAddress } from '../model/address.ts';
import type { Address } from '../model/types.ts';
import { addressOf, contains, gives, located, overlap, type ParsedGroup, parseGroup, usable } from '../vip/ip-group.ts';

/** GroupSegmentMappings: where VirtualIPs took their addresses from, and what becomes IPGroups. */

/** A GroupSegmentMapping or an IPGroup, as far as addresses go. */
export interface SegmentObject {
  readonly name: string;
  readonly spec: unknown;
}

/** An IPGroup as `kubectl apply` takes it. */
export interface IPGroupManifest {
  readonly apiVersion: 'paas.org/v1';
  readonly kind: 'IPGroup';
  readonly metadata: { readonly name: string };
  readonly spec: { readonly segment: string; readonly excludedIPs: readonly string[] };
}

export interface MigratedMappings {
  /** By name. */
  readonly groups: readonly IPGroupManifest[];
  /** One for people each: what could not be made into a group, and what will not work as one. */
  readonly problems: readonly string[];
}

/** The IPGroups that take the place of the mappings: of the same names, with their segments and excluded addresses. What the server adds to an object, and the
 *  KeepalivedGroup, is left out. One that is no valid group is left out, and said. */
export function ipGroupsOf(mappings: readonly SegmentObject[]): MigratedMappings {
  const parsed = byName(mappings).map(({ name, spec }) => ({ spec: specOf(spec), group: parseGroup(name, withExclusions(spec)) }));
  const valid = parsed.flatMap(({ spec, group }) => (group.kind === 'Valid' ? [{ spec, group }] : []));
  const invalid = parsed.flatMap(({ group }) => (group.kind === 'Invalid' ? [`${group.name} is left out: ${group.message}`] : []));
  const overlapping = valid.flatMap(({ group }, index) =>
    valid.slice(index + 1).flatMap((other) => (overlap(group, other.group) ? [`${group.name} and ${other.group.name} overlap`] : [])),
  );
  return {
    groups: valid.map(({ spec, group }) => ({ apiVersion: 'paas.org/v1', kind: 'IPGroup', metadata: { name: group.name }, spec })),
    problems: [...invalid, ...overlapping],
  };
}

/** The first version of the kind did not ask for a list of exclusions. */
const withExclusions = (spec: unknown): unknown =>
  typeof spec === 'object' && spec !== null && !('excludedIPs' in spec) ? { ...spec, excludedIPs: [] } : spec;

const specOf = (spec: unknown): IPGroupManifest['spec'] => {
  const { segment, excludedIPs } = (withExclusions(spec) ?? {}) as IPGroupManifest['spec'];
  return { segment, excludedIPs };
};

/** The first group by name whose segment has the address, excluded or not; null for none. One that is not valid has none. */
export const groupContaining = (groups: readonly SegmentObject[], address: Address): string | null =>
  validOf(groups).find((group) => contains(group, located(address)))?.name ?? null;

/** An address to be tried, and where it is from. */
export interface Candidate {
  readonly address: Address;
  readonly gsm: string;
}

/** Addresses for a VirtualIP, lowest first, mappings by name; all but those that are taken by now. Endless segments are fine: ask only for what is tried. */
export function* freeAddresses(mappings: readonly SegmentObject[], taken: ReadonlySet<Address>): Generator<Candidate> {
  for (const group of validOf(mappings)) {
    for (const { first, last } of usable(group)) {
      for (let number = first; number <= last; number += 1n) {
        const address = addressOf(number, group.family);
        if (!taken.has(address)) yield { address, gsm: group.name };
      }
    }
  }
}

/** The address that is asked for is somebody else's, or excluded. */
export const UNAVAILABLE = 'failed to allocate specific ip: the requested ip is not available';

/** Where the address that is asked for comes from, or why it cannot be had, in the words of the allocator of before. */
export function requestedAddress(
  mappings: readonly SegmentObject[],
  taken: ReadonlySet<Address>,
  requested: string,
): Candidate | { readonly refused: string } {
  const refused = (why: string) => ({ refused: `failed to allocate specific ip: ${why}` });
  const address = parseAddress(requested);
  if (address === null) return refused('the requested ip could not be parsed');
  const group = validOf(mappings).find((each) => contains(each, located(address)));
  if (group === undefined) return refused('GroupSegmentMapping not found for the requested ip');
  if (taken.has(address) || !gives(group, located(address))) return { refused: UNAVAILABLE };
  return { address, gsm: group.name };
}

/** Whose addresses a mapping has; empty when it does not say. */
export const keepalivedGroupOf = (mappings: readonly SegmentObject[], name: string): string => {
  const spec = mappings.find((mapping) => mapping.name === name)?.spec as { readonly keepalivedGroup?: unknown } | undefined;
  return typeof spec?.keepalivedGroup === 'string' ? spec.keepalivedGroup : '';
};

const validOf = (objects: readonly SegmentObject[]): readonly ParsedGroup[] =>
  byName(objects).flatMap(({ name, spec }) => {
    const group = parseGroup(name, withExclusions(spec));
    return group.kind === 'Valid' ? [group] : [];
  });

const byName = (objects: readonly SegmentObject[]): readonly SegmentObject[] => objects.toSorted((a, b) => (a.name < b.name ? -1 : 1));
