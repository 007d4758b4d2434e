import { shortList } from '../../machines/model/several.ts';
import { withStalled } from '../../machines/model/stalled.ts';
import type { Condition, ObjectRef } from '../../machines/model/types.ts';
import type { InvalidGroup, ParsedGroup } from '../../machines/vip/ip-group.ts';
import { CONTENDED, type IPGroupObject } from '../../machines/vip/objects.ts';
import type { ClusterEvent, ClusterWriter } from '../ports/cluster.ts';
import type { Clock } from '../ports/records.ts';
import { coalesced } from '../runtime/debounce.ts';
import type { GroupFigures } from './group-index.ts';

/** A group as the leader uses it. */
export interface GroupView {
  readonly object: IPGroupObject;
  readonly group: ParsedGroup | InvalidGroup;
  /** Null when nothing is taken from it. */
  readonly figures: GroupFigures | null;
  /** Names of groups that share some of its addresses, ascending. */
  readonly overlaps: readonly string[];
}

export interface GroupProjectorPorts {
  readonly writer: Pick<ClusterWriter, 'project' | 'retract'>;
  readonly clock: Clock;
  /** Empty while this process does not lead. */
  readonly groups: () => readonly GroupView[];
  /** By group, the Services left to another controller that writes their ingress; without entries for groups that have none. */
  readonly contended: () => ReadonlyMap<string, readonly string[]>;
}

/** Allocations within this time are shown together, ms: the counts are for users, and a write for each would cost as much as the allocations. */
const COALESCE_MS = 500;

/** From this share in use, a group is nearly full. */
const NEARLY_FULL = { used: 9n, of: 10n };

/** The largest exact JSON number; a group may hold more. */
const MOST = BigInt(Number.MAX_SAFE_INTEGER);

/** Shows in each IPGroup how many addresses it has left, and what is wrong with it. */
export class GroupProjector {
  readonly #ports: GroupProjectorPorts;
  /** By uid, the last reported messages of a group, so that each Event is sent once. */
  readonly #told = new Map<string, { readonly ref: ObjectRef; readonly messages: readonly string[] }>();
  /** Something that they show may have changed. */
  readonly request: () => void;

  constructor(ports: GroupProjectorPorts) {
    this.#ports = ports;
    this.request = coalesced(ports.clock, COALESCE_MS, () => this.#showAll());
  }

  #showAll(): void {
    const views = this.#ports.groups();
    const contended = this.#ports.contended();
    for (const view of views) if (!view.object.deleting) this.#show(view, contended.get(view.object.ref.name) ?? []);
    const present = new Set(views.map(({ object }) => object.ref.uid));
    for (const [uid, { ref }] of this.#told) {
      if (present.has(uid)) continue;
      this.#told.delete(uid);
      void this.#ports.writer.retract(ref, []);
    }
  }

  #show(view: GroupView, contended: readonly string[]): void {
    const { ref, generation } = view.object;
    const events = [...eventsOf(view), ...(contended.length > 0 ? [CONTENDED_EVENT] : [])];
    const before = this.#told.get(ref.uid)?.messages ?? [];
    this.#told.set(ref.uid, { ref, messages: events.map(({ message }) => message) });
    this.#ports.writer.project({
      ref,
      generation,
      status: { ...countsOf(view.figures), observedGeneration: generation },
      conditions: [...withStalled([readyOf(view)]), ...contendedOf(contended)],
      annotated: {},
      addresses: [],
      events: events.filter(({ message }) => !before.includes(message)),
    });
  }
}

/** The same text for any number of Services: they may come and go at their owners' will. */
const CONTENDED_EVENT: ClusterEvent = {
  type: 'Warning',
  reason: CONTENDED,
  action: 'Check',
  message: 'somebody else serves Services, too, that would get its addresses: its condition Contended names them',
};

/** This many Services are named in a condition. */
const NAMED = 3;

function contendedOf(services: readonly string[]): readonly Condition[] {
  if (services.length === 0) return [];
  const [noun, verb] = services.length === 1 ? ['Service', 'is'] : ['Services', 'are'];
  const message = `${services.length} ${noun} ${verb} left to somebody else, who writes the ingress: ${shortList(services, NAMED)}`;
  return [{ type: CONTENDED, status: 'True', reason: CONTENDED, message }];
}

const countsOf = (figures: GroupFigures | null): Readonly<Record<string, number>> => ({
  capacity: clipped(figures?.capacity),
  allocated: clipped(figures?.allocated),
  available: clipped(figures?.available),
});

const clipped = (count = 0n): number => Number(count < MOST ? count : MOST);

function readyOf({ group, figures }: GroupView): Condition {
  if (group.kind === 'Invalid' || !figures)
    return { type: 'Ready', status: 'False', reason: 'InvalidSegment', message: group.kind === 'Invalid' ? group.message : 'not used' };
  const { capacity, available } = figures;
  if (capacity === 0n)
    return { type: 'Ready', status: 'False', reason: 'NoAddresses', message: 'every address of the segment is excluded' };
  if (available === 0n) return { type: 'Ready', status: 'True', reason: 'Full', message: `all ${capacity} addresses are allocated` };
  return { type: 'Ready', status: 'True', reason: 'AsExpected', message: `${available} of ${capacity} addresses are free` };
}

/** Present states that are worth an Event when they begin. */
function eventsOf({ group, figures, overlaps }: GroupView): readonly ClusterEvent[] {
  const warning = (reason: string, message: string): ClusterEvent => ({ type: 'Warning', reason, action: 'Check', message });
  if (group.kind === 'Invalid') return [warning('InvalidSegment', group.message)];
  const events: ClusterEvent[] = [];
  if (overlaps.length > 0)
    events.push(warning('OverlapsWith', `has addresses of IPGroup ${overlaps.join(', ')}, too; each address is given once`));
  const { capacity = 0n, available = 0n } = figures ?? {};
  const { used, of } = NEARLY_FULL;
  if (capacity > 0n && (capacity - available) * of >= capacity * used)
    events.push(warning('NearlyFull', `${(used * 100n) / of} % or more of ${capacity} addresses are in use`));
  return events;
}
