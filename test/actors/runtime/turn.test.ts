import { describe, expect, test } from 'vitest';
import { assign, enqueueActions, setup } from 'xstate';
import { charts } from '../../../actors/controllers/chart-registry.ts';
import { DEFAULT_SETTINGS } from '../../../actors/ports/settings.ts';
import type { Chart } from '../../../actors/runtime/charts.ts';
import { type CellState, type Envelope, runTurn, type TurnResult } from '../../../actors/runtime/turn.ts';
import { zoneActor } from '../../../machines/model/actor-id.ts';
import type { Address } from '../../../machines/model/types.ts';

const POOL = 'pool/default/ingress';
const RECORDS = `${POOL}/dns`;
const ZONE = zoneActor('digitalocean', 'example.com');
const target = { provider: 'digitalocean', zone: 'example.com', recordName: 'web', ttlSeconds: 60 };

const turn = (state: CellState, ...envelopes: readonly Envelope[]): TurnResult =>
  runTurn(state, envelopes, {
    charts: charts(DEFAULT_SETTINGS, () => 1),
    term: 1,
    now: Date.UTC(2026, 0, 1),
    clear: [],
    endedAt: () => 0,
  });
const sends = ({ write }: TurnResult) => (write?.outbox.add ?? []).flatMap((command) => (command.kind === 'send' ? [command] : []));

/** The record set of a pool, which has claimed an address and was told that it stands. */
function standing(): CellState {
  const begun: Envelope = {
    to: RECORDS,
    event: { type: 'init' },
    begin: { chart: 'dns-record-set', input: { id: RECORDS, ref: null, since: 1 } },
  };
  const wanted = { type: 'RECORDS_WANTED', target, addresses: ['203.0.113.7' as Address], since: 1 };
  const { next } = turn({ id: POOL, records: new Map(), seen: new Map() }, begun, { to: RECORDS, event: wanted });
  return turn(next, { to: RECORDS, event: { type: 'RECORDS_APPLIED', revision: 1, failure: null } }).next;
}

describe('an actor that says something without becoming another', () => {
  test('says the next thing under another id: its receiver hears both', () => {
    const first = turn(standing(), { to: RECORDS, event: { type: 'RECORDS_ASKED', zone: ZONE } });
    const second = turn(first.next, { to: RECORDS, event: { type: 'RECORDS_ASKED', zone: ZONE } });
    const third = turn(second.next, { to: RECORDS, event: { type: 'DELETED' } });
    const said = [first, second, third].flatMap(sends);
    expect(said.map(({ to }) => to)).toEqual([ZONE, ZONE, ZONE]);
    expect(first.next.records.get(RECORDS)?.snapshot).toEqual(standing().records.get(RECORDS)?.snapshot);
    expect(new Set(said.map(({ id }) => id)).size).toBe(3);
  });
});

describe('an envelope whose handling throws', () => {
  const ONE = 'pool/default/ingress/one';
  const TWO = 'pool/default/ingress/two';

  /** Counts, passes what it hears on to the next one, and throws when it hears what it does not expect. */
  const counter = setup({
    types: {
      context: {} as { readonly heard: number; readonly next: string | null },
      events: {} as { type: 'PASS'; size?: number },
      input: {} as { next: string | null },
    },
    actions: { tell: (_, __: { to: string; event: { type: string } }) => undefined },
    delays: { later: 1_000 },
  }).createMachine({
    id: 'counter',
    context: ({ input }) => ({ heard: 0, next: input.next }),
    initial: 'Counting',
    states: {
      Counting: {
        after: { later: 'Counting' },
        on: {
          PASS: {
            actions: [
              assign({ heard: ({ context, event }) => context.heard + (event.size ?? fail()) }),
              enqueueActions(({ context, event, enqueue }) => {
                const size = event.size === 2 ? undefined : event.size;
                if (context.next) enqueue({ type: 'tell', params: { to: context.next, event: { type: 'PASS', ...(size && { size }) } } });
              }),
            ],
          },
        },
      },
    },
  });
  const fail = (): never => {
    throw new Error('a size is missing');
  };
  const chart: Chart = {
    name: 'counter',
    version: 1,
    machine: counter,
    claims: () => ({ provider: '', nodes: [], limit: 1 }),
    job: () => ({ title: '', queue: '', priority: 1 }),
  };
  const run = (state: CellState, ...envelopes: readonly Envelope[]): TurnResult =>
    runTurn(state, envelopes, { charts: { counter: chart }, term: 1, now: 0, clear: [], endedAt: () => 0 });
  const begin = (id: string, next: string | null): Envelope => ({
    to: id,
    event: { type: 'init' },
    begin: { chart: 'counter', input: { next } },
  });
  const begun = run({ id: POOL, records: new Map(), seen: new Map() }, begin(ONE, TWO), begin(TWO, null)).next;
  const pass = (size?: number): Envelope => ({ to: ONE, event: { type: 'PASS', ...(size !== undefined && { size }) } });
  const heard = ({ records }: CellState): readonly unknown[] =>
    [ONE, TWO].map((actor) => (records.get(actor)?.snapshot.context as { heard?: number } | undefined)?.heard);

  test('is applied whole where nothing throws', () => {
    const { next, faults } = run(begun, pass(1));
    expect([heard(next), faults]).toEqual([[1, 1], []]);
  });

  test('changes nothing and is named with the reason; the envelopes before and after it stand', () => {
    const { next, faults } = run(begun, pass(1), pass(), pass(3));
    expect(heard(next)).toEqual([4, 4]);
    expect(faults.map(({ envelope, error }) => [envelope, String(error)])).toEqual([[pass(), 'Error: a size is missing']]);
  });

  test('is not applied to its receiver when a send that followed from it throws', () => {
    const { write, next, faults } = run(begun, pass(2));
    expect(heard(next)).toEqual([0, 0]);
    expect(write).toBeNull();
    expect(faults).toHaveLength(1);
  });

  test('leaves what was waited for as it was, so that it can be missed', () => {
    const key = 'xstate.after.later.counter.Counting';
    const commandId = begun.records.get(ONE)?.waiting[key]?.commandId;
    expect(commandId).toBeDefined();
    const { next, obsolete } = run(begun, { ...pass(), fence: { key, commandId: commandId ?? '' } });
    expect(next.records.get(ONE)).toEqual(begun.records.get(ONE));
    expect(obsolete).toEqual([]);
  });

  test('begins no actor', () => {
    const { write, faults } = run(
      { id: POOL, records: new Map(), seen: new Map() },
      { ...begin(ONE, TWO), begin: { chart: 'none', input: null } },
    );
    expect([write, faults.map(({ error }) => String(error))]).toEqual([null, ['Error: no chart named none']]);
  });
});
