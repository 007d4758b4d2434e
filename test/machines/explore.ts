import type { AnyMachineSnapshot } from 'xstate';
import { getShortestPaths } from 'xstate/graph';
import type { Chart } from '../../actors/runtime/charts.ts';
import { begin, type MachineEvent, type Step, step } from '../../actors/runtime/step.ts';

/** More states than that, and the vocabulary has become too rich to try every one of them. */
const LIMIT = 100_000;

/** What tells two states apart: the less, the fewer paths. */
export type Telling = (snapshot: { readonly value: unknown; readonly context: unknown }) => unknown;

export interface Exploration {
  readonly chart: Chart;
  readonly input: unknown;
  readonly events: readonly MachineEvent[];
  readonly telling: Telling;
  /** Events other than outcomes and timers that cannot come in a state. */
  readonly comes?: (snapshot: { readonly value: unknown; readonly context: unknown }, event: MachineEvent) => boolean;
}

/** For each state that can be told from the others the shortest way to it, as events. Outcomes and timers come only where they are waited for. */
export function shortestPaths({ chart, input, events, telling, comes = () => true }: Exploration): readonly (readonly MachineEvent[])[] {
  const paths = getShortestPaths(chart.machine, {
    input,
    events,
    limit: LIMIT,
    serializeState: (snapshot) => JSON.stringify(telling(snapshot as AnyMachineSnapshot)),
    filterEvents: (snapshot, event) =>
      isWaitedFor(snapshot as AnyMachineSnapshot, event) && comes(snapshot as AnyMachineSnapshot, event as MachineEvent),
    stopWhen: ({ status }) => status !== 'active',
  });
  return paths.map(({ steps }) => steps.map(({ event }) => event as MachineEvent).filter(({ type }) => type !== 'xstate.init'));
}

/** The runtime's fence: outcomes of jobs that run, and timers that were set. */
export function isWaitedFor(snapshot: AnyMachineSnapshot, { type }: { readonly type: string }): boolean {
  const invoke = /^xstate\.(?:done|error)\.actor\.(?<id>.+)$/.exec(type)?.groups?.id;
  if (invoke !== undefined) return snapshot._nodes.some((node) => node.invoke.some(({ id }) => id === invoke));
  if (type.startsWith('xstate.after.')) return snapshot._nodes.some((node) => node.after.some(({ eventType }) => eventType === type));
  return true;
}

/** An event, what was before and what became of it. */
export interface Edge {
  readonly before: Step;
  readonly event: MachineEvent;
  readonly after: Step;
}

/** A state that was reached, and how. */
export interface Place {
  readonly path: readonly MachineEvent[];
  readonly edges: readonly Edge[];
  readonly end: Step;
}

/** Walks every path by pure steps; what several begin with is walked once. */
export function placesOf(exploration: Exploration): readonly Place[] {
  const { chart, input } = exploration;
  const ways = new Map<Step, Map<MachineEvent, Step>>();
  const first = begin(chart, input);
  const next = (before: Step, event: MachineEvent): Step => {
    const from = ways.get(before) ?? new Map<MachineEvent, Step>();
    ways.set(before, from);
    const after = from.get(event) ?? step(chart, before.snapshot, event);
    from.set(event, after);
    return after;
  };
  return shortestPaths(exploration).map((path) => {
    const edges: Edge[] = [];
    let end = first;
    for (const event of path) {
      const after = next(end, event);
      edges.push({ before: end, event, after });
      end = after;
    }
    return { path, edges, end };
  });
}

/** Events that can come where a path ended. */
export function comers({ chart, events, comes = () => true }: Exploration, { end }: Place): readonly MachineEvent[] {
  const snapshot = chart.machine.resolveState(end.snapshot as Parameters<typeof chart.machine.resolveState>[0]) as AnyMachineSnapshot;
  return events.filter((event) => isWaitedFor(snapshot, event) && comes(end.snapshot, event));
}

/** Every state of a chart in which an actor can rest: those with neither children nor a way out that is always taken. */
export function restingStates(chart: Chart): readonly string[] {
  const names: string[] = [];
  const visit = (node: (typeof chart.machine)['root']) => {
    const leaves = Object.values(node.states);
    for (const child of leaves) visit(child);
    if (leaves.length === 0 && !(node.always ?? []).some(({ guard }) => guard === undefined)) names.push(node.path.join('.'));
  };
  visit(chart.machine.root);
  return names.sort();
}

/** The states in which a snapshot is, without those around them. */
export function restsIn(chart: Chart, value: unknown): readonly string[] {
  const snapshot = chart.machine.resolveState({ value, context: {} } as Parameters<
    typeof chart.machine.resolveState
  >[0]) as AnyMachineSnapshot;
  return snapshot._nodes.filter(({ states }) => Object.keys(states).length === 0).map(({ path }) => path.join('.'));
}

/** A path for people: the events by type, with what sets them apart. */
export const told = (path: readonly MachineEvent[]): string =>
  path.map(({ type, at: _, ...rest }) => (Object.keys(rest).length > 0 ? `${type} ${JSON.stringify(rest)}` : type)).join('\n  ');
