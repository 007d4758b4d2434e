import { charts } from '../../actors/controllers/chart-registry.ts';
import type { Chart } from '../../actors/runtime/charts.ts';
import { begin, type MachineEvent, type Step, step } from '../../actors/runtime/step.ts';
import { FLIPOP_BACKOFF } from '../../machines/model/backoff.ts';
import type { JobFailure } from '../../machines/model/types.ts';
import { frozen, START } from './builders.ts';

export const CALL_DEADLINE = 15_000;
export const VERIFY_EVERY = 300_000;

const all = charts({ backoff: FLIPOP_BACKOFF, callDeadlineMs: CALL_DEADLINE, verifyEveryMs: VERIFY_EVERY, orphanDoubtMs: 60_000 }, () => 1);

type ChartName = 'ip' | 'pool' | 'firewall' | 'verification' | 'dns-zone' | 'dns-record-set' | 'vip-service' | 'virtual-ip';

/** @throws Error for a chart that there is none of */
export function chartOf(name: ChartName): Chart {
  const chart = all[name];
  if (!chart) throw new Error(`no chart is named ${name}`);
  return chart;
}

/** `Stable.Holding` for `{ Stable: 'Holding' }`; the regions of a parallel state with a comma between. */
export function stateName(value: unknown): string {
  if (typeof value === 'string') return value;
  return Object.entries(value as Record<string, unknown>)
    .map(([state, inner]) => (Object.keys(inner as object).length === 0 ? state : `${state}.${stateName(inner)}`))
    .join(',');
}

/** One actor, driven by pure steps: keeps what is waited for as the runtime would, on a clock that only `after` and `elapse` move. */
export class Driven<C> {
  readonly chart: Chart;
  now = START;
  /** What the last event made of it. */
  last: Step;
  readonly #timers = new Map<string, number>();

  constructor(name: ChartName, input: unknown, change: Partial<C> = {}) {
    this.chart = chartOf(name);
    const begun = begin(this.chart, frozen(input));
    this.last = { ...begun, snapshot: { ...begun.snapshot, context: { ...(begun.snapshot.context as object), ...change } } };
    this.#keep(this.last);
  }

  get state(): string {
    return stateName(this.last.snapshot.value);
  }

  get context(): C {
    return this.last.snapshot.context as C;
  }

  /** Jobs that the last event started, by name. */
  get started(): readonly string[] {
    return this.last.starts.map(({ job }) => job);
  }

  /** What the last event had told, to whomever: the types of the events. */
  get told(): readonly string[] {
    return this.last.effects.map((effect) => (effect.type === 'spawn' ? 'spawn' : effect.params.event.type));
  }

  /** Rest of the time of the only timer that runs, ms; null while none does. */
  get timer(): number | null {
    const [due] = [...this.#timers.values()];
    return due === undefined ? null : due - this.now;
  }

  /** Input of the job that the last event started. */
  inputOf(job: string): unknown {
    return this.last.starts.find((start) => start.job === job)?.input;
  }

  send(type: string, fields: Readonly<Record<string, unknown>> = {}): this {
    const event: MachineEvent = frozen({ ...fields, type, at: this.now });
    this.last = step(this.chart, frozen(this.last.snapshot), event);
    this.#keep(this.last);
    return this;
  }

  done(invokeId: string, output: unknown = {}): this {
    return this.#outcome(invokeId, `xstate.done.actor.${invokeId}`, { output });
  }

  failed(invokeId: string, error: JobFailure): this {
    return this.#outcome(invokeId, `xstate.error.actor.${invokeId}`, { error });
  }

  /** Time passes, and nothing else. */
  after(ms: number): this {
    this.now += ms;
    return this;
  }

  /** Rest of the time of the timer of that delay, ms; null while it does not run. */
  timerOf(delay: string): number | null {
    const due = [...this.#timers].find(([sendId]) => isOf(delay, sendId))?.[1];
    return due === undefined ? null : due - this.now;
  }

  /** The only timer that runs ends, or that of the delay. */
  elapse(delay?: string): this {
    const entry = [...this.#timers].find(([sendId]) => delay === undefined || isOf(delay, sendId));
    if (!entry) throw new Error(`no such timer runs in ${this.state}`);
    const [sendId, dueAt] = entry;
    this.now = Math.max(this.now, dueAt);
    this.#timers.delete(sendId);
    return this.send(sendId);
  }

  #outcome(invokeId: string, type: string, fields: Readonly<Record<string, unknown>>): this {
    if (!this.last.invoking.has(invokeId)) throw new Error(`${invokeId} is not waited for in ${this.state}`);
    return this.send(type, fields);
  }

  #keep({ cancels, delays }: Step): void {
    for (const sendId of cancels) this.#timers.delete(sendId);
    for (const { sendId, delayMs } of delays) this.#timers.set(sendId, this.now + delayMs);
  }
}

const isOf = (delay: string, sendId: string): boolean => sendId.startsWith(`xstate.after.${delay}.`);
