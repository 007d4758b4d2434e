import { accountOfList, labelOf } from '../machines/provider-key.ts';
import { type VerificationContext, verificationActor } from '../machines/verification.ts';
import type { Leader } from './leader.ts';

/** How many accounts could not be read when that was last tried, under the name that figures of theirs are counted under: since the leader leads, or by the last verification. */
export function unreadAccounts({ lists, recordsOf }: Pick<Leader, 'lists' | 'recordsOf'>): ReadonlyMap<string, number> {
  const unread = new Map<string, Set<string>>();
  for (const name of lists.names()) {
    const id = verificationActor(name);
    const account = accountOfList(name);
    const verification = recordsOf(id)?.get(id)?.snapshot.context as unknown as VerificationContext | undefined;
    const accounts = unread.get(labelOf(account)) ?? new Set();
    unread.set(labelOf(account), accounts);
    if (lists.refusal(name) !== null || (verification?.failure ?? null) !== null) accounts.add(account);
  }
  return new Map([...unread].map(([label, accounts]) => [label, accounts.size]));
}
