import type { Claim } from '../../machines/events.ts';
import type { FirewallContext } from '../../machines/firewall/context.ts';
import { addressActor, cellOf, isFirewall } from '../../machines/model/actor-id.ts';
import type { ActorId, Address } from '../../machines/model/types.ts';
import { boundAddress } from '../../machines/status/restore-routedip.ts';
import { poolContextIn } from '../controllers/record-view.ts';
import type { PoolObject } from '../ports/cluster.ts';
import type { ActorRecord } from '../ports/records.ts';
import { isUndone } from './restored-pool.ts';

interface Known {
  readonly cells: ReadonlyMap<ActorId, { readonly records: ReadonlyMap<ActorId, ActorRecord> }>;
  readonly objects: ReadonlyMap<ActorId, PoolObject>;
}

/** Releases firewall claims of addresses that no actor runs now or ever will: the actor that should have released them may have ended with commands unsent. */
export const leftClaims = (known: Known): readonly { readonly to: ActorId; readonly event: Omit<Claim, 'at'> }[] =>
  [...known.cells.keys()].filter(isFirewall).flatMap((to) => {
    const context = known.cells.get(to)?.records.get(to)?.snapshot.context as unknown as FirewallContext | undefined;
    return Object.keys(context?.claims ?? {})
      .filter((claimant) => isLeft(claimant, known))
      .map((claimant) => ({ to, event: { type: 'CLAIM', claimant, claimId: '', node: null, ports: [], mode: 'prune' } }));
  });

/** A rebuilt pool starts the addresses that it remembers; one that has not begun yet starts those in its status. */
function isLeft(claimant: ActorId, { cells, objects }: Known): boolean {
  const id = cellOf(claimant);
  const records = cells.get(id)?.records;
  if (records?.has(claimant)) return false;
  const pool = poolContextIn(records, id);
  const object = objects.get(id);
  if (object && isUndone(object)) return true;
  const remembered = pool && (!object || object.ref.uid === pool.ref.uid) ? Object.keys(pool.remembered) : [boundAddress(object?.status)];
  return !remembered.some((address) => addressActor(id, address as Address) === claimant);
}
