import type { ClaimsObserved, ClusterObserved, ProviderObserved, Room, SpecObserved } from '../events.ts';
import { familyOf } from '../model/address.ts';
import { isUntilChanged } from '../model/backoff.ts';
import type { Candidate, ObservedAddress, ObservedNode, ProviderID } from '../model/types.ts';
import { refusedNow } from '../spec/operator-credentials.ts';
import { type CheckedSpec, checkPoolSpec, type PoolSpec } from '../spec/pool.ts';
import { isPaused, observeMarks } from './annotations.ts';
import { familyServed, lacks, listed, type Next, next, type PoolContext, queryIn, wanted } from './context.ts';
import { begunBy, isUnderWay } from './creation.ts';
import { standings } from './eligibility.ts';
import type { GaveUp } from './gave-up.ts';
import { forgetRefusals, retired, staff } from './members.ts';
import { observeAbsences, tellMembers } from './node-absence.ts';
import { hasBegun } from './quota.ts';
import { withReverts } from './reverts.ts';
import { servingStandings } from './service-nodes.ts';
import { checkExposed, observeService } from './service-observed.ts';

/** Takes over the spec and the users' annotations. */
export function observeSpec(before: PoolContext, event: SpecObserved): Next {
  if (event.generation < before.generation) return next(before);
  const { context: observed, effects } = takeSpec(observeRoom(before, event.room ?? null), event);
  const told = isPaused(observed) && !isPaused(before) ? tellMembers(observed, event.at) : next(observed);
  const { context, effects: asked } = staff({ context: told.context, effects: [...effects, ...told.effects] });
  return retired(context, (address) => event.lost?.includes(address) ?? false, asked);
}

/** A creation under way already has its place: a repeated grant is the same one. Publishing an existing address takes none. */
function observeRoom(context: PoolContext, told: Room | null): PoolContext {
  if (!told && !context.room) return context;
  return { ...context, room: told?.isGranted && hasBegun(context) ? { isGranted: false } : told };
}

/** Takes over a valid spec, otherwise records why it is invalid: assignments stay. With an invalid spec the nodes count as unknown: an invalid selector watches nothing, so the
 *  known nodes would age unnoticed. The nodes of a RoutedIP also count as unknown when its request changed or a pause ended: its address then gets the new policy together with
 *  the nodes, before any grant. */
function takeSpec(before: PoolContext, event: SpecObserved): Next {
  const context = observeMarks(before, event.marks);
  const { context: known, checked } = context.exposed ? checkExposed(context, event) : checkUnexposed(context, event);
  const { conflicts, nameOwner } = event;
  // An invalid spec requests no addresses. During a pause a running address that others have is still left to them.
  if (!checked.spec) {
    const named = new Set<string>([...listed(known), ...Object.keys(known.members)]);
    const lost = Object.fromEntries(Object.entries(conflicts).filter(([address]) => named.has(address)));
    return next({ ...known, generation: event.generation, conflicts: lost, error: checked.error, query: null });
  }
  const spec = event.adoption ? { ...checked.spec, adoption: event.adoption } : checked.spec;
  // What a spec at least as new as the publication does not list was removed by a user.
  const isNewer = event.generation >= context.acquiring.publishedIn;
  const ips = new Set(spec.ips);
  const published = isNewer ? [] : context.acquiring.published.filter((address) => !ips.has(address));
  const settled = context.acquiring.unclear.some((address) => ips.has(address)) || isNamed(context, spec);
  const mayWork = spec.exposes?.revision !== context.spec?.exposes?.revision;
  const acquiring = begunBy(
    {
      ...context.acquiring,
      published,
      ...(settled && { unclear: [], intent: null }),
      ...(mayWork && isUntilChanged(context.acquiring.failure) && { failure: null, attempts: 0, until: null }),
      ...(mayWork && isUnderWay(context.acquiring) && { renewed: true }),
    },
    context.spec,
    spec,
  );
  const named = nameOwner || known.nameOwner ? { nameOwner: nameOwner ?? null } : {};
  const isOther = context.exposed && (isPaused(before) || JSON.stringify(spec.exposes) !== JSON.stringify(before.spec?.exposes));
  const query = isOther ? null : known.query;
  const observed = {
    ...withReverts(known, spec, event.generation),
    ...named,
    generation: event.generation,
    spec,
    conflicts,
    error: null,
    acquiring,
    query,
  };
  // A failed creation is no longer a problem once no address is missing.
  return next(lacks(observed) ? observed : { ...observed, acquiring: { ...acquiring, failure: null, attempts: 0 } });
}

function checkUnexposed(former: PoolContext, event: SpecObserved): { readonly context: PoolContext; readonly checked: CheckedSpec } {
  const refusal = refusedNow(event.refusal, former.spec !== null && former.error === null);
  const checked = refusal ? { spec: null, error: refusal.message, reason: refusal.reason } : checkPoolSpec(event.spec, event.registry);
  const reason = (checked.spec === null && checked.reason) || null;
  return { context: reason !== null || former.errorReason ? { ...former, errorReason: reason } : former, checked };
}

/** The RoutedIP names an address while the outcome of a creation is unknown: that address is left for others to find. */
const isNamed = ({ exposed, acquiring }: PoolContext, { ips }: PoolSpec): boolean =>
  exposed !== null && ips.length > 0 && acquiring.failure?.kind === 'Conflict' && acquiring.failure.unknownOutcome;

/** Puts the matching nodes in line: known ones keep their places, new ones join by name. Notifies each address whose node changed, and drops the back-off of nodes that are
 *  gone. */
export function observeCluster(context: PoolContext, event: ClusterObserved): Next {
  const { spec } = context;
  if (!spec || event.query !== queryIn(spec)) return next(context);
  const found = spec.exposes
    ? servingStandings(event.nodes, event.service ?? null, { ...spec, tolerations: spec.match.tolerations ?? [] })
    : standings(event.nodes, event.serving, spec);
  const candidates = inLine(context.candidates, found.matching);
  const backOff = backOffOf(context, event.nodes);
  const after = observeAbsences(context, found, event.query, event.at);
  const told = tellMembers(forgetRefusals({ ...after, query: event.query, candidates, leaving: found.leaving, backOff }), event.at);
  const exposed = observeService(told.context, event.service ?? null);
  return staff({ context: exposed.context, effects: [...told.effects, ...exposed.effects] });
}

function inLine(former: readonly Candidate[], matching: readonly Candidate[]): readonly Candidate[] {
  const left = new Map(matching.map((node) => [node.name, node]));
  const line: Candidate[] = [];
  for (const { name } of former) {
    const node = left.get(name);
    if (node && left.delete(name)) line.push(node);
  }
  return [...line, ...left.values()];
}

/** Limited to the nodes that exist. */
function backOffOf({ backOff }: PoolContext, nodes: readonly ObservedNode[]): PoolContext['backOff'] {
  if (Object.keys(backOff).length === 0) return backOff;
  const there = new Set(nodes.map(({ name }) => name));
  return Object.fromEntries(Object.entries(backOff).filter(([name]) => there.has(name)));
}

/** Takes over the provider's report on the pool's addresses and on others on its nodes; members that wait for it start. A list may be older than what was created. */
export function observeProvider(context: PoolContext, event: ProviderObserved): Next {
  const made = context.created.flatMap((address) => context.provided?.[address] ?? []);
  const provided = Object.fromEntries([...made, ...event.addresses].map((observed) => [observed.address, observed]));
  return staff({ ...context, provided, occupied: occupiedBy(context, event.addresses), ...stillThere(context, event.addresses) });
}

/** After a load: the nodes may have changed since and are observed again. Nothing is granted or created before. */
export const forgetFacts = (context: PoolContext): Next => next({ ...context, query: null });

export const observeClaims = (context: PoolContext, { fullNodes, shared }: ClaimsObserved): Next =>
  staff({ ...context, fullNodes, ...(shared && context.exposed && { exposed: { ...context.exposed, shared } }) });

/** An address that was put elsewhere since no longer leaves room, even if it moves again. */
function stillThere({ gaveUp }: PoolContext, observed: readonly ObservedAddress[]): Pick<PoolContext, 'gaveUp'> {
  if (!gaveUp) return {};
  const elsewhere = (each: GaveUp): boolean =>
    observed.some(({ address, providerID }) => address === each.address && providerID !== each.providerID);
  return { gaveUp: gaveUp.filter((each) => !elsewhere(each)) };
}

const occupiedBy = (context: PoolContext, observed: readonly ObservedAddress[]): readonly ProviderID[] => {
  const members = new Set<string>(wanted(context));
  const family = familyServed(context);
  const others = observed.filter(({ address }) => familyOf(address) === family && !members.has(address));
  return others.flatMap(({ providerID }) => providerID ?? []).sort();
};
