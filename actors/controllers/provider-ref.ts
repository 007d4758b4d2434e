import { actorOf } from '../../machines/model/actor-id.ts';
import type { ActorId } from '../../machines/model/types.ts';
import type { PoolObject } from '../ports/cluster.ts';
import type { ActorRecord } from '../ports/records.ts';
import type { ObservedPools } from './pool-cache.ts';
import { poolContextIn } from './record-view.ts';

type RecordsOf = (cell: ActorId) => ReadonlyMap<ActorId, ActorRecord> | null;

/** The key of the provider that an object works with, by these records of it. */
export function providerOf(pool: PoolObject, pools: ObservedPools, recordsOf: RecordsOf): string {
  const id = actorOf(pool.ref);
  return pools.accountOf(pool, poolContextIn(recordsOf(id), id));
}

/** All objects that work with the provider of this key. */
export function usersOf(key: string, pools: ObservedPools, recordsOf: RecordsOf): readonly (readonly [ActorId, PoolObject])[] {
  const nameless = key === '' ? [] : pools.usersOf('').filter(([, pool]) => providerOf(pool, pools, recordsOf) === key);
  return [...pools.usersOf(key), ...nameless];
}
