import type { VipContext, VipTarget } from '../../machines/vip/decisions.ts';
import type { ReservedIP, VipService } from '../../machines/vip/objects.ts';

/** A Service's reserved addresses, as they affect what it gets. */

/** Without those of a former Service of the same name. */
export const ofItsOwn = (owned: readonly ReservedIP[], { ref }: VipService): readonly ReservedIP[] =>
  owned.filter(({ owner }) => owner?.uid === null || owner?.uid === ref.uid);

/** With what we have just reserved, and without what we have just freed. */
export const asWritten = (owned: readonly ReservedIP[], { late: { freed, reserved } }: VipContext): readonly ReservedIP[] => {
  const left = owned.filter(({ uid }) => !freed.includes(uid));
  return [...left, ...reserved.filter(({ uid }) => !left.some((ip) => ip.uid === uid))];
};

export const targetOf = ({ address, group }: ReservedIP): VipTarget => ({ address, group: group ?? '' });

/** The address that its ingress lists, else the first. */
export const best = (own: readonly ReservedIP[], { ingress }: VipService): VipTarget | null => {
  const found = own.find(({ address }) => ingress.some(({ ip }) => ip === address)) ?? own[0];
  return found ? targetOf(found) : null;
};
