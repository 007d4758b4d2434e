import { labelOf } from '../machines/provider-key.ts';
import type { Finding } from '../machines/types.ts';
import { verificationActor } from '../machines/verification.ts';
import type { Leader } from './leader.ts';
import { doubtIn } from './project-views.ts';

type Accounts = Pick<Leader, 'lists' | 'recordsOf'>;

/** Why nobody can say where the addresses of an account are, for those who go by it: it was not read since the leader leads, or cannot be verified any more. Null while
 *  somebody can. */
export function accountTrouble(key: string, { lists, recordsOf }: Accounts): Finding | null {
  const unread = lists.refusal(key);
  if (unread !== null) return { reason: 'ProviderUnread', message: unread };
  const id = verificationActor(key);
  const doubt = doubtIn(recordsOf(id)?.get(id));
  return doubt === null ? null : { reason: 'Unverified', message: `the addresses of ${key} cannot be verified: ${doubt}` };
}

/** Why accounts could not be read when that was last tried, by key: since the leader leads, with other credentials, or by the last verification. */
export function unreadAccounts(accounts: Accounts): ReadonlyMap<string, string> {
  const { lists } = accounts;
  const whyUnread = (key: string): string | null => {
    const { problem } = lists.stateOf(key);
    if (problem === null) return null;
    return accountTrouble(key, accounts)?.message ?? `the addresses of ${key} could not be read when that was last tried: ${problem}`;
  };
  const whys = [...lists.names()].map((key) => [key, whyUnread(key)] as const);
  return new Map(whys.flatMap(([key, why]) => (why === null ? [] : [[key, why]])));
}

/** How many these are, under the name that figures of theirs are counted under; 0 where all can be read. */
export function unreadCounts(accounts: Accounts): ReadonlyMap<string, number> {
  const unread = unreadAccounts(accounts);
  const counts = new Map<string, number>();
  for (const key of accounts.lists.names()) counts.set(labelOf(key), (counts.get(labelOf(key)) ?? 0) + (unread.has(key) ? 1 : 0));
  return counts;
}
