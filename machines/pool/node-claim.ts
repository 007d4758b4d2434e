import { familyOf } from '../model/address.ts';
import type { Address, Family } from '../model/types.ts';
import type { PoolContext } from './context.ts';

/** A node holds addresses of each family for themselves, so each has a claim of its own on the node. No node's name bears a `#`. */
const IPV6_MARK = '#6';
/** Before the namespace within which a claim counts. No node's name bears a `~`. */
const WITHIN_MARK = '~';

export const isByIssuer = ({ spec }: Pick<PoolContext, 'spec'>): boolean => spec?.exposes?.source.kind === 'RoutedIPIssuer';

/** Who may write an issuer brings an account of his own, in which no node of this cluster need be: what he claims keeps nobody of another namespace off a node. */
export const claimsWithin = (context: Pick<PoolContext, 'spec' | 'ref'>): string | undefined =>
  isByIssuer(context) ? context.ref.namespace : undefined;

/** The nodes that the status shows as holders of its addresses, or as chosen for them, as long as none has said where it is. */
export const nodesRemembered = ({ remembered }: Pick<PoolContext, 'remembered'>): readonly string[] =>
  Object.values(remembered).flatMap(({ on, toward, elected }) => [on?.name ?? [], toward ?? [], elected ?? []].flat());

/** What an address claims of a node. `within`: the namespace within which that counts, absent where it counts for all. */
export const nodeClaim = (node: string, address: Address, within?: string): string =>
  `${node}${within === undefined ? '' : `${WITHIN_MARK}${within}`}${familyOf(address) === 6 ? IPV6_MARK : ''}`;

/** Of claims that others hold: the nodes that are full for addresses of the family. */
export const nodesFull = (claims: readonly string[], family: Family): readonly string[] =>
  claims.filter((claim) => claim.endsWith(IPV6_MARK) === (family === 6)).map((claim) => claim.split(/[~#]/, 1)[0] ?? '');
