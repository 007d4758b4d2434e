import type { Observer, Transition } from '../../actors/ports/observers.ts';
import type { ActorRecord, Json } from '../../actors/ports/records.ts';
import { Counter, Gauge, Histogram, type Registry } from './prom-client.ts';
import { statePaths } from './state-paths.ts';

/** The part of a record that determines its state. */
export type MachineRecord = Pick<ActorRecord, 'chart' | 'snapshot'>;

interface MachineMetricsOptions {
  readonly registry: Registry;
  /** Every record of this process while it leads; none while it does not. Called at each scrape. */
  readonly records: () => Iterable<MachineRecord>;
}

interface Entered {
  readonly state: string;
  /** ms since the epoch. */
  readonly since: number;
}

/** From steps that take some ms to states that last for days. */
const STATE_BUCKETS_S = [0.01, 0.05, 0.25, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 21_600, 86_400];

/** Exports the number of machines per state, counts transitions, and measures how long states lasted. The labels are bounded by the charts. */
export function machineMetrics({ registry, records }: MachineMetricsOptions): Observer {
  const registers = [registry];
  registerMachines(registry, records);
  const transitions = new Counter({
    name: 'routedip_transitions_total',
    help: 'Transitions into a state, by chart.',
    labelNames: ['chart', 'to'] as const,
    registers,
  });
  const duration = new Histogram({
    name: 'routedip_state_duration_seconds',
    help: 'How long machines were in a state that they left.',
    labelNames: ['chart', 'state'] as const,
    buckets: STATE_BUCKETS_S,
    registers,
  });
  /** By actor: its states, and when each was entered. States entered before this process became leader are unknown. */
  const entered = new Map<string, readonly Entered[]>();

  const note = ({ actor, chart, before, after }: Transition, at: number): void => {
    const [from, to] = [pathsOf(before), pathsOf(after)];
    const known = entered.get(actor) ?? [];
    for (const { state, since } of known) if (!to.includes(state)) duration.observe({ chart, state }, Math.max(0, at - since) / 1000);
    const begun = to.filter((path) => !from.includes(path));
    for (const state of begun) transitions.inc({ chart, to: state });
    if (after === null) transitions.inc({ chart, to: 'gone' });
    const now = [...known.filter(({ state }) => to.includes(state)), ...begun.map((state) => ({ state, since: at }))];
    if (now.length > 0) entered.set(actor, now);
    else entered.delete(actor);
  };

  return {
    turnSaved: ({ at, transitions: all }) => {
      for (const transition of all) note(transition, at);
    },
    reset: () => entered.clear(),
  };
}

const pathsOf = (record: ActorRecord | null): readonly string[] => (record ? statePaths(record.snapshot.value as Json) : []);

function registerMachines(registry: Registry, records: () => Iterable<MachineRecord>): void {
  /** States exported as 0 once no machine is in them: a series that ends would look like missing data. */
  const seen = new Map<string, { readonly chart: string; readonly state: string }>();
  new Gauge({
    name: 'routedip_machines',
    help: 'Machines by chart and state.',
    labelNames: ['chart', 'state'] as const,
    registers: [registry],
    collect() {
      this.reset();
      const counts = new Map<string, number>();
      for (const { chart, value, count } of alike(records())) {
        for (const state of statePaths(value)) {
          const key = `${chart}/${state}`;
          seen.set(key, { chart, state });
          counts.set(key, (counts.get(key) ?? 0) + count);
        }
      }
      if (counts.size > 0) for (const [key, labels] of seen) this.set(labels, counts.get(key) ?? 0);
    },
  });
}

interface Alike {
  readonly chart: string;
  readonly value: Json;
  count: number;
}

/** Groups records by chart and state value. Ten thousand records have few distinct values, and only those are split into paths. */
function alike(records: Iterable<MachineRecord>): readonly Alike[] {
  const byChart = new Map<string, Map<string, Alike>>();
  for (const { chart, snapshot } of records) {
    const value = snapshot.value as Json;
    const key = typeof value === 'string' ? value : JSON.stringify(value);
    const ofChart = byChart.get(chart) ?? new Map<string, Alike>();
    const known = ofChart.get(key);
    if (known) known.count += 1;
    else byChart.set(chart, ofChart.set(key, { chart, value, count: 1 }));
  }
  return [...byChart.values()].flatMap((ofChart) => [...ofChart.values()]);
}
