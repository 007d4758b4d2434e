import type { MemoryProvider } from '../../adapters/memory/provider.ts';
import type { LoggedCall } from '../../adapters/memory/requests.ts';
import type { Address } from '../../machines/types.ts';

/** Tells of each call that is to delete an address when it is sent, since one that is refused, or lost on its way, asks for it all the same; and when it comes to the
 *  account, as those of Jobs do. */
export function asksToDelete({ calls, cloud }: MemoryProvider, asked: (address: Address) => void): void {
  const log = calls as LoggedCall[];
  const { push } = log;
  log.push = (...added) => {
    for (const { verb, args, result } of added) if (verb === 'deleteRoutedIP' && result === 'sent') asked(args[0] as Address);
    return push.apply(log, added);
  };
  const { delete: remove } = cloud;
  cloud.delete = (address) => {
    asked(address);
    remove.call(cloud, address);
  };
}
