import type { ClassRef } from '../../machines/model/types.ts';
import type { PoolContext } from '../../machines/pool/context.ts';
import { bindingIn } from '../../machines/status/restore-routedip.ts';
import type { PoolObject } from '../ports/cluster.ts';

/** The class or issuer by which a RoutedIP is served, by its records, else that by which it has its address, by its status; null for none. */
export function classInUseBy({ ref, status }: PoolObject, context: PoolContext | undefined): ClassRef | null {
  const own = context?.ref.uid === ref.uid ? context : undefined;
  return own?.spec?.exposes?.source ?? own?.exposed?.boundBy ?? bindingIn(status).boundBy ?? null;
}
