import { describe, expect, test } from 'vitest';
import { charts } from '../../actors/catalogue.ts';
import { DEFAULT_SETTINGS } from '../../actors/settings.ts';
import { type CellState, type Envelope, runTurn, type TurnResult } from '../../actors/turn.ts';
import type { Address } from '../../machines/types.ts';
import { zoneActor } from '../../machines/zone.ts';

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
  const { next } = turn({ id: POOL, records: new Map(), seen: {} }, begun, { to: RECORDS, event: wanted });
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
