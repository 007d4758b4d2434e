import { asBegun } from '../machines/creation.ts';
import type { PoolContext } from '../machines/pool.ts';
import type { ActorId } from '../machines/types.ts';
import { actorOf, type ObservedPools } from './pools.ts';
import type { PoolObject } from './ports/cluster.ts';
import type { ActorRecord } from './ports.ts';

type RecordsOf = (cell: ActorId) => ReadonlyMap<ActorId, ActorRecord> | null;

/** The key of the provider that an object works with. A RoutedIP whose class is gone, does not say any more or is not for it has its address at the provider of before. */
export function providerOf(pool: PoolObject, pools: ObservedPools, recordsOf: RecordsOf): string {
  const named = pools.providerOf(pool);
  if (pool.ref.kind !== 'RoutedIP') return named;
  const id = actorOf(pool.ref);
  const context = recordsOf(id)?.get(id)?.snapshot.context as unknown as PoolContext | undefined;
  return named !== '' && pools.worksWithNamed(pool, context) ? named : ((context && asBegun(context).spec?.provider) ?? '');
}

/** All objects that work with the provider of this key. */
export function usersOf(key: string, pools: ObservedPools, recordsOf: RecordsOf): readonly (readonly [ActorId, PoolObject])[] {
  const nameless = key === '' ? [] : pools.usersOf('').filter(([, pool]) => providerOf(pool, pools, recordsOf) === key);
  return [...pools.usersOf(key), ...nameless];
}
