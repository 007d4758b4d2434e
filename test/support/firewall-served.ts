import type { ActorRecord } from '../../actors/ports/records.ts';
import type { AddressContext } from '../../machines/address/context.ts';
import { confirmedHere } from '../../machines/address/decisions.ts';
import type { FirewallContext } from '../../machines/firewall/context.ts';
import { portsOn } from '../../machines/firewall/policy.ts';
import { cellOf } from '../../machines/model/actor-id.ts';
import type { ActorId, NodeRef } from '../../machines/model/types.ts';

/** What is open for an address on the node that holds it. */
export interface Served {
  readonly firewall: string;
  readonly node: NodeRef;
  readonly ports: readonly string[];
}

export const contextOf = ({ snapshot }: ActorRecord): AddressContext => snapshot.context as unknown as AddressContext;
export const stateOf = ({ snapshot }: ActorRecord): string => JSON.stringify(snapshot.value);
export const isRouted = (actor: ActorId, { chart }: ActorRecord): boolean => chart === 'ip' && actor.startsWith('rip/');

export const nameOf = (firewall: ActorId): string => firewall.split('/').slice(2).join('/');

/** What is to be open for an address where it is confirmed; null for nothing. */
export function openFor(context: AddressContext): Served | null {
  const { policy, assigned, retiring } = context;
  if (retiring !== null || policy.firewall === null || !assigned || !confirmedHere(context)) return null;
  const ports = portsOn(policy, assigned.name);
  return ports.length === 0 ? null : { firewall: nameOf(policy.firewall), node: assigned, ports };
}

/** Of addresses that are given up and have still to leave the firewall, also while they wait because that was refused: what others left to them goes with them. */
export const cellsLeaving = (firewall: string, records: ReadonlyMap<ActorId, ActorRecord>): readonly ActorId[] =>
  [...records].flatMap(([actor, { chart, snapshot }]) => {
    if (chart !== 'ip') return [];
    const { retiring, claimed } = snapshot.context as unknown as AddressContext;
    return retiring !== null && claimed.some((each) => nameOf(each) === firewall) ? [cellOf(actor)] : [];
  });

/** What was begun for an address that has been given up since goes on, also where another object of its name has the address by now and claims nothing yet. */
export const isUnderWayForGone = (firewall: string, records: ReadonlyMap<ActorId, ActorRecord>): boolean =>
  [...records].some(([actor, { chart, snapshot }]) => {
    if (chart !== 'firewall' || nameOf(actor) !== firewall) return false;
    const { working, claims } = snapshot.context as unknown as FirewallContext;
    return working.some(({ claimant }) => !records.has(claimant) || claims[claimant] === undefined);
  });

/** By its own records all that it wants on the node to which it goes is open there. */
export const isAllOpen = ({ policy, elected, open }: AddressContext): boolean => {
  const ports = elected ? portsOn(policy, elected.name) : [];
  const isThere = open?.node === elected?.name && open?.firewall === policy.firewall;
  return ports.every((port) => isThere && open?.ports.includes(port));
};
