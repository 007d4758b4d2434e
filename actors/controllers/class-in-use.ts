import type { ClassRef } from '../../machines/model/types.ts';
import type { PoolContext } from '../../machines/pool/context.ts';
import { bindingIn } from '../../machines/status/restore-routedip.ts';
import type { PoolObject } from '../ports/cluster.ts';

/** The class or issuer that serves a RoutedIP, else the one it has its address from; by its records, then by its status; null for none. */
export function classInUseBy({ ref, status }: PoolObject, context: PoolContext | undefined): ClassRef | null {
  const own = context?.ref.uid === ref.uid ? context : undefined;
  return own?.spec?.exposes?.source ?? own?.exposed?.boundBy ?? bindingIn(status).boundBy ?? null;
}
