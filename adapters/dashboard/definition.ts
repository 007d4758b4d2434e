/** A chart as JSON data that a page can draw. */
export interface ChartDefinition {
  /** The name under which records refer to it, e.g. `ip`. */
  readonly name: string;
  readonly root: ChartState;
}

export interface ChartState {
  /** Unique in the chart: the dotted path from the root, e.g. `ip.Unassigned.Finding`. */
  readonly id: string;
  readonly key: string;
  readonly type: 'atomic' | 'compound' | 'parallel' | 'final' | 'history';
  readonly description: string | null;
  /** Id of the child that is entered first. */
  readonly initial: string | null;
  readonly invoke: readonly { readonly id: string; readonly src: string }[];
  readonly entry: readonly string[];
  readonly exit: readonly string[];
  readonly transitions: readonly ChartTransition[];
  readonly states: readonly ChartState[];
}

export interface ChartTransition {
  readonly kind: 'event' | 'always' | 'after' | 'done' | 'error';
  /** The event type as in records and the journal, e.g. `xstate.done.actor.find`; empty for `always`. */
  readonly event: string;
  /** Human-readable: the event, the name of the delay, or what ended. */
  readonly label: string;
  readonly guard: string | null;
  readonly actions: readonly string[];
  /** State ids; empty when no state is exited. */
  readonly targets: readonly string[];
  /** The source is exited and re-entered although the target is inside it. */
  readonly reenter: boolean;
}

/** The part of an XState machine that is read here. */
export interface MachineLike {
  readonly root: StateNodeLike;
}

interface StateNodeLike {
  readonly id: string;
  readonly key: string;
  readonly type: ChartState['type'];
  readonly description?: string | undefined;
  readonly initial?: { readonly target?: readonly { readonly id: string }[] | undefined } | undefined;
  readonly invoke: readonly { readonly id: string; readonly src: unknown }[];
  readonly entry: readonly unknown[];
  readonly exit: readonly unknown[];
  readonly after: readonly { readonly eventType: string; readonly delay?: unknown }[];
  readonly transitions: ReadonlyMap<string, readonly TransitionLike[]>;
  readonly always?: readonly TransitionLike[] | undefined;
  readonly states: Readonly<Record<string, StateNodeLike>>;
}

interface TransitionLike {
  readonly target?: readonly { readonly id: string }[] | undefined;
  readonly guard?: unknown;
  readonly actions: readonly unknown[];
  readonly reenter: boolean;
}

/** Label of an unnamed guard or action: the chart style requires names, so it should stand out. */
const UNNAMED = '(unnamed)';

/** The chart behind `machine`, in the order of its definition. */
export const chartDefinition = (name: string, machine: MachineLike): ChartDefinition => ({ name, root: chartState(machine.root) });

function chartState(node: StateNodeLike): ChartState {
  const delays = new Map(node.after.map(({ eventType, delay }) => [eventType, delay]));
  return {
    id: node.id,
    key: node.key,
    type: node.type,
    description: node.description ?? null,
    initial: node.initial?.target?.[0]?.id ?? null,
    invoke: node.invoke.map(({ id, src }) => ({ id, src: typeof src === 'string' ? src : UNNAMED })),
    entry: actionNames(node.entry),
    exit: actionNames(node.exit),
    transitions: [
      ...(node.always ?? []).map((transition) => chartTransition('', transition, delays)),
      ...[...node.transitions].flatMap(([event, transitions]) =>
        transitions.map((transition) => chartTransition(event, transition, delays)),
      ),
    ],
    states: Object.values(node.states).map(chartState),
  };
}

function chartTransition(event: string, transition: TransitionLike, delays: ReadonlyMap<string, unknown>): ChartTransition {
  return {
    ...named(event, delays),
    event,
    guard: transition.guard === undefined ? null : nameOf(transition.guard),
    actions: actionNames(transition.actions),
    targets: (transition.target ?? []).map(({ id }) => id),
    reenter: transition.reenter,
  };
}

function named(event: string, delays: ReadonlyMap<string, unknown>): Pick<ChartTransition, 'kind' | 'label'> {
  if (event === '') return { kind: 'always', label: 'always' };
  if (delays.has(event)) return { kind: 'after', label: `after ${delayName(delays.get(event))}` };
  const ended = /^xstate\.(done|error)\.(actor|state)\.(.+)$/.exec(event);
  if (!ended) return { kind: 'event', label: event === '*' ? 'any event' : event };
  const [, how, what, id = ''] = ended;
  if (how === 'error') return { kind: 'error', label: `${id} failed` };
  return { kind: 'done', label: what === 'actor' ? `${id} done` : 'done' };
}

function delayName(delay: unknown): string {
  if (typeof delay === 'number') return `${delay} ms`;
  return typeof delay === 'string' ? delay : UNNAMED;
}

/** Excludes XState's own timer actions among the entry and exit actions: those are shown as `after`. */
const actionNames = (actions: readonly unknown[]): readonly string[] =>
  actions.map(nameOf).filter((name) => !name.startsWith('xstate.raise') && !name.startsWith('xstate.cancel'));

function nameOf(named: unknown): string {
  if (typeof named === 'string') return named;
  const type = (named as { readonly type?: unknown } | null)?.type;
  return typeof type === 'string' ? type : UNNAMED;
}
