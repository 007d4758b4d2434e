import { describe, expect, test } from 'vitest';
import type { Chart } from '../../actors/runtime/charts.ts';
import { type MachineEvent, step } from '../../actors/runtime/step.ts';
import { frozen } from './builders.ts';
import { comers, type Edge, type Exploration, type Place, restingStates, restsIn, told } from './explore.ts';

/** What is tried of every chart alike. */

/** The places of one exploration, and how it was made. */
interface Explored {
  readonly exploration: Exploration;
  readonly places: readonly Place[];
}

/** One place for each answer of `of`; for each state unless told otherwise. */
export const samplesOf = (places: readonly Place[], of: (place: Place) => unknown = ({ end }) => end.snapshot.value): readonly Place[] => [
  ...new Map(places.map((place) => [JSON.stringify(of(place)), place])).values(),
];

/** The states in which a path ends are those in which an actor can rest, but for `never`. */
export const expectEveryState = (chart: Chart, places: readonly Place[], never: readonly string[] = []): void => {
  const reached = new Set(places.flatMap(({ end }) => restsIn(chart, end.snapshot.value)));
  expect([...reached].sort()).toEqual(restingStates(chart).filter((name) => !never.includes(name)));
};

interface Rules {
  /** By what they say. */
  readonly all: Readonly<Record<string, unknown>>;
  readonly brokenBy: (edge: Edge) => readonly string[];
  /** More events than that come, of all places together. */
  readonly triesOver: number;
}

/** Every rule holds whatever comes next, a test for each. */
export const testRules = (explored: readonly Explored[], { all, brokenBy, triesOver }: Rules): void => {
  describe('in every state, whatever comes next,', () => {
    const breaks = new Map<string, string>();
    let tried = 0;
    const tryOut = (chart: Chart, { end, path }: Place, event: MachineEvent): void => {
      const edge = { before: end, event, after: step(chart, end.snapshot, event) };
      tried += 1;
      for (const rule of brokenBy(edge)) if (!breaks.has(rule)) breaks.set(rule, `\n  ${told([...path, event])}\n`);
    };
    for (const { exploration, places } of explored) {
      for (const place of places) for (const event of comers(exploration, place)) tryOut(exploration.chart, place, event);
    }

    test('enough comes', () => expect(tried).toBeGreaterThan(triesOver));

    test.each(Object.keys(all))('%s', (rule) => expect(breaks.get(rule) ?? 'holds').toBe('holds'));
  });
};

interface Heard {
  readonly samples: readonly Place[];
  readonly samplesOver: number;
  readonly events: readonly MachineEvent[];
}

/** Any event is heard or passed over in each sample, gives the same again, and leaves a snapshot that JSON keeps. */
export const testPurity = (chart: Chart, { samples, samplesOver, events }: Heard): void =>
  test('any event, waited for or not, is heard or passed over, and changes nothing that it was given', () => {
    expect(samples.length).toBeGreaterThan(samplesOver);
    for (const { end } of samples) {
      for (const event of events) {
        const snapshot = frozen(structuredClone(end.snapshot));
        const after = step(chart, snapshot, frozen(event));
        expect(step(chart, snapshot, event)).toEqual(after);
        expect(JSON.parse(JSON.stringify(after.snapshot))).toStrictEqual(after.snapshot);
      }
    }
  });
