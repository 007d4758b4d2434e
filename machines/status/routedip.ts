import type { AddressContext } from '../address/context.ts';
import { confirmedHere } from '../address/decisions.ts';
import { opens } from '../address/firewall-claim.ts';
import type { FirewallOwned } from '../jobs.ts';
import { firewallOf } from '../model/actor-id.ts';
import { isUntilChanged, UNTIL_CHANGED } from '../model/backoff.ts';
import { parsePort } from '../model/port.ts';
import type { ActorId, Address, ClassInUse, Finding } from '../model/types.ts';
import { adoptionProblem, isTaken } from '../pool/adoption.ts';
import type { Member } from '../pool/assignment.ts';
import { entries, listed, type PoolContext, wanted } from '../pool/context.ts';
import type { Exposed } from '../pool/exposed.ts';
import { isFromGroup } from '../pool/ip-group-offer.ts';
import { parkedFinding, unassignedCondition } from '../pool/parking.ts';
import { classInUse } from '../pool/service-observed.ts';
import { type AddressView, type PoolView, stamp } from '../pool/view.ts';
import { awaitsResume, pausedCondition } from './annotations.ts';
import { contention, refused } from './nodes.ts';
import {
  addressProblem,
  addressStatus,
  busyOf,
  creationProblem,
  degraded,
  type PoolCondition,
  progressing,
  unverifiedProblem,
  verified,
  waitingProblem,
} from './pool.ts';

/** The status of a RoutedIP: that of its single-address pool, in the fields of its kind. */
export interface RoutedIPView extends PoolView {
  /** What was added to the firewalls on which its address has claims. */
  readonly owned: Readonly<Record<ActorId, FirewallOwned>>;
  /** What its address needs and was removed from its firewall; null for nothing. */
  readonly loss: string | null;
  /** What a job for it waits for; null for nothing worth reporting. */
  readonly waits: Finding | null;
}

export interface RoutedIPCondition extends Omit<PoolCondition, 'type'> {
  readonly type: PoolCondition['type'] | 'FirewallReady';
}

/** The address that the RoutedIP has, or is about to have; null before that. */
const only = ({ context, addresses }: PoolView): { readonly address: Address; readonly shown: AddressView | null } | null => {
  const { members, exposed, deleted } = context;
  // An address that is only being given back does not count, unless the RoutedIP itself is deleted.
  const own = entries(members).flatMap(([each, { retiring }]) => (retiring && !deleted && each !== exposed?.bound ? [] : [each]));
  // A paused RoutedIP may also have another address, which it requested before.
  const asked = own.filter((each) => listed(context).includes(each));
  const [address] = [...asked, ...own, ...(exposed?.bound ? [exposed.bound] : [])];
  return address ? { address, shown: addresses[address] ?? null } : null;
};

type Fields = Readonly<Record<string, unknown>>;

/** Everything but the conditions: what users look for, and what a rebuild needs when the records are lost. Fields without a value are absent. */
export function routedIPStatus(view: RoutedIPView): Fields {
  const { context } = view;
  const { ips, nodeErrors, observedGeneration, lastAssignmentTime, term, pendingCreate } = addressStatus(view);
  const found = only(view);
  const entry = found ? ips[found.address] : undefined;
  const address = found && isGot(context, found.address) ? found.address : null;
  return present({
    routedIP: address,
    addressOrigin: address && originOf(context, address),
    class: classOf(context),
    state: stateOf(view, found?.shown ?? null),
    error: context.error ?? entry?.error ?? problemOf(view)?.message,
    ...whereabouts(found?.shown ?? null),
    nodeErrors: unlessEmpty(nodeErrors),
    ownedRules: unlessEmpty(Object.entries(view.owned).map(ownedRule)),
    epoch: entry?.epoch,
    unconfirmed: entry?.unconfirmed,
    attempts: found?.shown?.context.attempts || null,
    coolOffUntil: entry?.coolOffUntil,
    inDoubt: entry?.inDoubt,
    notReadySince: entry?.notReadySince,
    graceUntil: entry?.graceUntil,
    contendedUntil: entry?.contendedUntil,
    lastAssignmentTime,
    pendingCreate,
    observedGeneration,
    term,
  });
}

/** An address that is not taken, or was never its own and is no longer requested, is not shown: a rebuild would bind it permanently. */
function isGot(context: PoolContext, address: Address): boolean {
  const member: Pick<Member, 'adopts'> = context.members[address] ?? {};
  const isAsked = member.adopts === undefined || wanted(context).includes(address);
  return address === context.exposed?.bound || (isAsked && isTaken(context, member));
}

/** The class that provided its address, whatever it names now; before it has an address, the class it names. */
function classOf({ spec, exposed, error }: PoolContext): ClassInUse | undefined {
  const named = error === null ? undefined : exposed?.source;
  const used = spec ? classInUse(spec) : exposed?.boundBy;
  return exposed?.bound ? (used ?? named) : (named ?? used);
}

const originOf = (context: PoolContext, address: Address): 'Found' | 'Created' | 'IPGroup' => {
  // An address being given back was created for it, and may be deleted only because of that: a rebuild has to know.
  if (!context.created.includes(address) && context.acquiring.givenBack !== address) return 'Found';
  return isFromGroup(context) ? 'IPGroup' : 'Created';
};

function whereabouts(shown: AddressView | null): Fields {
  if (!shown) return {};
  const { elected, assigned, holder, previous, policy } = shown.context;
  const former = previous.map(({ name }) => name);
  return {
    electedNode: elected?.name,
    assignedNode: assigned?.name,
    providerID: holder,
    previousNode: former.at(-1),
    previousNodes: unlessEmpty([...former].sort()),
    firewall: policy.firewall && nameOf(policy.firewall),
    ports: unlessEmpty(openPorts(shown.context)),
  };
}

const present = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
const unlessEmpty = <T>(items: readonly T[]): readonly T[] | null => (items.length > 0 ? items : null);

const stateOf = ({ context }: PoolView, shown: AddressView | null): string => {
  if (shown) return shown.state;
  return context.deleted ? 'Released' : 'Unassigned';
};

const nameOf = (firewall: ActorId): string => firewallOf(firewall).name;

/** Ports confirmed as open for the node on which the address was confirmed. */
function openPorts(context: AddressView['context']): readonly { readonly port: number; readonly protocol: string }[] {
  const { open, assigned, policy } = context;
  if (!open || open.node !== assigned?.name || open.firewall !== policy.firewall) return [];
  return open.ports.map(parsePort).map(({ port, protocol }) => ({ port, protocol }));
}

const ownedRule = ([firewall, { ports, nodes }]: [string, FirewallOwned]) => ({
  firewall: nameOf(firewall),
  provider: firewallOf(firewall).provider,
  ports: ports.map(parsePort),
  nodes,
});

// ---------------------------------------------------------------- conditions

/** Ready: the address is confirmed on an eligible node, and its ports are open. The others as for a pool; FirewallReady covers only the firewall. */
export function routedIPConditions(view: RoutedIPView): readonly RoutedIPCondition[] {
  const shown = only(view)?.shown ?? null;
  const problem = problemOf(view);
  const busy = busyOf(view);
  const serves = shown !== null && isServing(shown) && view.context.error === null && !awaitsResume(view);
  const node = shown?.context.assigned?.name;
  return [
    serves
      ? verified(view, { type: 'Ready', status: 'True', reason: 'Assigned', message: `${shown.context.address} is on ${node}` })
      : { type: 'Ready', status: 'False', ...(problem ?? busy ?? { reason: 'Waiting', message: 'waits for an address' }) },
    progressing(busy, coolOffOf(view, shown) ?? undefined),
    degraded(problem),
    shown ? firewallCondition(shown, view) : firewallBefore(view),
    ...pausedCondition(view.context),
    ...unassignedCondition(view.context),
  ];
}

/** Nothing is under way, but a retry will follow. */
function coolOffOf({ context: { acquiring } }: PoolView, shown: AddressView | null): Finding | null {
  const { failure, until } =
    shown?.state === 'CoolOff'
      ? { failure: shown.context.failure, until: shown.context.coolOffUntil }
      : { failure: acquiring.failure, until: acquiring.failure && acquiring.until };
  if (until === null) return null;
  const next = `the next try comes at ${stamp(until)}`;
  return { reason: 'CoolOff', message: isUntilChanged(failure) ? `${UNTIL_CHANGED}; ${next}` : next };
}

/** Also true while only the pruning is left, or has failed. */
function isServing({ state, context }: AddressView): boolean {
  if (!confirmedHere(context) || !context.eligible) return false;
  return state === 'Stable' || state === 'Pruning' || (state === 'CoolOff' && context.resume === 'Pruning');
}

function problemOf(view: RoutedIPView): Finding | null {
  const { context } = view;
  const { exposed } = context;
  if (context.error !== null) {
    const elsewhere = exposed?.byPolicy && { elsewhere: true as const };
    return { reason: exposed?.reason ?? 'InvalidSpec', message: context.error, ...elsewhere };
  }
  return (
    exposed?.refusal ??
    awaitsResume(view) ??
    view.waits ??
    creationProblem(context) ??
    addressProblem(view) ??
    refused(view) ??
    contention(view) ??
    lossProblem(view.loss) ??
    exposed?.trouble ??
    adoptionProblem(view) ??
    waitingProblem(view) ??
    parkedFinding(context) ??
    notAllowed(exposed) ??
    (exposed?.policyError ? { reason: 'InvalidSpec', message: `${exposed.policyError}; what it said before goes on` } : null) ??
    unverifiedProblem(view)
  );
}

/** The ports that its class does not allow: everything else continues. */
function notAllowed(exposed: Exposed | null): Finding | null {
  const refused = exposed?.warnings.filter(({ reason }) => reason === 'PortNotAllowed') ?? [];
  return refused.length === 0 ? null : { reason: 'PortNotAllowed', message: refused.map(({ message }) => message).join('; ') };
}

const lossProblem = (message: string | null): Finding | null => (message === null ? null : { reason: 'FirewallClosed', message });

const NO_FIREWALL: RoutedIPCondition = {
  type: 'FirewallReady',
  status: 'True',
  reason: 'NoFirewall',
  message: 'no firewall is managed for this address',
};

/** While there is no address: whether there is a firewall is unknown until the class is known. */
const firewallBefore = ({ context: { spec, acquiring } }: PoolView): RoutedIPCondition => {
  const type = 'FirewallReady' as const;
  const { failure } = acquiring;
  if (spec?.exposes && spec.exposes.firewall === null) return NO_FIREWALL;
  if (failure?.reason === 'FirewallNotFound' || failure?.reason === 'FirewallNotSupported')
    return { type, status: 'False', reason: failure.reason, message: failure.message };
  return { type, status: 'Unknown', reason: 'Opening', message: 'there is no address yet' };
};

function firewallCondition(shown: AddressView, { loss, context: { exposed } }: RoutedIPView): RoutedIPCondition {
  const type = 'FirewallReady' as const;
  const { failure } = shown.context;
  if (shown.state === 'CoolOff' && failure?.reason) return { type, status: 'False', reason: failure.reason, message: failure.message };
  if (shown.context.policy.firewall === null) return NO_FIREWALL;
  const firewall = nameOf(shown.context.policy.firewall);
  if (loss !== null) return { type, status: 'False', reason: 'FirewallClosed', message: loss };
  const refusal = notAllowed(exposed);
  if (refusal) return { type, status: 'False', ...refusal };
  const { deferred } = shown.context;
  if (shown.state === 'Stable' && deferred) return { type, status: 'True', reason: 'PruneDeferred', message: deferred };
  if (opensNothing(shown.context))
    return { type, status: 'True', reason: 'NothingToOpen', message: `nothing is to be opened in ${firewall}` };
  return isServing(shown)
    ? { type, status: 'True', reason: 'FirewallOpened', message: `the ports are open in ${firewall}` }
    : { type, status: 'Unknown', reason: 'Opening', message: `the ports are not confirmed open in ${firewall}` };
}

/** Nothing to open on its node, or on any node while it has none: if there is something, it is not confirmed as open. */
const opensNothing = (context: AddressContext): boolean =>
  context.elected ? !opens(context) : [context.policy.ports, ...Object.values(context.policy.portsOn ?? {})].flat().length === 0;

/** For the mark of holders: nodes that hold the address, are about to get it, or are not left for good yet. */
export function holderNodes(view: AddressView): readonly string[] {
  const { elected, assigned, previous } = view.context;
  const left = confirmedHere(view.context) ? [] : previous;
  return [...new Set([elected, assigned, ...left].flatMap((node) => node?.name ?? []))].sort();
}
