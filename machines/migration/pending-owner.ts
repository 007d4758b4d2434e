import { parseAddress } from '../model/address.ts';
import type { ReservedIP, VipService } from '../vip/objects.ts';
import type { VirtualIP } from '../vip/virtualip.ts';
import { isOver } from './phase.ts';

/** The IP is the Service's by now, or is to be, and the VirtualIP that it comes from is not migrated yet: whatever the Service is like meanwhile, nobody frees it.
 *  @param marked the VirtualIP that the Service names as the one that is migrated to it
 *  @param vips all that there are; null when they may not be looked at: then the Service is believed */
export function isPromised(ip: ReservedIP, marked: string | null, vips: readonly VirtualIP[] | null): boolean {
  const { owner } = ip;
  if (owner === null) return false;
  if (vips === null) return marked !== null;
  return vips.some((vip) => {
    const { ref, status } = vip;
    if (ref.namespace !== owner.namespace || isOver(vip)) return false;
    const isNamed = ref.name === marked;
    return status.ip === '' ? isNamed : (isNamed || status.service === owner.name) && mayNeed(vip, ip);
  });
}

/** The address may be what the VirtualIP serves by: one that does not know its own yet may have been given any. */
export const mayNeed = ({ status }: VirtualIP, { address }: ReservedIP): boolean => status.ip === '' || parseAddress(status.ip) === address;

/** A VirtualIP that is there is being migrated to the Service, or the Service lists an address that is seen as that VirtualIP's still: what is to come of it is not
 *  known yet, and it is given no other address meanwhile. `ipOf` is the IP of an address, as far as it is seen.
 *  @param vips all that there are; null when they are not seen: then the Service is believed */
export function isReceiving(
  { ref, migrating, ingress }: VipService,
  vips: readonly VirtualIP[] | null,
  ipOf: (address: string) => ReservedIP | null,
): boolean {
  if (vips === null) return migrating !== undefined;
  const own = vips.filter((vip) => vip.ref.namespace === ref.namespace);
  const isNamed = own.some((vip) => vip.ref.name === migrating && !isOver(vip));
  return isNamed || ingress.some(({ ip }) => isOfOne(own, ref.name, ip === null ? null : ipOf(ip)));
}

const isOfOne = (vips: readonly VirtualIP[], service: string, ip: ReservedIP | null): boolean =>
  ip?.legacy === true && vips.some((vip) => vip.status.service === service && vip.ref.name === ip.owner?.name);
