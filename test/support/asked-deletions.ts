import type { MemoryProvider } from '../../adapters/memory/provider.ts';
import type { LoggedCall } from '../../adapters/memory/requests.ts';
import type { Address } from '../../machines/types.ts';

/** Tells of each call that is to delete an address when it is sent (`isSent`), since one that is refused, or lost on its way, asks for it all the same; and when it comes to
 *  the account, as those of Jobs do. */
export function asksToDelete({ calls, cloud }: MemoryProvider, asked: (address: Address, isSent: boolean) => void): void {
  const log = calls as LoggedCall[];
  const { push } = log;
  const heard = (...added: readonly LoggedCall[]): number => {
    for (const { verb, args, result } of added) if (verb === 'deleteRoutedIP' && result === 'sent') asked(args[0] as Address, true);
    return push.apply(log, [...added]);
  };
  // The log is compared with others: only its calls are to be seen.
  Object.defineProperty(log, 'push', { value: heard });
  const { delete: remove } = cloud;
  cloud.delete = (address) => {
    asked(address, false);
    remove.call(cloud, address);
  };
}
