import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import type { Stage } from '../domain.ts';
import type { PlayedRoutedIP } from './routed-ips.ts';

/** What is not as it must be of RoutedIPs once nothing is in their way. */
export function wrongRoutedIPs(stage: Stage, claimants: readonly PlayedRoutedIP[]): readonly string[] {
  const owners = stage.made.owners();
  return claimants.flatMap((claimant) => {
    const { ref, deleting, addresses } = claimant;
    if (deleting) return [`${ref.name} is deleted, and still there: ${shown(stage, ref)}`];
    if (addresses.length === 0) return [`${ref.name} has no address: ${shown(stage, ref)}`];
    return addresses.flatMap((address) =>
      owners.get(address) === ref.uid ? wrongPlace(stage, claimant, address) : wrongConflict(stage, ref),
    );
  });
}

function wrongConflict({ world }: Stage, ref: ObjectRef): readonly string[] {
  const reason = world.reasonOf(ref);
  return reason === 'AddressConflict' ? [] : [`${ref.name} says ${reason}, not AddressConflict`];
}

function wrongPlace(stage: Stage, { ref, service }: PlayedRoutedIP, address: Address): readonly string[] {
  const { world, nodes, services } = stage;
  const { state, assignedNode } = world.statusOf(ref);
  const holder = world.holderIfAny(address);
  const isOpen = world.cluster.conditions(ref).some(({ type, status }) => type === 'FirewallReady' && status === 'True');
  const serves = state === 'Stable' && world.reasonOf(ref) === 'Assigned' && assignedNode === holder && isOpen;
  if (!serves || holder === null) return [`${address} of ${ref.name} is on ${holder}: ${shown(stage, ref)}`];
  return nodes.mayServe(holder) && services?.isOn(service, holder) ? [] : [`${address} of ${ref.name} stays on ${holder}`];
}

function shown({ world }: Stage, ref: ObjectRef): string {
  const { state, assignedNode, electedNode, error } = world.statusOf(ref);
  return `${state}, firewall ${world.reasonOf(ref, 'FirewallReady')}, assigned ${assignedNode}, elected ${electedNode}, ${world.reasonOf(ref)}, ${error ?? 'no error'}`;
}
