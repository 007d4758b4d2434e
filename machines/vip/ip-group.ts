import ipaddr from 'ipaddr.js';
import { familyOf, parseAddress } from '../model/address.ts';
import { type Address, type Family, isFields } from '../model/types.ts';

/** Addresses from `first` to `last` of one family as numbers, both included. */
export interface AddressRange {
  readonly first: bigint;
  readonly last: bigint;
}

/** An address in a form that can be compared with groups. */
export interface Located {
  readonly family: Family;
  readonly number: bigint;
}

/** An IPGroup that addresses can be taken from. Its size in memory is that of its exclusions, whatever the size of its segment. */
export interface ParsedGroup extends AddressRange {
  readonly kind: 'Valid';
  readonly name: string;
  readonly family: Family;
  /** Canonical, host bits cleared. */
  readonly segment: string;
  /** Ascending; within the segment, none touching another. */
  readonly excluded: readonly AddressRange[];
  /** How many addresses it can give in total: those of the segment that are not excluded. The first and the last address of a segment count like others. */
  readonly capacity: bigint;
}

/** An IPGroup that supplies no addresses, and why. */
export interface InvalidGroup {
  readonly kind: 'Invalid';
  readonly name: string;
  /** `InvalidSegment`: error in `spec.segment`; `InvalidExcludedIPs`: error in `spec.excludedIPs`; `InvalidName`: the name cannot be a label of its addresses. */
  readonly reason: 'InvalidSegment' | 'InvalidExcludedIPs' | 'InvalidName';
  readonly message: string;
}

/** The maximum length of a label's value, and each IP has its group's name as a label. */
const LONGEST_NAME = 63;
const BITS: Record<Family, number> = { 4: 32, 6: 128 };
const ALLOWED = 'an address, a CIDR or a range first-last of one family, without spaces or leading zeros';

/** Parses the spec of an IPGroup. Only what the API server's schema and the segment allow is Valid; one bad entry makes the group Invalid, because an address meant to be
 *  excluded might be given away otherwise. Entries outside the segment and duplicate entries are ignored. */
export function parseGroup(name: string, spec: unknown): ParsedGroup | InvalidGroup {
  const invalid = (reason: InvalidGroup['reason'], message: string): InvalidGroup => ({ kind: 'Invalid', name, reason, message });
  if (name.length > LONGEST_NAME)
    return invalid('InvalidName', `the name has ${name.length} characters; a label of each IP holds it, and takes at most ${LONGEST_NAME}`);
  if (!isFields(spec)) return invalid('InvalidSegment', 'the group has no spec; spec.segment must be a CIDR such as 192.0.2.0/24');
  const { segment, excludedIPs } = spec;
  if (typeof segment !== 'string') return invalid('InvalidSegment', 'spec.segment is not set; it must be a CIDR such as 192.0.2.0/24');
  const block = parseCIDR(segment);
  if (block === null) return invalid('InvalidSegment', `invalid CIDR address: ${segment}`);
  if (block.prefix === 0)
    return invalid('InvalidSegment', `spec.segment ${segment} is every address there is; its prefix must be 1 or longer`);
  if (!Array.isArray(excludedIPs))
    return invalid('InvalidExcludedIPs', 'spec.excludedIPs is not set; it must be a list, which may be empty');
  const entries = excludedIPs.map(parseEntry);
  const bad = entries.indexOf(null);
  if (bad >= 0)
    return invalid('InvalidExcludedIPs', `spec.excludedIPs[${bad}] is ${JSON.stringify(excludedIPs[bad])}; it must be ${ALLOWED}`);
  const excluded = merged(entries.flatMap((entry) => (entry === null ? [] : within(block, entry))));
  return {
    kind: 'Valid',
    name,
    family: block.family,
    segment: `${addressOf(block.first, block.family)}/${block.prefix}`,
    first: block.first,
    last: block.last,
    excluded,
    capacity: excluded.reduce((left, range) => left - sizeOf(range), sizeOf(block)),
  };
}

/** Whether two segments of one family have an address in common, excluded or not. */
export const overlap = (a: ParsedGroup, b: ParsedGroup): boolean => a.family === b.family && a.first <= b.last && b.first <= a.last;

/** The address is in the segment, excluded or not. */
export const contains = (group: ParsedGroup, { family, number }: Located): boolean => group.family === family && holds(group, number);

/** The group may give this address: it is in the segment and not excluded. */
export const gives = (group: ParsedGroup, at: Located): boolean => contains(group, at) && !isExcluded(group, at.number);

/** Both groups have the same content. */
export function isSameGroup(a: ParsedGroup | InvalidGroup, b: ParsedGroup | InvalidGroup): boolean {
  if (a.name !== b.name) return false;
  if (a.kind === 'Invalid') return b.kind === 'Invalid' && a.message === b.message;
  if (b.kind === 'Invalid' || a.segment !== b.segment || a.excluded.length !== b.excluded.length) return false;
  return a.excluded.every(({ first, last }, index) => first === b.excluded[index]?.first && last === b.excluded[index]?.last);
}

/** The ranges that the group may give, ascending. */
export function usable({ first, last, excluded }: ParsedGroup): readonly AddressRange[] {
  const starts = [first, ...excluded.map((range) => range.last + 1n)];
  const ends = [...excluded.map((range) => range.first - 1n), last];
  return starts.flatMap((start, index) => {
    const end = ends[index] ?? last;
    return start <= end ? [{ first: start, last: end }] : [];
  });
}

/** The address as a number; orders the addresses of one family. */
export function numberOf(address: Address): bigint {
  if (familyOf(address) === 4) return BigInt(address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0));
  const digits = ipaddr.IPv6.parse(address).parts.map((part) => part.toString(16).padStart(4, '0'));
  return BigInt(`0x${digits.join('')}`);
}

export const located = (address: Address): Located => ({ family: familyOf(address), number: numberOf(address) });

/** The canonical address of a number made by `numberOf`. */
export function addressOf(number: bigint, family: Family): Address {
  const bytes = Array.from({ length: BITS[family] / 8 }, (_, index) => Number((number >> BigInt(BITS[family] - 8 - 8 * index)) & 255n));
  const text = family === 4 ? bytes.join('.') : new ipaddr.IPv6(bytes).toRFC5952String();
  return text as Address;
}

/** IPv4 before IPv6, then by number. */
export const compareLocated = (a: Located, b: Located): number =>
  a.family - b.family || Number(a.number > b.number) - Number(a.number < b.number);

export const compareAddresses = (a: Address, b: Address): number => compareLocated(located(a), located(b));

interface Block extends AddressRange {
  readonly family: Family;
}

const sizeOf = ({ first, last }: AddressRange): bigint => last - first + 1n;
const holds = ({ first, last }: AddressRange, number: bigint): boolean => first <= number && number <= last;

function parseCIDR(text: string): (Block & { readonly prefix: number }) | null {
  const parts = /^(?<base>[^/]+)\/(?<prefix>0|[1-9]\d{0,2})$/.exec(text)?.groups;
  const base = parseAddress(parts?.base ?? '');
  const prefix = Number(parts?.prefix);
  if (base === null || prefix > BITS[familyOf(base)]) return null;
  const family = familyOf(base);
  const hostBits = BigInt(BITS[family] - prefix);
  const first = (numberOf(base) >> hostBits) << hostBits;
  return { family, prefix, first, last: first + (1n << hostBits) - 1n };
}

function parseEntry(entry: unknown): Block | null {
  if (typeof entry !== 'string') return null;
  if (entry.includes('/')) return parseCIDR(entry);
  const [from = '', to = from, ...more] = entry.split('-');
  const first = parseAddress(from);
  const last = parseAddress(to);
  if (first === null || last === null || more.length > 0 || familyOf(first) !== familyOf(last)) return null;
  const range = { family: familyOf(first), first: numberOf(first), last: numberOf(last) };
  return range.first <= range.last ? range : null;
}

function within(segment: Block, entry: Block): readonly AddressRange[] {
  if (entry.family !== segment.family || entry.last < segment.first || segment.last < entry.first) return [];
  return [
    { first: holds(segment, entry.first) ? entry.first : segment.first, last: holds(segment, entry.last) ? entry.last : segment.last },
  ];
}

function merged(ranges: readonly AddressRange[]): readonly AddressRange[] {
  const result: { first: bigint; last: bigint }[] = [];
  for (const { first, last } of ranges.toSorted((a, b) => Number(a.first > b.first) - Number(a.first < b.first))) {
    const before = result.at(-1);
    if (before === undefined || before.last + 1n < first) result.push({ first, last });
    else if (before.last < last) before.last = last;
  }
  return result;
}

/** Binary search: a group may have many exclusions, and this is called for each address. */
function isExcluded({ excluded }: ParsedGroup, number: bigint): boolean {
  let low = 0;
  let high = excluded.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const range = excluded[middle];
    if (range === undefined) return false;
    if (holds(range, number)) return true;
    if (range.last < number) low = middle + 1;
    else high = middle;
  }
  return false;
}
