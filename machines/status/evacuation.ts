import { shortList } from '../model/several.ts';
import { EVACUATE, type Evacuation, type NodeRef } from '../model/types.ts';
import { isPaused } from '../pool/annotations.ts';
import { entries } from '../pool/context.ts';
import { isHeld } from '../pool/node-absence.ts';
import { isByIssuer, nodesRemembered } from '../pool/node-claim.ts';
import type { AddressView, PoolView } from '../pool/view.ts';

/** True once no address is on the node or on its way to it; otherwise how many are, which, and why they stay. Unknown while none is known to be there but some have not
 *  reported where they are. */
export function evacuationOf(node: NodeRef, views: readonly PoolView[], areAllSeen: boolean): Evacuation {
  const held = views.flatMap((view) => heldBy(node, view)).sort();
  if (held.length > 0) {
    const count = held.length === 1 ? '1 address is' : `${held.length} addresses are`;
    return { status: 'False', reason: 'AddressesHeld', message: `${count} held here: ${shortList(held)}` };
  }
  return areAllSeen && views.every((view) => isHeard(node, view))
    ? { status: 'True', reason: 'NoAddressHeld', message: 'no address is held here' }
    : { status: 'Unknown', reason: 'Priming', message: 'where the addresses are is being read' };
}

/** The value of the annotation is invalid. */
export const unclearEvacuation = (says: string): Evacuation => ({
  status: 'False',
  reason: 'InvalidAnnotation',
  message: `${EVACUATE} is "${says}", which is neither "true" nor "false": it counts as "false"`,
});

const heldBy = (node: NodeRef, view: PoolView): readonly string[] =>
  Object.values(view.addresses).flatMap((shown) =>
    isOn(node, shown) ? [`${shown.context.address} (${ownerOf(view)}: ${whyHere(view, shown)})`] : [],
  );

const isOn = ({ name, providerID }: NodeRef, { context: { elected, assigned, holder } }: AddressView): boolean =>
  holder === providerID || elected?.name === name || assigned?.name === name;

const ownerOf = ({ context: { ref } }: PoolView): string => `${ref.kind} ${ref.namespace}/${ref.name}`;

function whyHere({ context }: PoolView, { state }: AddressView): string {
  if (context.error !== null) return 'its spec is not valid';
  if (isPaused(context)) return 'it is paused';
  if (isHeld(context)) return 'it holds all its addresses where they are';
  return state === 'Stable' || state === 'Unassigned' ? 'waits for another node' : 'is on its way';
}

/** Every address of the pool has reported where it is since it was started, except those that were never its own: any object may name one. The author of an issuer may give it
 *  a token that the provider refuses: its address is waited for only where the status shows it on the node. */
const isHeard = (node: NodeRef, { context, state }: PoolView): boolean =>
  context.error !== null ||
  (isByIssuer(context) && !nodesRemembered(context).includes(node.name)) ||
  (state !== 'Priming' && entries(context.members).every(([, { heard, adopts }]) => heard || adopts !== undefined));
