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

/** A RoutedIP: what its pool of one observes of the Service that it exposes, and tells its address of it. */

const withExposed = (context: PoolContext, change: Partial<Exposed>): PoolContext =>
  context.exposed ? { ...context, exposed: { ...context.exposed, ...change } } : context;

/** It may be deleted before its spec is valid and its credentials are there: what its class says by then of its address counts. One by which it was never
 *  served has nothing deleted. */
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

/** What becomes of an address whose owner is deleted. */
export function policyFor(context: PoolContext, address: Address): RetirePolicy {
  const { spec, exposed, created, members } = context;
  if (spec?.exposes?.reclaim !== 'Delete') return 'Retain';
  if (created.includes(address)) return 'Delete';
  const { retiring, adopts } = members[address] ?? {};
  // One that is retired already is at another account, where others may have made it. One that was never its own may be in use elsewhere.
  const isOwn = context.provider === spec.provider && !retiring && adopts === undefined;
  return exposed?.deleteAdopted && isOwn && letsDeleteAdopted(spec) ? 'DeleteAdopted' : 'Retain';
}

/** An issuer with the operator's credentials lets nobody delete what others made in their account. */
export const letsDeleteAdopted = ({ provider, exposes }: PoolSpec): boolean =>
  exposes?.source.kind === 'ClusterRoutedIPClass' || isPrivate(provider);

/** Checks the spec together with the class. What a class that has become invalid said before goes on. */
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

/** Whether what is wrong lies with the class or issuer. */
const policyFault = ({ exposed }: PoolContext, byPolicy: boolean): Pick<Exposed, 'byPolicy'> =>
  byPolicy || exposed?.byPolicy ? { byPolicy } : {};

/** Whoever has an address of a class keeps it, and no other class serves him by it: also after the records were lost, where the status says which one it was. */
export function isServedBy(
  { spec, exposed }: Pick<PoolContext, 'spec'> & { readonly exposed: Binding | null },
  fact: RoutedIPFact,
): boolean {
  if (!exposed || exposed.bound === null) return false;
  const by = spec?.exposes ? classInUse(spec) : exposed.boundBy;
  return by !== undefined && isBySame(by, fact);
}

/** By which class or issuer a spec is served. */
export const classInUse = ({ provider, exposes }: PoolSpec): ClassInUse | undefined => exposes && { ...exposes.source, provider };

/** It names the class or issuer by which it was served last. Of an issuer, whose author may give it other credentials at any time, with the same ones. */
function isBySame({ kind, name, provider }: ClassInUse, fact: RoutedIPFact): boolean {
  const { policy, operatorNamespace } = fact;
  const isOtherAccount =
    provider !== undefined && policy?.kind === 'RoutedIPIssuer' && accountOf(policy, operatorNamespace)?.provider !== provider;
  const named = sourceOf(fact);
  return !isOtherAccount && kind === named?.kind && name === named.name;
}

/** Before the labels of its Namespace are known nothing is news of that. */
function keptBy({ exposed }: PoolContext, { refusal }: Pick<RoutedIPFact, 'refusal'>): Partial<Exposed> {
  if (refusal?.isGuess || (!refusal && !exposed?.kept)) return {};
  return { kept: refusal ?? null };
}

const unbarred = ({ barred: _, refusal: __, ...open }: RoutedIPFact): RoutedIPFact => open;

/** The last valid spec with the addresses that the RoutedIP names now: those that it named before may belong to others. */
const keeping = ({ exposed }: PoolContext, spec: PoolSpec, ips: readonly Address[]): PoolSpec =>
  exposed?.bound || spec.exposes?.group ? spec : { ...spec, ips };

/** A RoutedIP keeps the address that it has got, whether the spec names it or not any more: no other one is created. One that is deleted gives up that one, whatever
 *  its spec asks for by now. */
function withBound({ exposed }: PoolContext, spec: PoolSpec, isLeaving: boolean): CheckedSpec {
  const bound = exposed?.bound ?? null;
  return { spec: bound && (isLeaving || spec.ips.length === 0) ? { ...spec, ips: [bound] } : spec, error: null };
}

/** Why the spec asks for another address than the one that this RoutedIP has got for good, or that was made for it and is about to be bound; null when it
 *  does not. */
function movedAddress(context: PoolContext, { ips, exposes }: PoolSpec): string | null {
  const asked = ips[0] ?? exposes?.group?.address ?? null;
  const bound = context.exposed?.bound ?? (isLeftOver(context) ? null : context.acquiring.unpublished);
  return asked && bound && asked !== bound
    ? `spec.routedIP is ${asked}, but ${bound} is bound: delete this RoutedIP and create another one for ${asked}`
    : null;
}

/** Takes over what is known of the Service, and tells the address when its firewall is to be another one. A Service that is gone closes nothing. */
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
  // An address that is there is told once the pause is over; one that begins meanwhile has to know what stands.
  if (isPaused(context) && entries(context.members).length > 0) return next(context);
  const provider = policy.subject && context.spec?.provider;
  const event = { type: 'POLICY_OBSERVED', policy, ...(provider && { provider }) } as const;
  const effects = entries(context.members).map(([address]): Effect => tell(context, address, event));
  return next(withExposed(context, { policy }), effects);
}

/** What this RoutedIP was about to get another one has got in the same moment, before anybody was shown it here: it waits for it as before. */
function unboundOf(context: PoolContext, conflicts: PoolContext['conflicts']): PoolContext {
  const bound = context.exposed?.bound ?? null;
  const isLost = bound !== null && conflicts[bound] !== undefined && !context.created.includes(bound);
  return isLost ? withExposed(context, { bound: null }) : context;
}

/** Records that are older than the status do not know of the address: another one would be created, and nobody would give this one back. */
function bindShown(context: PoolContext, { address, created }: BoundAddress): PoolContext {
  // It is about to be bound by who made it, who knows more of it.
  if (context.acquiring.unpublished === address) return context;
  const bound = bind(context, address);
  const isNews = bound !== context && created && !context.created.includes(address);
  return isNews ? { ...bound, created: [...context.created, address] } : bound;
}

/** What was made for a RoutedIP of its name is as if it was made for this one. */
function withRetained(context: PoolContext, retained: Address | undefined): PoolContext {
  if (retained === undefined || context.exposed?.bound !== null || context.created.includes(retained)) return context;
  return { ...context, created: [...context.created, retained] };
}

/** This RoutedIP has another address by now, or a person has named one meanwhile. */
export function hasOther(context: PoolContext, address: Address): boolean {
  const own = context.exposed && (context.exposed.bound ?? listed(context)[0] ?? null);
  return own !== null && own !== address;
}

/** What was made for this RoutedIP, or may have been, is not for it any more. */
export function isLeftOver(context: PoolContext): boolean {
  const { unpublished, unclear } = context.acquiring;
  const made = unpublished ?? unclear[0];
  return made !== undefined && hasOther(context, made);
}

/** Binds a RoutedIP for good to the address that it asks for, once the provider has told of it and it may be taken. What is being given back does not count. */
export function bindTaken(context: PoolContext): PoolContext {
  const only = context.exposed && wanted(context).find((address) => isHad(context, context.members[address]));
  return only ? bind(context, only) : context;
}

const isHad = (context: PoolContext, member: Member | undefined): boolean =>
  member !== undefined && !member.retiring && isTaken(context, member);

/** The address that this RoutedIP works with from now on, for good. */
export function bind(context: PoolContext, address: Address): PoolContext {
  const { exposed, spec, acquiring } = context;
  if (!exposed || exposed.bound !== null) return context;
  const boundBy = spec === null && acquiring.by ? classInUse(acquiring.by) : undefined;
  return withExposed(context, { bound: address, ...(boundBy && { boundBy }) });
}
