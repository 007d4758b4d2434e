import { verificationActor } from '../../machines/model/actor-id.ts';
import { accountOfList, addressesOf, labelOf } from '../../machines/model/provider-key.ts';
import type { Finding } from '../../machines/model/types.ts';
import { doubtIn } from '../status/pool-view.ts';
import type { Leader } from './leader.ts';

type Accounts = Pick<Leader, 'lists' | 'recordsOf'>;

/** Why the locations of the addresses in an account's list are unknown: the list was not read since the leader leads, or can no longer be verified. Null while they are
 *  known. */
export function accountTrouble(list: string, { lists, recordsOf }: Accounts): Finding | null {
  const unread = lists.refusal(list);
  if (unread !== null) return { reason: 'ProviderUnread', message: unread };
  const id = verificationActor(list);
  const doubt = doubtIn(recordsOf(id)?.get(id));
  return doubt === null ? null : { reason: 'Unverified', message: `${addressesOf(list)} cannot be verified: ${doubt}` };
}

/** Why lists of accounts could not be read at the last attempt, by name: since the leader leads, with other credentials, or at the last verification. */
export function unreadAccounts(accounts: Accounts): ReadonlyMap<string, string> {
  const { lists } = accounts;
  const whyUnread = (list: string): string | null => {
    const problem = lists.problemOf(list);
    if (problem === null) return null;
    return accountTrouble(list, accounts)?.message ?? `${addressesOf(list)} could not be read when that was last tried: ${problem}`;
  };
  const whys = [...lists.names()].map((list) => [list, whyUnread(list)] as const);
  return new Map(whys.flatMap(([list, why]) => (why === null ? [] : [[list, why]])));
}

/** The number of these accounts, by the label under which their metrics are counted; 0 where all can be read. */
export function unreadCounts(accounts: Accounts): ReadonlyMap<string, number> {
  const unread = new Set([...unreadAccounts(accounts).keys()].map(accountOfList));
  const counts = new Map<string, number>([...accounts.lists.names()].map((list) => [labelOf(accountOfList(list)), 0] as const));
  for (const account of unread) counts.set(labelOf(account), (counts.get(labelOf(account)) ?? 0) + 1);
  return counts;
}
