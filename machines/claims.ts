import { familyOf } from './address.ts';
import type { Address, Family } from './types.ts';

/** A node holds addresses of each family for themselves, so each has a claim of its own on the node. No node's name bears a `#`. */
const IPV6_MARK = '#6';

/** What an address claims of a node. */
export const nodeClaim = (node: string, address: Address): string => (familyOf(address) === 6 ? `${node}${IPV6_MARK}` : node);

/** Of claims that others hold: the nodes that are full for addresses of the family. */
export const nodesFull = (claims: readonly string[], family: Family): readonly string[] =>
  family === 4
    ? claims.filter((claim) => !claim.endsWith(IPV6_MARK))
    : claims.flatMap((claim) => (claim.endsWith(IPV6_MARK) ? [claim.slice(0, -IPV6_MARK.length)] : []));
