import type { AddressInput, Remembered } from '../address/context.ts';
import type { Effect } from '../events.ts';
import { addressActor } from '../model/actor-id.ts';
import { nodeClaim } from '../model/node-claim.ts';
import type { Address, ObservedAddress } from '../model/types.ts';
import { NO_CONTEST } from '../policy/contention.ts';
import type { Member } from './assignment.ts';
import type { PoolContext } from './context.ts';
import { claimsWithin } from './node-claim.ts';

/** How an address of a pool starts, with its remembered state where the records were lost. */

/** Built once for all the addresses of a turn: searching lists for each of them would be quadratic. */
export interface Start {
  /** The node to which an assign may be under way; null for none. */
  readonly toward: string | null;
  /** Claims of others. */
  readonly claimed: ReadonlySet<string>;
  readonly created: ReadonlySet<Address>;
  /** The namespace within which its claims count; undefined where they count cluster-wide. */
  readonly within: string | undefined;
}

export const startOf = (context: PoolContext): Start => ({
  toward: null,
  claimed: new Set(context.fullNodes),
  created: new Set(context.created),
  within: claimsWithin(context),
});

export const originIn = ({ created }: Start, address: Address): AddressInput['origin'] => (created.has(address) ? 'Created' : 'Found');

/** After the records were lost: an assign may be under way for an address that the spec no longer lists. The address is started only to keep it and the node from others until
 *  that is over. */
export const inDoubt = ({ remembered }: PoolContext): readonly Address[] =>
  (Object.keys(remembered) as Address[]).filter((address) => remembered[address]?.inDoubtUntil !== null);

/** After the records were lost: addresses that are still where they served according to the status come first. If two are found on one node the first keeps it: the other was
 *  moved there by other means, or has just joined the pool. */
export function stayersFirst({ remembered, provided }: PoolContext, addresses: ReadonlySet<Address>): readonly Address[] {
  const stays = (address: Address): boolean => {
    const servedOn = remembered[address]?.servedOn;
    return servedOn !== undefined && servedOn === provided?.[address]?.providerID;
  };
  return [...addresses].sort((a, b) => Number(stays(b)) - Number(stays(a)));
}

/** After the records were lost: what was opened for an address that is not started is no longer needed, and no actor runs that would give it back. */
export const givenBack = ({ id, remembered, members }: PoolContext): readonly Effect[] =>
  (Object.keys(remembered) as Address[]).flatMap((address) => {
    const { claimed = [] } = remembered[address] ?? {};
    if (members[address]) return [];
    const event = { type: 'CLAIM', claimant: addressActor(id, address), claimId: '', node: null, ports: [], mode: 'prune' };
    return claimed.map((to): Effect => ({ type: 'tell', params: { to, event } }));
  });

export const newMember = (rank: number, observed: ObservedAddress | null): Member => ({
  rank,
  ready: false,
  holder: observed?.providerID ?? null,
  region: observed?.region ?? '',
  node: null,
  stands: null,
  confirmed: false,
  eligible: false,
  contest: NO_CONTEST,
  retiring: false,
  heard: false,
});

/** The node to which an assign of the address may be under way, to be kept from others; null when there is none, or when another address has or gets it: that one must not be
 *  blocked. Adds it to `towards`, the nodes that addresses have or get. */
export function towardOf({ remembered }: PoolContext, address: Address, { claimed, within }: Start, towards: Set<string>): string | null {
  const { toward, inDoubtUntil = null } = remembered[address] ?? {};
  if (toward === undefined || inDoubtUntil === null || towards.has(toward) || claimed.has(nodeClaim(toward, address, within))) return null;
  towards.add(toward);
  return toward;
}

/** The remembered state of an address that starts. With a claim on a node that others have by now it could not start. */
function rememberedOf({ remembered }: PoolContext, address: Address, { toward, claimed, within }: Start): Remembered | null {
  const all = remembered[address];
  if (!all) return null;
  const { toward: _, contendedUntil: __, servedOn: ___, elected: ____, ...others } = all;
  const isTaken = others.on !== undefined && claimed.has(nodeClaim(others.on.name, address, within));
  return { ...others, ...(toward !== null && { toward }), ...(isTaken && { isTaken }) };
}

function addressInput(context: PoolContext, address: Address, start: Start): AddressInput {
  const remembered = rememberedOf(context, address, start);
  return {
    id: addressActor(context.id, address),
    pool: context.id,
    provider: context.spec?.provider ?? '',
    address,
    origin: originIn(start, address),
    observed: context.provided?.[address] ?? null,
    ...(remembered && { remembered }),
    ...(context.exposed && { policy: context.exposed.policy }),
    ...(context.spec?.exposes && { perNode: context.spec.exposes.perNode }),
    ...(start.within !== undefined && { claimsWithin: start.within }),
  };
}

export const spawned = (context: PoolContext, address: Address, start: Start = startOf(context)): Effect => ({
  type: 'spawn',
  params: { chart: 'ip', id: addressActor(context.id, address), input: addressInput(context, address, start) },
});
