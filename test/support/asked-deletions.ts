import type { MemoryProvider } from '../../adapters/memory/provider.ts';
import type { Address } from '../../machines/model/types.ts';
import { hearSent } from './sent-calls.ts';

/** Tells of each call that is to delete an address when it is sent (`isSent`); and when it comes to the account, as those of Jobs do. */
export function asksToDelete(provider: MemoryProvider, asked: (address: Address, isSent: boolean) => void): void {
  const { cloud } = provider;
  hearSent(provider, ({ verb, args }) => {
    if (verb === 'deleteRoutedIP') asked(args[0] as Address, true);
  });
  const { delete: remove } = cloud;
  cloud.delete = (address) => {
    asked(address, false);
    remove.call(cloud, address);
  };
}
