import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { type MachineEvent, type Step, step } from '../../actors/step.ts';
import { phaseOf, type RecordSetContext } from '../../machines/record-set.ts';
import { A, B, frozen, PROVIDER, START } from './builders.ts';
import { addressed, nodes, REF, setSpec, WEB, ZONE } from './dns-world.ts';
import { chartOf, VERIFY_EVERY } from './drive.ts';
import { comers, type Edge, type Exploration, type Place, placesOf, restingStates, restsIn, type Telling, told } from './explore.ts';
import { event } from './pool-world.ts';

const chart = chartOf('dns-record-set');
const away = { failure: { kind: 'Unavailable', message: 'away' } };
const answers = [1, 2, 3].flatMap((revision) => [
  event('RECORDS_APPLIED', { revision, failure: null }),
  event('RECORDS_APPLIED', { revision, ...away }),
]);
const COMMON = [
  ...answers,
  event('RECORDS_ASKED', { zone: ZONE }),
  event('RESUME'),
  event('DELETED'),
  event('xstate.after.unanswered.recordSet.Publishing', {}, START + VERIFY_EVERY),
];
const target = (zone: string) => ({ provider: PROVIDER, zone, recordName: 'web', ttlSeconds: 60 });

const OF_NODES = frozen([
  event('SPEC_OBSERVED', setSpec()),
  event('SPEC_OBSERVED', setSpec({ dnsRecordSet: { zone: 'example.org', recordName: 'web' } })),
  event('SPEC_OBSERVED', setSpec({ provider: 'aws' })),
  event('CLUSTER_OBSERVED', nodes()),
  event('CLUSTER_OBSERVED', nodes(addressed('a', A), addressed('b', null))),
  event('CLUSTER_OBSERVED', nodes(addressed('a', B))),
  event('CLUSTER_OBSERVED', { ...nodes(addressed('a', B)), query: 'another' }),
  ...COMMON,
]);
const OF_A_POOL = frozen([
  event('RECORDS_WANTED', { target: target('example.com'), addresses: [A], since: START }),
  event('RECORDS_WANTED', { target: target('example.org'), addresses: [A, B], since: START }),
  event('RECORDS_WANTED', { target: target('example.com'), addresses: [], since: START }),
  event('RECORDS_WANTED', { target: null, addresses: [A], since: START }),
  ...COMMON,
]);

/** All but the times; of the revision whether it can still be met by an answer. */
const telling: Telling = ({ value, context }) => {
  const { spec, error, isKnown, target: where, addresses, revision, isClaimed, outcome } = context as RecordSetContext;
  return [
    value,
    spec?.target.zone,
    error,
    isKnown,
    where?.zone,
    addresses,
    Math.min(revision, 4),
    isClaimed,
    outcome?.failure === null,
    outcome !== null,
  ];
};

const comes: Exploration['comes'] = ({ context }) => (context as RecordSetContext).revision < 4;
const explored = [
  { chart, input: frozen({ id: WEB, ref: REF, since: START }), events: OF_NODES, telling, comes },
  { chart, input: frozen({ id: `${WEB}/dns`, ref: null, since: START }), events: OF_A_POOL, telling, comes },
].map((exploration) => ({ exploration, places: placesOf(exploration) }));
const places = explored.flatMap((each) => each.places);
const living = places.filter(({ end }) => !end.done);

const contextOf = ({ snapshot }: Step): RecordSetContext => snapshot.context as RecordSetContext;
interface Sent {
  readonly to: string;
  readonly claimant: string;
  readonly revision: number;
  readonly recordName: string;
  readonly addresses: readonly string[];
}
const sent = ({ effects }: Step): readonly Sent[] =>
  effects.flatMap((effect) =>
    effect.type === 'tell' ? [{ to: effect.params.to, ...(effect.params.event as Omit<Sent, 'to'> & { type: string }) }] : [],
  );
const zoneOf = ({ target: where, addresses }: RecordSetContext): string | null =>
  where && addresses.length > 0 ? `zone/${where.provider}/${where.zone}` : null;

const RULES: Readonly<Record<string, (edge: Edge) => boolean>> = {
  'its state is what its context says': ({ after }) => after.done || after.snapshot.value === phaseOf(contextOf(after)),

  'a claim is the whole of what is wanted, at its zone': ({ after }) =>
    sent(after).every(({ to, addresses, revision }) => {
      if (addresses.length === 0) return true;
      const { addresses: wanted, revision: present } = contextOf(after);
      return to === zoneOf(contextOf(after)) && isDeepStrictEqual(addresses, wanted) && revision === present;
    }),

  'only a zone that is not claimed on gets its claim back': ({ after }) =>
    sent(after).every(({ to, addresses }) => addresses.length > 0 || to !== zoneOf(contextOf(after)) || after.done),

  'what changes is claimed at once, under a new revision': ({ before, after }) => {
    const [was, is] = [contextOf(before), contextOf(after)];
    if (after.done || isDeepStrictEqual([was.target, was.addresses], [is.target, is.addresses])) return true;
    const claims = sent(after).filter(({ addresses }) => addresses.length > 0);
    return is.revision === was.revision + 1 && claims.length === (zoneOf(is) === null ? 0 : 1);
  },

  'the former zone gets its claim back when another one takes its place, or none': ({ before, after }) => {
    const [was, is] = [zoneOf(contextOf(before)), zoneOf(contextOf(after))];
    return was === null || was === is || sent(after).some(({ to, addresses }) => to === was && addresses.length === 0);
  },

  'nothing is claimed because of a spec alone: its nodes come first': ({ event: heard, after }) =>
    heard.type !== 'SPEC_OBSERVED' || sent(after).length === 0,

  'what is published changes only by nodes, or by what the pool wants': ({ before, event: heard, after }) =>
    after.done ||
    isDeepStrictEqual(contextOf(before).addresses, contextOf(after).addresses) ||
    heard.type === 'CLUSTER_OBSERVED' ||
    heard.type === 'RECORDS_WANTED',

  'only an answer to the present revision says how it stands': ({ before, event: heard, after }) => {
    const [was, is] = [contextOf(before), contextOf(after)];
    if (is.outcome === null || isDeepStrictEqual(was.outcome, is.outcome)) return true;
    return heard.type === 'RECORDS_APPLIED' && heard.revision === is.revision;
  },

  'whoever waits for an answer has a timer to ask again': ({ before, event: heard, after }) => {
    if (after.snapshot.value !== 'Publishing') return true;
    const enters = before.snapshot.value !== 'Publishing' || heard.type === 'RESUME' || heard.type.startsWith('xstate.after.');
    return !enters || after.delays.length === 1;
  },

  'under a spec that is not valid its claim stays as it is': ({ event: heard, after }) =>
    after.snapshot.value !== 'Invalid' || heard.type === 'RECORDS_ASKED' || sent(after).length === 0,
};

test('every state is reached', () => {
  const reached = new Set(places.flatMap(({ end }) => restsIn(chart, end.snapshot.value)));
  expect([...reached].sort()).toEqual(restingStates(chart));
  for (const each of explored) expect(each.places.length).toBeGreaterThan(50);
});

test('an event that nobody knows changes nothing: no state has a way on that was not taken', () => {
  for (const { end, path } of living) {
    const nudged = step(chart, end.snapshot, { type: 'NOBODY', at: path.at(-1)?.at ?? START });
    expect([nudged.effects.length, nudged.delays.length, nudged.snapshot]).toEqual([0, 0, end.snapshot]);
  }
});

describe('in every state, whatever comes next,', () => {
  const breaks = new Map<string, string>();
  let tried = 0;
  const tryOut = ({ end, path }: Place, heard: MachineEvent) => {
    const edge = { before: end, event: heard, after: step(chart, end.snapshot, heard) };
    tried += 1;
    for (const [rule, holds] of Object.entries(RULES))
      if (!holds(edge) && !breaks.has(rule)) breaks.set(rule, `\n  ${told([...path, heard])}\n`);
  };
  for (const { exploration, places: reached } of explored) {
    for (const place of reached.filter(({ end }) => !end.done)) {
      for (const heard of comers(exploration, place)) tryOut(place, heard);
    }
  }

  test('enough comes', () => expect(tried).toBeGreaterThan(1000));

  test.each(Object.keys(RULES))('%s', (rule) => expect(breaks.get(rule) ?? 'holds').toBe('holds'));
});

describe('in every state', () => {
  const samples = [
    ...new Map(living.map((place) => [JSON.stringify([place.end.snapshot.value, contextOf(place.end).ref]), place])).values(),
  ];

  test('any event is heard or passed over, and changes nothing that it was given', () => {
    expect(samples.length).toBeGreaterThan(8);
    for (const { end } of samples) {
      for (const heard of [...OF_NODES, ...OF_A_POOL]) {
        const snapshot = frozen(structuredClone(end.snapshot));
        const after = step(chart, snapshot, heard);
        expect(step(chart, snapshot, heard)).toEqual(after);
        expect(JSON.parse(JSON.stringify(after.snapshot))).toStrictEqual(after.snapshot);
      }
    }
  });

  test('DELETED ends it, and leaves no claim', () => {
    for (const { end, path } of living) {
      const gone = step(chart, end.snapshot, { type: 'DELETED', at: START });
      const zone = zoneOf(contextOf(end));
      if (!gone.done || sent(gone).filter(({ to, addresses }) => to === zone && addresses.length === 0).length !== (zone === null ? 0 : 1))
        expect.fail(told(path));
    }
  });
});
