import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { type Step, step } from '../../../actors/runtime/step.ts';
import type { Envelope } from '../../../actors/runtime/turn.ts';
import { type CellState, runTurn } from '../../../actors/runtime/turn.ts';
import type { AddressContext } from '../../../machines/address/context.ts';
import { cutOff, failure, frozen, POOL, SECOND, START } from '../builders.ts';
import { CALL_DEADLINE, chartOf, stateName } from '../drive.ts';
import { comers, placesOf, restingStates, restsIn, told } from '../explore.ts';
import { broken, type Opened, opened, RULES } from './invariants.ts';
import {
  ADOPTING,
  AFTER,
  ANSWERS,
  addressInput,
  answersCome,
  BY_JOBS,
  EVENTS,
  FIRST,
  MARKED,
  NONE,
  PARKING,
  policyIs,
  SPACED,
  telling,
} from './vocabulary.ts';

const chart = chartOf('ip');
const input = frozen(addressInput());
const events = frozen([...EVENTS, SPACED, ...ANSWERS, ...[NONE, FIRST, AFTER, MARKED].map(policyIs)]);
const exploration = { chart, input, events, telling, comes: answersCome };
/** That of others, which only Jobs can tell where it is. */
const adopting = {
  ...exploration,
  input: frozen(addressInput({ origin: 'Found', policy: BY_JOBS })),
  events: frozen(ADOPTING),
};
/** One that somebody wants on no node. */
const parking = { ...exploration, input: frozen(addressInput({ policy: FIRST })), events: frozen(PARKING) };
const places = [exploration, adopting, parking]
  .flatMap(placesOf)
  .map((place) => ({ ...place, open: place.edges.reduce<Opened>(opened, null) }));
const living = places.filter(({ end }) => !end.done);
const contextOf = ({ snapshot }: Step): AddressContext => snapshot.context as AddressContext;

test('every state is reached, and none that is left at once is ever rested in', () => {
  const reached = new Set(places.flatMap(({ end }) => restsIn(chart, end.snapshot.value)));
  expect([...reached].sort()).toEqual(restingStates(chart));
  expect(places.length).toBeGreaterThan(500);
});

test('an event that nobody knows changes nothing: no state has a way on that was not taken', () => {
  for (const { end } of living) {
    const nudged = step(chart, end.snapshot, { type: 'NOBODY', at: START });
    expect([nudged.effects.length, nudged.starts.length, nudged.delays.length, isDeepStrictEqual(nudged.snapshot, end.snapshot)]).toEqual([
      0,
      0,
      0,
      true,
    ]);
  }
});

describe('in every state, whatever comes next,', () => {
  const breaks = new Map<string, string>();
  let tried = 0;
  for (const place of living) {
    const { end, open, path } = place;
    for (const event of comers(exploration, place)) {
      const edge = { before: end, event, after: step(chart, end.snapshot, event) };
      tried += 1;
      for (const rule of broken(edge, opened(open, edge))) if (!breaks.has(rule)) breaks.set(rule, `\n  ${told([...path, event])}\n`);
    }
  }

  test('enough comes', () => expect(tried).toBeGreaterThan(10_000));

  test.each(Object.keys(RULES))('%s', (rule) => expect(breaks.get(rule) ?? 'holds').toBe('holds'));
});

/** One for each state, policy and way of being given up. */
const samples = [
  ...new Map(
    living.map((place) => [JSON.stringify([place.end.snapshot.value, contextOf(place.end).policy, contextOf(place.end).retiring]), place]),
  ).values(),
];

describe('in every state', () => {
  test('the samples are of every state', () => {
    const states = new Set(samples.flatMap(({ end }) => restsIn(chart, end.snapshot.value)));
    expect([...states].sort()).toEqual(restingStates(chart).filter((name) => name !== 'Released'));
  });

  test('any event, waited for or not, is heard or passed over, and changes nothing that it was given', () => {
    for (const { end } of samples) {
      for (const event of events) {
        const snapshot = frozen(structuredClone(end.snapshot));
        const after = step(chart, snapshot, frozen(event));
        expect(step(chart, snapshot, event)).toEqual(after);
        expect(JSON.parse(JSON.stringify(after.snapshot))).toStrictEqual(after.snapshot);
      }
    }
  });

  test('the record survives JSON, and goes on the same', () => {
    for (const { end } of places) expect(isDeepStrictEqual(JSON.parse(JSON.stringify(end.snapshot)), end.snapshot)).toBe(true);
    for (const { end, edges } of samples) {
      const last = edges.at(-1);
      if (last) expect(step(chart, JSON.parse(JSON.stringify(last.before.snapshot)), last.event).snapshot).toStrictEqual(end.snapshot);
    }
  });

  test('a restart goes on there: its job, its timer, its claim or its word to the pool is issued again, but no assign of one that is given up or wanted on no node', () => {
    for (const { end } of living) {
      // One that is given up, or is wanted on no node, is read again.
      if (end.invoking.has('unassign') || (end.invoking.has('assign') && (contextOf(end).retiring !== null || contextOf(end).parked)))
        continue;
      const resumed = step(chart, end.snapshot, { type: 'RESUME', at: START + SECOND });
      expect(resumed.snapshot.value).toEqual(end.snapshot.value);
      expect(resumed.starts.map(({ invokeId }) => invokeId)).toEqual([...end.invoking]);
      expect([stateName(end.snapshot.value), resumed.delays.length]).toEqual([
        stateName(end.snapshot.value),
        ['CoolOff', 'Unassigned.Doubting', 'Unassigned.LookingAgain'].includes(stateName(end.snapshot.value)) ? 1 : 0,
      ]);
      const says =
        { FirewallOpening: ['claim'], Pruning: ['claim'], 'Unassigned.Waiting': ['tell'], 'Unassigned.LookingAgain': ['tell'] }[
          stateName(end.snapshot.value)
        ] ?? [];
      expect(resumed.effects.map(({ type }) => type)).toEqual(says);
      const doubt = end.invoking.has('assign') ? { inDoubtUntil: START + SECOND + CALL_DEADLINE } : {};
      expect(resumed.snapshot.context).toEqual({ ...contextOf(end), ...doubt });
    }
  });

  test('an outcome, a timer or an answer that is not waited for is not heard', () => {
    const fenced = events.flatMap((event) => {
      const key = fenceKey(event.type);
      return key === null ? [] : [{ event, key }];
    });
    expect(new Set(fenced.map(({ key }) => key)).size).toBe(7);
    for (const { end } of samples) {
      for (const { event, key } of fenced) {
        const waiting = { [key]: { commandId: `${ID}.2.9.0` } };
        const record = { chart: 'ip', chartVersion: 1, snapshot: end.snapshot as never, waiting, version: 9, term: 2 };
        const cell: CellState = { id: POOL, records: new Map([[ID, record]]), seen: new Map() };
        const late: Envelope = { to: ID, event, fence: { key, commandId: `${ID}.2.8.0` } };
        const { write } = runTurn(cell, [late], { charts: { ip: chart }, term: 2, now: START, clear: [], endedAt: () => 0 });
        expect(write).toBeNull();
      }
    }
  });
});

const ID = input.id;
const fenceKey = (type: string): string | null => {
  const job = /\.actor\.(?<id>\w+)$/.exec(type)?.groups?.id;
  if (job !== undefined) return job;
  if (type.startsWith('xstate.after.')) return type;
  return ['OPENED', 'PRUNED', 'REFUSED'].includes(type) ? 'claim' : null;
};

describe('an address that is given up', () => {
  /** Answers whatever is waited for until nothing is: well, or badly at first. */
  const end = (start: Step, goodFrom: number): Step => {
    let at = START + SECOND;
    let now = start;
    for (let answers = 0; !now.done; answers += 1) {
      if (answers > 12) throw new Error(`is still in ${stateName(now.snapshot.value)}`);
      at += 3_600 * SECOND;
      now = step(chart, now.snapshot, { ...answerTo(stateName(now.snapshot.value), answers >= goodFrom), at });
    }
    return now;
  };

  test.each(['Retain', 'Delete'] as const)('is released from every state, once outcomes arrive: %s', (policy) => {
    for (const { end: from, path } of living) {
      const retired = step(chart, from.snapshot, { type: 'RETIRE', policy, at: START + SECOND });
      for (const goodFrom of [0, 3]) {
        const last = end(retired, goodFrom);
        const said = last.effects.at(-1)?.params as { readonly event?: { readonly type: string } } | undefined;
        if (last.snapshot.value !== 'Released' || said?.event?.type !== 'GONE') expect.fail(told(path));
      }
    }
  });
});

function answerTo(state: string, well: boolean): { readonly type: string; readonly [field: string]: unknown } {
  switch (state) {
    case 'Assigning':
      return well ? { type: 'xstate.done.actor.assign', output: {} } : { type: 'xstate.error.actor.assign', error: cutOff() };
    case 'Unassigned.LettingGo':
      return well
        ? { type: 'xstate.done.actor.unassign', output: { providerID: null } }
        : { type: 'xstate.error.actor.unassign', error: failure('Unauthorized') };
    case 'Pruning':
      return well ? { type: 'PRUNED', claimId: 'claim' } : { type: 'REFUSED', claimId: 'claim', kind: 'Unauthorized', reason: 'no token' };
    case 'Releasing':
      return well
        ? { type: 'xstate.done.actor.release', output: {} }
        : { type: 'xstate.error.actor.release', error: failure('Unauthorized') };
    case 'CoolOff':
      return well ? { type: 'xstate.after.coolOff.ip.CoolOff' } : { type: 'SECRET_OBSERVED' };
    default:
      throw new Error(`nothing is answered in ${state}`);
  }
}
