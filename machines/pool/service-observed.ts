import type { Effect, RetirePolicy, SpecObserved } from '../events.ts';
import type { FirewallPolicy } from '../model/firewall-policy.ts';
import { isPrivate } from '../model/provider-key.ts';
import type { Address, BoundAddress, ClassInUse, ObservedService } from '../model/types.ts';
import { accountOf } from '../spec/class.ts';
import type { CheckedSpec, PoolSpec } from '../spec/pool.ts';
import { checkRoutedIP, type RoutedIPFact, reclaimOf, sourceOf } from '../spec/routedip.ts';
import { isTaken } from './adoption.ts';
import { isPaused } from './annotations.ts';
import type { Member } from './assignment.ts';
import type { Next, PoolContext } from './context.ts';
import { entries, listed, next, tell, wanted } from './context.ts';
import type { Binding, Exposed } from './exposed.ts';
import { unsupported } from './service-nodes.ts';
import { servicePorts } from './service-ports.ts';

/** A RoutedIP: what its single-address pool observes about the exposed Service, and the policy it sends to its address. */

const withExposed = (context: PoolContext, change: Partial<Exposed>): PoolContext =>
  context.exposed ? { ...context, exposed: { ...context.exposed, ...change } } : context;

/** The RoutedIP may be deleted before its spec is valid and its credentials exist: the current reclaim policy of its class counts then. A class that never served it cannot
 *  cause a deletion. */
function withReclaim(context: PoolContext, fact: RoutedIPFact): PoolContext {
  const { spec } = context;
  const reclaim = reclaimOf(fact);
  if (reclaim === null || !spec?.exposes || spec.exposes.reclaim === reclaim) return context;
  const by = classInUse(spec);
  if (reclaim === 'Delete' && !(by && isBySame(by, fact))) return context;
  const { subject } = spec.exposes;
  return {
    ...context,
    spec: { ...spec, exposes: { ...spec.exposes, reclaim, subject: subject && { ...subject, reclaimPolicy: reclaim } } },
  };
}

/** What happens to an address whose owner is deleted. */
export function policyFor(context: PoolContext, address: Address): RetirePolicy {
  const { spec, exposed, created, members } = context;
  if (spec?.exposes?.reclaim !== 'Delete') return 'Retain';
  if (created.includes(address)) return 'Delete';
  const { retiring, adopts } = members[address] ?? {};
  // A retired one is at another account, where others may have created it. One that was never its own may be in use elsewhere.
  const isOwn = context.provider === spec.provider && !retiring && adopts === undefined;
  return exposed?.deleteAdopted && isOwn && letsDeleteAdopted(spec) ? 'DeleteAdopted' : 'Retain';
}

/** An issuer with the operator's credentials does not allow deleting what others created in that account. */
export const letsDeleteAdopted = ({ provider, exposes }: PoolSpec): boolean =>
  exposes?.source.kind === 'ClusterRoutedIPClass' || isPrivate(provider);

/** Checks the spec together with the class. The former policy of a class that has become invalid still applies. */
export function checkExposed(former: PoolContext, event: SpecObserved): { readonly context: PoolContext; readonly checked: CheckedSpec } {
  const { guarded = true, deleteAdopted = false } = event;
  const context = event.bound ? bindShown(former, event.bound) : withRetained(unboundOf(former, event.conflicts), event.retained);
  const given = event.spec as RoutedIPFact;
  const isKept = given.barred !== undefined && isServedBy(context, given);
  const known = withExposed(context, { guarded, deleteAdopted, ...keptBy(context, isKept ? given : {}) });
  const checked = checkRoutedIP(isKept ? unbarred(given) : given, event.registry);
  if (!checked.spec) {
    if (checked.keeps && context.spec && context.error === null)
      return {
        context: withExposed(known, { policyError: checked.error }),
        checked: { spec: keeping(context, context.spec, checked.keeps), error: null },
      };
    const source = sourceOf(given);
    return {
      context: withExposed(withReclaim(known, given), {
        reason: checked.reason,
        ...policyFault(context, checked.keeps !== null),
        policyError: null,
        ...(source && { source }),
      }),
      checked: { spec: null, error: checked.error },
    };
  }
  const isLeaving = event.deleting === true;
  const moved = isLeaving ? null : movedAddress(context, checked.spec);
  if (moved !== null)
    return {
      context: withExposed(known, { reason: 'InvalidSpec', ...policyFault(context, false) }),
      checked: { spec: null, error: moved },
    };
  return { context: withExposed(known, { reason: null, policyError: null }), checked: withBound(context, checked.spec, isLeaving) };
}

/** Whether the class or issuer is at fault. */
const policyFault = ({ exposed }: PoolContext, byPolicy: boolean): Pick<Exposed, 'byPolicy'> =>
  byPolicy || exposed?.byPolicy ? { byPolicy } : {};

/** A RoutedIP keeps the address of its class, but no other class serves it on that basis. After the records were lost the status shows which class it was. */
export function isServedBy(
  { spec, exposed }: Pick<PoolContext, 'spec'> & { readonly exposed: Binding | null },
  fact: RoutedIPFact,
): boolean {
  if (!exposed || exposed.bound === null) return false;
  const by = spec?.exposes ? classInUse(spec) : exposed.boundBy;
  return by !== undefined && isBySame(by, fact);
}

/** The class or issuer that serves a spec. */
export const classInUse = ({ provider, exposes }: PoolSpec): ClassInUse | undefined => exposes && { ...exposes.source, provider };

/** It names the class or issuer that served it last; an issuer must also have the same credentials, which its author may change at any time. */
function isBySame({ kind, name, provider }: ClassInUse, fact: RoutedIPFact): boolean {
  const { policy, operatorNamespace } = fact;
  const isOtherAccount =
    provider !== undefined && policy?.kind === 'RoutedIPIssuer' && accountOf(policy, operatorNamespace)?.provider !== provider;
  const named = sourceOf(fact);
  return !isOtherAccount && kind === named?.kind && name === named.name;
}

/** Before the labels of its Namespace are known nothing changes. */
function keptBy({ exposed }: PoolContext, { refusal }: Pick<RoutedIPFact, 'refusal'>): Partial<Exposed> {
  if (refusal?.isGuess || (!refusal && !exposed?.kept)) return {};
  return { kept: refusal ?? null };
}

const unbarred = ({ barred: _, refusal: __, ...open }: RoutedIPFact): RoutedIPFact => open;

/** The last valid spec with the currently named addresses: those named earlier may belong to others. */
const keeping = ({ exposed }: PoolContext, spec: PoolSpec, ips: readonly Address[]): PoolSpec =>
  exposed?.bound || spec.exposes?.group ? spec : { ...spec, ips };

/** A RoutedIP keeps its bound address, whether the spec still names it or not: no other one is created. When it is deleted it gives up that address, whatever its current spec
 *  requests. */
function withBound({ exposed }: PoolContext, spec: PoolSpec, isLeaving: boolean): CheckedSpec {
  const bound = exposed?.bound ?? null;
  return { spec: bound && (isLeaving || spec.ips.length === 0) ? { ...spec, ips: [bound] } : spec, error: null };
}

/** Why the spec requests another address than the one bound to this RoutedIP, or created for it and about to be bound; null when it does not. */
function movedAddress(context: PoolContext, { ips, exposes }: PoolSpec): string | null {
  const asked = ips[0] ?? exposes?.group?.address ?? null;
  const bound = context.exposed?.bound ?? (isLeftOver(context) ? null : context.acquiring.unpublished);
  return asked && bound && asked !== bound
    ? `spec.routedIP is ${asked}, but ${bound} is bound: delete this RoutedIP and create another one for ${asked}`
    : null;
}

/** Takes over the state of the Service, and notifies the address when its firewall policy changes. A deleted Service closes nothing. */
export function observeService(context: PoolContext, service: ObservedService | null): Next {
  const { spec, exposed } = context;
  if (!spec?.exposes || !exposed) return next(context);
  const { exposes } = spec;
  const name = `${exposes.service.namespace}/${exposes.service.name}`;
  if (!service) {
    const trouble = { reason: 'ServiceNotFound' as const, message: `there is no Service ${name}` };
    const { ports, portsOn } = exposed.policy;
    return tellPolicy({ ...context, exposed: { ...exposed, trouble } }, { ...policyOf(spec, ports), ...(portsOn && { portsOn }) });
  }
  const why = unsupported(service);
  const { nodePortRange, sources, source } = exposes;
  const limits = exposes.firewall === null ? null : exposes;
  const rules = { open: nodePortRange, sources, limits, source: `${source.kind} ${source.name}` };
  const { ports, portsOn, warnings } = servicePorts(service, rules);
  const trouble = why === null ? null : { reason: 'ServiceNotSupported' as const, message: `Service ${name}: ${why}` };
  const differ = Object.keys(portsOn).length > 0;
  return tellPolicy({ ...context, exposed: { ...exposed, trouble, warnings } }, { ...policyOf(spec, ports), ...(differ && { portsOn }) });
}

const policyOf = ({ exposes }: PoolSpec, ports: readonly string[]): FirewallPolicy => ({
  firewall: exposes?.firewall ?? null,
  postAllow: exposes?.postAllow ?? false,
  ports,
  ...(exposes?.exclusive && { exclusive: true }),
  taint: exposes?.taint ?? null,
  ...(exposes?.byJobs && { byJobs: true }),
  ...(exposes?.revision && { revision: exposes.revision }),
  ...(exposes && { perNode: exposes.perNode }),
  ...(exposes?.subject && { subject: exposes.subject }),
});

function tellPolicy(context: PoolContext, policy: FirewallPolicy): Next {
  if (!context.exposed || JSON.stringify(policy) === JSON.stringify(context.exposed.policy)) return next(context);
  // An existing address is notified once the pause is over; one that starts meanwhile needs the current policy.
  if (isPaused(context) && entries(context.members).length > 0) return next(context);
  const provider = policy.subject && context.spec?.provider;
  const event = { type: 'POLICY_OBSERVED', policy, ...(provider && { provider }) } as const;
  const effects = entries(context.members).map(([address]): Effect => tell(context, address, event));
  return next(withExposed(context, { policy }), effects);
}

/** Another object was bound at the same moment to the address that this RoutedIP expected, before it was shown here: this one waits for it as before. */
function unboundOf(context: PoolContext, conflicts: PoolContext['conflicts']): PoolContext {
  const bound = context.exposed?.bound ?? null;
  const isLost = bound !== null && conflicts[bound] !== undefined && !context.created.includes(bound);
  return isLost ? withExposed(context, { bound: null }) : context;
}

/** Records older than the status do not contain the address: another one would be created, and this one would never be given back. */
function bindShown(context: PoolContext, { address, created }: BoundAddress): PoolContext {
  // The pool that created it is about to bind it, and has more information.
  if (context.acquiring.unpublished === address) return context;
  const bound = bind(context, address);
  const isNews = bound !== context && created && !context.created.includes(address);
  return isNews ? { ...bound, created: [...context.created, address] } : bound;
}

/** An address created for an earlier RoutedIP of its name counts as created for this one. */
function withRetained(context: PoolContext, retained: Address | undefined): PoolContext {
  if (retained === undefined || context.exposed?.bound !== null || context.created.includes(retained)) return context;
  return { ...context, created: [...context.created, retained] };
}

/** This RoutedIP has another address by now, or a user has named one meanwhile. */
export function hasOther(context: PoolContext, address: Address): boolean {
  const own = context.exposed && (context.exposed.bound ?? listed(context)[0] ?? null);
  return own !== null && own !== address;
}

/** What was, or may have been, created for this RoutedIP is no longer for it. */
export function isLeftOver(context: PoolContext): boolean {
  const { unpublished, unclear } = context.acquiring;
  const made = unpublished ?? unclear[0];
  return made !== undefined && hasOther(context, made);
}

/** Binds a RoutedIP permanently to the address that it requests, once the provider has reported it and it may be taken. An address being given back does not count. */
export function bindTaken(context: PoolContext): PoolContext {
  const only = context.exposed && wanted(context).find((address) => isHad(context, context.members[address]));
  return only ? bind(context, only) : context;
}

const isHad = (context: PoolContext, member: Member | undefined): boolean =>
  member !== undefined && !member.retiring && isTaken(context, member);

/** Makes the address the permanent one of this RoutedIP. */
export function bind(context: PoolContext, address: Address): PoolContext {
  const { exposed, spec, acquiring } = context;
  if (!exposed || exposed.bound !== null) return context;
  const boundBy = spec === null && acquiring.by ? classInUse(acquiring.by) : undefined;
  return withExposed(context, { bound: address, ...(boundBy && { boundBy }) });
}
