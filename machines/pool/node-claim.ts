import type { PoolContext } from './context.ts';

export const isByIssuer = ({ spec }: Pick<PoolContext, 'spec'>): boolean => spec?.exposes?.source.kind === 'RoutedIPIssuer';

/** Who may write an issuer brings an account of his own, in which no node of this cluster need be: what he claims keeps nobody of another namespace off a node. */
export const claimsWithin = (context: Pick<PoolContext, 'spec' | 'ref'>): string | undefined =>
  isByIssuer(context) ? context.ref.namespace : undefined;

/** The nodes that the status shows as holders of its addresses, or as chosen for them, as long as none has said where it is. */
export const nodesRemembered = ({ remembered }: Pick<PoolContext, 'remembered'>): readonly string[] =>
  Object.values(remembered).flatMap(({ on, toward, elected }) => [on?.name ?? [], toward ?? [], elected ?? []].flat());
