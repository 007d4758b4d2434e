import type { AddressContext } from '../address/context.ts';
import { isOwn } from '../address/context.ts';
import { several } from '../model/several.ts';
import type { Address, Adoption, Finding, ObjectEvent } from '../model/types.ts';
import type { Member } from './assignment.ts';
import { entries, type PoolContext, wanted } from './context.ts';
import type { PoolView } from './view.ts';

/** Addresses that an object names but never owned: they may be in use elsewhere. */

export const adoptionOf = ({ spec, exposed }: Pick<PoolContext, 'spec' | 'exposed'>): Adoption =>
  spec?.adoption ?? (exposed ? 'Unassigned' : 'Any');

/** The address is not taken: it may be in use where it is, or that is unknown. */
export function isWithheld(context: Pick<PoolContext, 'spec' | 'exposed'>, { adopts }: Pick<Member, 'adopts'>): boolean {
  if (adopts === undefined) return false;
  const adoption = adoptionOf(context);
  return adoption === 'Never' || (adoption === 'Unassigned' && adopts !== 'Free');
}

/** The provider has reported the address, and no adoption rule leaves it where it is. */
export const isTaken = (context: Pick<PoolContext, 'spec' | 'exposed'>, member: Pick<Member, 'adopts'>): boolean =>
  member.adopts !== 'Unseen' && !isWithheld(context, member);

/** The place of an address that starts, if it was never the pool's own. */
export function foundAt({ remembered, provided }: PoolContext, address: Address, origin: AddressContext['origin']): Pick<Member, 'adopts'> {
  if (isOwn({ origin, epoch: 0, ...remembered[address] })) return {};
  const observed = provided?.[address];
  return { adopts: observed ? (observed.place ?? 'Free') : 'Unseen' };
}

/** It is the pool's own from now on. */
export function ownedFrom(context: PoolContext, address: Address): PoolContext {
  const { adopts, ...member } = context.members[address] ?? {};
  return adopts === undefined ? context : { ...context, members: { ...context.members, [address]: member as Member } };
}

// ---------------------------------------------------------------- messages for users

/** Why wanted addresses are not taken; null for none. */
export function adoptionProblem({ context }: PoolView): Finding | null {
  const findings = wanted(context).flatMap((address) => findingOf(context, address, context.members[address]) ?? []);
  const [first] = findings;
  return first ? { reason: first.reason, message: several(findings.map(({ message }) => message)) } : null;
}

/** Null also while it is not known yet where the address is. */
export function findingOf(context: PoolContext, address: Address, member: Member | undefined): Finding | null {
  if (!member?.ready || !isWithheld(context, member)) return null;
  const { exposes } = context.spec ?? {};
  const by = exposes ? `adoption of ${exposes.source.kind} ${exposes.source.name}: ${adoptionOf(context)}` : 'adopt: unassigned';
  if (adoptionOf(context) === 'Never')
    return { reason: 'AdoptionNotAllowed', message: `${address} was not made for this RoutedIP, and is not taken (${by})` };
  switch (member.adopts) {
    case 'Outside':
      return {
        reason: 'HeldElsewhere',
        message: `${address} is on ${member.holder}, which is no node of this cluster: it is taken once it is free (${by})`,
      };
    case 'Unsaid':
      return {
        reason: 'AdoptionNotAllowed',
        message: `the Job that is to find ${address} does not say where it is: it is not taken (${by})`,
      };
    default:
      return null;
  }
}

/** What changed between the two contexts: an address is not taken, or was taken off a machine outside this cluster. */
export const adoptionEvents = (before: PoolContext | undefined, after: PoolContext): readonly ObjectEvent[] =>
  entries(after.members).flatMap(([address, member]) => {
    const former = before?.members[address];
    const finding = findingOf(after, address, member);
    if (finding && finding.message !== (before && findingOf(before, address, former)?.message))
      return [{ type: 'Warning' as const, action: 'Adopt', ...finding }];
    const isTaken = former?.adopts === 'Outside' && member.confirmed && former.holder !== member.holder;
    if (!isTaken) return [];
    const message = `${address} was taken off ${former.holder}, which is no node of this cluster`;
    return [{ type: 'Warning' as const, reason: 'AddressTaken', action: 'Adopt', message }];
  });
