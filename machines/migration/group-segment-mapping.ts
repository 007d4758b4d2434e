import { parseAddress } from '../model/address.ts';
import type { Address } from '../model/types.ts';
import { addressOf, contains, gives, located, overlap, type ParsedGroup, parseGroup, usable } from '../vip/ip-group.ts';

/** GroupSegmentMappings: the source of the addresses of VirtualIPs, converted to IPGroups. */

/** The address fields of a GroupSegmentMapping or an IPGroup. */
export interface SegmentObject {
  readonly name: string;
  readonly spec: unknown;
}

/** An IPGroup manifest for `kubectl apply`. */
export interface IPGroupManifest {
  readonly apiVersion: 'paas.org/v1';
  readonly kind: 'IPGroup';
  readonly metadata: { readonly name: string };
  readonly spec: { readonly segment: string; readonly excludedIPs: readonly string[] };
}

export interface MigratedMappings {
  /** By name. */
  readonly groups: readonly IPGroupManifest[];
  /** Messages for users: mappings that could not be converted, and groups that will not work. */
  readonly problems: readonly string[];
}

/** The IPGroups that replace the mappings, with the same names, segments and excluded addresses. Fields added by the server, and the KeepalivedGroup, are left out. Invalid
 *  groups are left out and reported. */
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

/** The first version of the kind did not require a list of exclusions. */
const withExclusions = (spec: unknown): unknown =>
  typeof spec === 'object' && spec !== null && !('excludedIPs' in spec) ? { ...spec, excludedIPs: [] } : spec;

const specOf = (spec: unknown): IPGroupManifest['spec'] => {
  const { segment, excludedIPs } = (withExclusions(spec) ?? {}) as IPGroupManifest['spec'];
  return { segment, excludedIPs };
};

/** The first group by name whose segment contains the address, excluded or not; null for none. Invalid groups contain none. */
export const groupContaining = (groups: readonly SegmentObject[], address: Address): string | null =>
  validOf(groups).find((group) => contains(group, located(address)))?.name ?? null;

/** An address to try, and its source. */
export interface Candidate {
  readonly address: Address;
  readonly gsm: string;
}

/** Addresses for a VirtualIP, lowest first, mappings by name; without those already taken. Huge segments are fine: the generator is lazy. */
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

/** The requested address is taken by another owner, or excluded. */
export const UNAVAILABLE = 'failed to allocate specific ip: the requested ip is not available';

/** The source of the requested address, or why it is unavailable, in the words of the previous allocator. */
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

/** The KeepalivedGroup of a mapping; empty when it names none. */
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
