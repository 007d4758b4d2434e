import { type AnyStateMachine, createMachine, enqueueActions } from 'xstate';
import type { Chart } from '../../actors/runtime/charts.ts';
import type { MachineEvent } from '../../actors/runtime/step.ts';
import type { Decision } from '../../machines/events.ts';

/** Deliberate defects of charts. Each answers another chart and leaves the given one as it was. */
export type Spoil = (chart: Chart) => Chart;

/** A small defect of a chart, and events that show it. */
export interface ChartMutation {
  readonly mutation: string;
  readonly spoil: Spoil;
  readonly events: readonly MachineEvent[];
}

/** A guard that claims something else. */
export const guard =
  <C, E = MachineEvent>(name: string, claim: (context: C, event: E) => boolean): Spoil =>
  (chart) => {
    known(chart, 'guards', name);
    const guards = { [name]: ({ context, event }: { context: C; event: E }) => claim(context, event) };
    return { ...chart, machine: chart.machine.provide({ guards }) };
  };

/** An action that decides something else. */
export const action =
  <C, E = MachineEvent>(name: string, decision: (context: C, event: E) => Decision<C>): Spoil =>
  (chart) => {
    known(chart, 'actions', name);
    const decide = enqueueActions(({ context, event, enqueue }) => {
      const decided = decision(context as C, event as E);
      enqueue.assign(decided.context as object);
      for (const effect of decided.effects) enqueue(effect as never);
    });
    return { ...chart, machine: chart.machine.provide({ actions: { [name]: decide } }) };
  };

/** A decision that is shown something else in a part of its context; the context itself keeps what it had there. */
export const shown =
  <C, E>(decision: (context: C, event: E) => Decision<C>, view: (context: C) => Partial<C>) =>
  (context: C, event: E): Decision<C> => {
    const other = view(context);
    const decided = decision({ ...context, ...other }, event);
    const kept = Object.fromEntries(Object.keys(other).map((part) => [part, context[part as keyof C]]));
    return { ...decided, context: { ...decided.context, ...kept } };
  };

/** Parts of a state as the chart's configuration names them. */
interface StateConfig {
  readonly on?: Readonly<Record<string, unknown>>;
  readonly invoke?: Readonly<Record<string, unknown>>;
  readonly after?: Readonly<Record<string, unknown>>;
  readonly states?: Readonly<Record<string, StateConfig>>;
  readonly [part: string]: unknown;
}

/** A state, by its path with dots, that is configured in another way. */
export const state =
  (path: string, change: (config: StateConfig) => StateConfig): Spoil =>
  (chart) => {
    const config = changed(chart.machine.config as unknown as StateConfig, path.split('.'), change);
    const machine = createMachine(config as never, chart.machine.implementations as never);
    return { ...chart, machine: machine as unknown as AnyStateMachine };
  };

function changed(config: StateConfig, [name, ...rest]: readonly string[], change: (config: StateConfig) => StateConfig): StateConfig {
  if (name === undefined) return change(config);
  const inner = config.states?.[name];
  if (!inner) throw new Error(`there is no state ${name} to be spoilt`);
  return { ...config, states: { ...config.states, [name]: changed(inner, rest, change) } };
}

/** A mutation of what does not exist would pass for one that nothing catches. @throws Error */
function known(chart: Chart, kind: 'guards' | 'actions', name: string): void {
  if (!(name in chart.machine.implementations[kind])) throw new Error(`${chart.name} has none of the ${kind} named ${name}`);
}
