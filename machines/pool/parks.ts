import { parseAddress } from '../model/address.ts';
import { type Address, UNASSIGNED } from '../model/types.ts';

/** Parses the annotation that requests addresses to be on no node. */

export interface Park {
  /** Null for a RoutedIP. */
  readonly address: Address | null;
  /** The requester, as stated in the annotation; null for none. */
  readonly by: string | null;
}

export interface Parks {
  readonly parked: readonly Park[];
  /** Why a part of the annotation is ignored; null for no reason. */
  readonly wrong: string | null;
}

/** As with requests for moves: a writer of the object may write 256 KiB. */
const MOST_PARKS = 100;
const LONGEST_PARKS = 32_768;
const LONGEST_VALUE = 100;
const NAME = /^[\x20-\x7e]{1,100}$/;

/** `203.0.113.7`, several separated by commas, each optionally followed by `=<who>`; for a RoutedIP `true` instead of the address. */
export function parksIn(annotation: string, isRoutedIP: boolean): Parks {
  const parts = [
    ...new Set(
      annotation
        .slice(0, LONGEST_PARKS)
        .split(',')
        .map((part) => part.trim()),
    ),
  ].filter((part) => part !== '');
  const read = parts.slice(0, MOST_PARKS).map((text) => ({ text, park: parkIn(text, isRoutedIP) }));
  const wrong = read.find(({ park }) => park === null);
  const isLong = parts.length > MOST_PARKS || annotation.length > LONGEST_PARKS;
  const form = isRoutedIP ? '"true" or "true=<who>"' : '<address> or <address>=<who>';
  const unread = wrong ? `"${wrong.text.slice(0, LONGEST_VALUE)}" in ${UNASSIGNED} is not ${form}` : null;
  const tooLong = `${UNASSIGNED} is too long: the first ${MOST_PARKS} addresses in ${LONGEST_PARKS} characters are read`;
  return {
    parked: read.flatMap(({ park }) => park ?? []),
    wrong: isLong ? tooLong : unread,
  };
}

function parkIn(text: string, isRoutedIP: boolean): Park | null {
  const [what = '', ...rest] = text.split('=');
  const by = rest.length > 0 ? rest.join('=').trim() : null;
  if (by !== null && !NAME.test(by)) return null;
  if (isRoutedIP) return what.trim() === 'true' ? { address: null, by } : null;
  const address = parseAddress(what.trim());
  return address === null ? null : { address, by };
}
