import { familyOf } from './address.ts';
import type { Address, Family } from './types.ts';

/** A node holds addresses of each family independently, so each family has its own claim on the node. No node's name contains a `#`. */
const IPV6_MARK = '#6';

/** Precedes the namespace within which a claim counts. No node's name contains a `~`. */
const WITHIN_MARK = '~';

/** The claim of an address on a node. `within`: the namespace within which it counts, absent where it counts cluster-wide. */
export const nodeClaim = (node: string, address: Address, within?: string): string =>
  `${node}${within === undefined ? '' : `${WITHIN_MARK}${within}`}${familyOf(address) === 6 ? IPV6_MARK : ''}`;

/** From claims held by others: the nodes that are full for addresses of the family. */
export const nodesFull = (claims: readonly string[], family: Family): readonly string[] =>
  claims.filter((claim) => claim.endsWith(IPV6_MARK) === (family === 6)).map((claim) => claim.split(/[~#]/, 1)[0] ?? '');
