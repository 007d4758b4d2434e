import { labelOf } from '../machines/provider-key.ts';
import { type VerificationContext, verificationActor } from '../machines/verification.ts';
import type { Leader } from './leader.ts';

/** How many accounts could not be read when that was last tried, under the name that figures of theirs are counted under: since the leader leads, or by the last verification. */
export function unreadAccounts({ lists, recordsOf }: Pick<Leader, 'lists' | 'recordsOf'>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const key of lists.names()) {
    const id = verificationActor(key);
    const verification = recordsOf(id)?.get(id)?.snapshot.context as unknown as VerificationContext | undefined;
    const isUnread = lists.refusal(key) !== null || (verification?.failure ?? null) !== null;
    counts.set(labelOf(key), (counts.get(labelOf(key)) ?? 0) + (isUnread ? 1 : 0));
  }
  return counts;
}
