import { familyOf } from './address.ts';
import type { Address, Family } from './types.ts';

/** A node holds addresses of each family for themselves, so each has a claim of its own on the node. No node's name bears a `#`. */
const IPV6_MARK = '#6';

/** Before the namespace within which a claim counts. No node's name bears a `~`. */
const WITHIN_MARK = '~';

/** What an address claims of a node. `within`: the namespace within which that counts, absent where it counts for all. */
export const nodeClaim = (node: string, address: Address, within?: string): string =>
  `${node}${within === undefined ? '' : `${WITHIN_MARK}${within}`}${familyOf(address) === 6 ? IPV6_MARK : ''}`;

/** Of claims that others hold: the nodes that are full for addresses of the family. */
export const nodesFull = (claims: readonly string[], family: Family): readonly string[] =>
  claims.filter((claim) => claim.endsWith(IPV6_MARK) === (family === 6)).map((claim) => claim.split(/[~#]/, 1)[0] ?? '');
