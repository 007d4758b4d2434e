import type { PoolContext } from './context.ts';

export const isByIssuer = ({ spec }: Pick<PoolContext, 'spec'>): boolean => spec?.exposes?.source.kind === 'RoutedIPIssuer';

/** The author of an issuer brings an own account, which need not contain any node of this cluster: its claims must not block addresses of other namespaces. */
export const claimsWithin = (context: Pick<PoolContext, 'spec' | 'ref'>): string | undefined =>
  isByIssuer(context) ? context.ref.namespace : undefined;

/** The nodes that the status shows as holders or as elected, until the addresses have reported where they are. */
export const nodesRemembered = ({ remembered }: Pick<PoolContext, 'remembered'>): readonly string[] =>
  Object.values(remembered).flatMap(({ on, toward, elected }) => [on?.name ?? [], toward ?? [], elected ?? []].flat());
