import { expectUnheard, type ZoneContext } from '../../machines/dns/zone.ts';
import { onlyKept } from '../../machines/firewall/claims.ts';
import type { FirewallContext, FirewallDoubt } from '../../machines/firewall/context.ts';
import { union } from '../../machines/firewall/decisions.ts';
import { bothDoubts } from '../../machines/firewall/in-doubt.ts';
import { cellOf } from '../../machines/model/actor-id.ts';
import type { ActorId } from '../../machines/model/types.ts';
import type { ObservedPools } from '../controllers/pool-cache.ts';
import type { ActorRecord, Clock } from '../ports/records.ts';
import type { Charts } from '../runtime/charts.ts';
import { isSameJson } from '../runtime/same-json.ts';
import { firewallBegin } from '../runtime/shared-state.ts';
import { begin } from '../runtime/step.ts';

/** A job issued before the store was lost, or while it was away, may still change a firewall or a zone after its outcome is lost. */

/** Records by cell, as an earlier term of this process left them. */
export type Memory = ReadonlyMap<ActorId, ReadonlyMap<ActorId, ActorRecord>>;
type Claims = FirewallContext['claims'];

/** The kind of calls that an awaited job may send; null when it sends none. */
function underWay({ waiting }: ActorRecord): FirewallDoubt['of'] | null {
  if (waiting.prune) return 'prune';
  return waiting.open ? 'open' : null;
}

/** Marks firewalls and zones whose job was in the store when it went away: for `ms`, a process that reaches the store may still run the job, and no newer term stops it. A
 *  firewall is in doubt for that long, whatever drives it: a Job created that late cannot be found earlier. A zone is checked then. */
export function withUnheard(cells: Memory, now: number, ms: number): Memory {
  if (ms === 0) return cells;
  const noted = (record: ActorRecord): ActorRecord => {
    const of = underWay(record);
    if (record.chart === 'dns-zone' && record.waiting.ensure) return withContext(record, expectUnheard(zoneOf(record), now + ms, ms));
    return record.chart === 'firewall' && of
      ? withContext(record, { doubt: bothDoubts(doubtOf(record), { of, until: now + ms, wholeMs: ms }) })
      : record;
  };
  return new Map([...cells].map(([id, records]) => [id, new Map([...records].map(([actor, record]) => [actor, noted(record)]))]));
}

const zoneOf = ({ snapshot }: ActorRecord): ZoneContext => snapshot.context as unknown as ZoneContext;

/** What was decided before can no longer be sent by then: a doubt ends at `until` at the latest. */
export function settledBy(record: ActorRecord, until: number): ActorRecord {
  const doubt = record.chart === 'firewall' ? doubtOf(record) : null;
  return doubt && doubt.until > until ? withContext(record, { doubt: { of: doubt.of, until } }) : record;
}

const doubtOf = ({ snapshot }: ActorRecord): FirewallDoubt | null => (snapshot.context as unknown as FirewallContext).doubt ?? null;

const withContext = (record: ActorRecord, change: Partial<FirewallContext> | ZoneContext): ActorRecord => ({
  ...record,
  snapshot: { ...record.snapshot, context: { ...(record.snapshot.context as object), ...change } } as unknown as ActorRecord['snapshot'],
});

export interface FirewallPorts {
  readonly charts: Charts;
  readonly clock: Clock;
  readonly pools: Pick<ObservedPools, 'all'>;
  readonly settings: { readonly callDeadlineMs: number; readonly storePatienceMs: number };
}

/** The replacement for the record of a firewall: it starts over from the statuses, and also knows what was added to it and what may still be done with the outcome lost:
 *  all that was opened since is in doubt. Null when nothing is ours and no call may be under way. `memory`: the actors that go on with what they know. */
export function rebuiltFirewall(
  id: ActorId,
  record: ActorRecord | undefined,
  { charts, clock, pools, settings }: FirewallPorts,
  memory: Memory = new Map(),
): ActorRecord | null {
  const chart = charts.firewall;
  if (!record || !chart) return null;
  const owned = ownedIn(record);
  const former = [doubtOf(record)?.of, underWay(record)];
  if (owned.ports.length + owned.nodes.length === 0 && former.every((of) => !of)) return null;
  const isClosing = former.some((of) => of === 'prune' || of === 'both');
  // Until a call deadline after it resumes, which is as long as a doubt may last, whenever that is.
  const until = clock.now() + settings.storePatienceMs + settings.callDeadlineMs;
  const input = firewallBegin(id, pools.all, (cell) => memory.get(cell) ?? null);
  const { snapshot } = begin(chart, {
    ...input,
    claims: withKept(input.claims ?? {}, record, memory),
    owned: union(input.owned ?? NOTHING, owned),
    doubt: { of: isClosing ? 'both' : 'open', until } satisfies FirewallDoubt,
  });
  return { ...record, chart: chart.name, chartVersion: chart.version, snapshot: snapshot as ActorRecord['snapshot'], waiting: {} };
}

/** Adds all other former claims: a claimant claims again only once it knows where its address is, which may take longer than any doubt. */
function withKept(claims: Claims, { snapshot }: ActorRecord, memory: Memory): Claims {
  const { claims: former = {} } = snapshot.context as unknown as Partial<FirewallContext>;
  const kept = Object.entries(former).flatMap(([claimant, held]) => {
    const told = claims[claimant];
    // A claimant that goes on in memory claims what it needs itself. It never ends a claim that it does not know of: another object may have had its name.
    if (!told && memory.has(cellOf(claimant))) return [];
    return [[claimant, onlyKept(told ? [told, held] : [held])] as const];
  });
  return { ...claims, ...Object.fromEntries(kept) };
}

/** The remembered record of a firewall, plus what was added to it according to the stored record. None of that is removed before its users have had time to claim it. */
export function alsoOwned(record: ActorRecord, kept: ActorRecord): ActorRecord {
  const owned = union(ownedIn(record), ownedIn(kept));
  const doubt = doubtOf(kept);
  return isSameJson(owned, ownedIn(record)) || !doubt ? record : withContext(record, { owned, doubt: bothDoubts(doubtOf(record), doubt) });
}

const NOTHING = { ports: [], nodes: [] };

/** The record may have been written by another version: what it does not list was not added. */
function ownedIn({ snapshot }: ActorRecord): FirewallContext['owned'] {
  const { owned } = snapshot.context as unknown as Partial<FirewallContext>;
  return { ports: owned?.ports ?? [], nodes: owned?.nodes ?? [] };
}
