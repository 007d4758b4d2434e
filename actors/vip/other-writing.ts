import { parseAddress } from '../../machines/model/address.ts';
import type { Address } from '../../machines/model/types.ts';
import type { ServiceObserved } from '../../machines/vip/decisions.ts';
import type { VipService } from '../../machines/vip/objects.ts';
import { asksOfUs } from '../../machines/vip/request.ts';

/** Facts about a Service whose ingress another controller has written, or which we have marked so; empty for any other. `knows`: an IPGroup has the address, or an IP of it
 *  exists. An ingress written by another allocator of IPGroups is known, too: it is not foreign. */
export function otherWriting(service: VipService, knows: (address: Address) => boolean): Pick<ServiceObserved, 'foreign' | 'asks'> {
  const { by, contended, ingress } = service;
  if (by === undefined && contended === undefined) return {};
  const isKnown = (text: string | null): boolean => {
    const address = parseAddress(text ?? '');
    return address !== null && knows(address);
  };
  const asks = asksOfUs(service, isKnown);
  if (asks !== '') return { asks };
  return by !== undefined && !ingress.some(({ ip }) => isKnown(ip)) ? { foreign: true } : {};
}
