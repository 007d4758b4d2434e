import { describe, expect, test } from 'vitest';
import { chartDefinition } from '../../adapters/dashboard/definition.ts';
import { graphOf } from '../../dashboard/graph.js';
import { freePlace } from '../../dashboard/labels.js';
import { lastArrows, liveStates } from '../../dashboard/marks.js';
import { listed, pausedOwners, type View } from '../../dashboard/rows.js';
import { eventText, innerState, moveText, span, toneOf, waitText } from '../../dashboard/text.js';
import type { Row } from '../../dashboard/types.js';
import { sampleMachine } from './sample-machine.ts';

const definition = chartDefinition('ip', sampleMachine);

describe('the picture of a chart', () => {
  const graph = graphOf(definition, true);
  const arrow = (source: string, target: string) => graph.edges.find((edge) => edge.source === source && edge.target === target);

  test('has one arrow between two states, with every event once', () => {
    expect(arrow('sample.Unassigned.Finding', 'sample.Unassigned.Waiting')).toMatchObject({
      kind: 'event',
      lines: ['[isKnown]', 'find done'],
    });
    expect(arrow('sample.Assigning', 'sample.CoolOff')).toMatchObject({ kind: 'error', lines: ['assign failed'] });
    expect(arrow('sample.CoolOff', 'sample.Assigning')).toMatchObject({ kind: 'after', lines: ['after coolOff'] });
    expect(arrow('sample.Electing', 'sample.Assigning')).toMatchObject({ kind: 'always', lines: ['always'] });
  });

  test('draws what holds in every state from a box of its own', () => {
    expect(arrow('sample:any', 'sample.Released')).toMatchObject({ lines: ['RETIRE'] });
    expect(graph.boxes.at(-1)).toMatchObject({ name: 'any state', lines: [{ text: 'NOTED' }] });
  });

  test('writes into a box what it answers without being left, when there is room', () => {
    const waiting = (boxes: typeof graph.boxes) => boxes[0]?.children[1];
    expect(waiting(graph.boxes)?.lines).toEqual([{ text: 'RESUME ↻', job: false }]);
    expect(waiting(graphOf(definition, false).boxes)?.lines).toEqual([]);
  });
});

describe('the marks in a chart', () => {
  test('are on every state that is live, around the innermost ones and in all regions', () => {
    expect([...liveStates(definition.root, { Unassigned: 'Waiting' })]).toEqual([
      'sample',
      'sample.Unassigned',
      'sample.Unassigned.Waiting',
    ]);
    const live = liveStates(definition.root, { Stable: { Address: 'Held', Records: 'Dirty' } });
    expect(live).toContain('sample.Stable.Address.Held');
    expect(live).toContain('sample.Stable.Records.Dirty');
  });

  test('follow the event, then the steps that were taken without one', () => {
    const entry = { at: 0, event: 'GRANTED', from: { Unassigned: 'Waiting' }, to: 'Assigning' };
    expect(lastArrows(definition, entry)).toEqual(['sample.Unassigned.Waiting → sample.Electing', 'sample.Electing → sample.Assigning']);
  });

  test('start at the box for any state when the outermost state answered', () => {
    expect(lastArrows(definition, { at: 0, event: 'RETIRE', from: 'Assigning', to: 'Released' })).toEqual(['sample:any → sample.Released']);
  });

  test('reach into the states that a state starts with', () => {
    const to = { Stable: { Address: 'Held', Records: 'Clean' } };
    expect(lastArrows(definition, { at: 0, event: 'xstate.done.actor.assign', from: 'Assigning', to })).toEqual([
      'sample.Assigning → sample.Stable',
    ]);
  });

  test('are absent when nothing explains the change', () => {
    expect(lastArrows(definition, { at: 0, event: 'GRANTED', from: 'Assigning', to: 'Released' })).toEqual([]);
    expect(lastArrows(definition, { at: 0, event: 'x', from: null, to: 'Unknown' })).toEqual([]);
  });
});

const row = (name: string, change: Partial<Row> = {}): Row => ({
  actor: `pool/default/ingress/ip/${name}`,
  chart: 'ip',
  name,
  pool: 'default/ingress',
  isRouted: false,
  state: 'Stable',
  node: 'node-a',
  ports: '',
  since: null,
  waiting: [],
  reason: '',
  message: '',
  paused: false,
  attempts: 0,
  version: 1,
  ...change,
});

describe('the table', () => {
  const view: View = { kind: 'addresses', text: '', pool: '', state: '', sort: 'state', descending: false };
  const rows = [
    row('203.0.113.10'),
    row('203.0.113.9'),
    row('203.0.113.3', { state: 'CoolOff', reason: 'RateLimited', message: 'assign: 429' }),
    row('203.0.113.4', { state: 'Assigning', node: 'node-b', since: 10 }),
    row('198.51.100.1', { pool: 'edge/public', state: 'Unassigned.Waiting', since: 5 }),
    row('ingress', { chart: 'pool', state: 'Serving' }),
  ];
  const names = (change: Partial<View>): string[] => listed(rows, { ...view, ...change }).map(({ name }) => name);

  test('puts trouble first, then what is under way, and addresses in their order', () => {
    expect(names({})).toEqual(['203.0.113.3', '203.0.113.4', '198.51.100.1', '203.0.113.9', '203.0.113.10']);
  });

  test('is the same for any order of what it is given', () => {
    expect(listed(rows.toReversed(), view)).toEqual(listed(rows, view));
  });

  test('filters by state, pool, kind and by every word of a text', () => {
    expect(names({ state: 'Stable' })).toEqual(['203.0.113.9', '203.0.113.10']);
    expect(names({ pool: 'edge/public' })).toEqual(['198.51.100.1']);
    expect(names({ kind: 'pools' })).toEqual(['ingress']);
    expect(names({ text: 'RATE 203.0' })).toEqual(['203.0.113.3']);
    expect(names({ text: 'nothing like this' })).toEqual([]);
  });

  test('tells a RoutedIP from a pool of the same name, and finds rows by their ports', () => {
    const routed = { pool: 'default/ingress', isRouted: true, ports: 'tcp/443' };
    const all = [
      ...rows,
      row('203.0.113.7', routed),
      row('ingress', { ...routed, chart: 'pool' }),
      row('edge', { chart: 'firewall', pool: '' }),
      row('default/shop', { chart: 'vip-service', pool: '', state: 'Bound.Settled', node: '198.51.100.8' }),
    ];
    const found = (change: Partial<View>) => listed(all, { ...view, ...change }).map(({ name }) => name);
    expect(found({ pool: 'RoutedIP default/ingress' })).toEqual(['203.0.113.7']);
    expect(found({ pool: 'default/ingress' })).not.toContain('203.0.113.7');
    expect([found({ kind: 'pools' }), found({ kind: 'routed' }), found({ kind: 'others' })]).toEqual([['ingress'], ['ingress'], ['edge']]);
    expect(found({ text: 'tcp/443' })).toEqual(['203.0.113.7']);
    expect([found({ kind: 'services' }), found({ kind: 'services', text: '198.51' })]).toEqual([['default/shop'], ['default/shop']]);
  });

  test('knows which pools and RoutedIPs are paused, and finds them and their addresses by that word', () => {
    const all = [
      ...rows,
      row('203.0.113.7', { isRouted: true }),
      row('ingress', { chart: 'pool', isRouted: true, paused: true }),
      row('public', { chart: 'pool', pool: 'edge/public', paused: true }),
    ];
    expect([...pausedOwners(all)]).toEqual(['RoutedIP default/ingress', 'edge/public']);
    const found = (change: Partial<View>) => listed(all, { ...view, text: 'paused', ...change }).map(({ name }) => name);
    expect([found({}), found({ kind: 'pools' }), found({ kind: 'routed' })]).toEqual([
      ['198.51.100.1', '203.0.113.7'],
      ['public'],
      ['ingress'],
    ]);
  });

  test('sorts by what is asked for, both ways', () => {
    expect(names({ sort: 'name' })[0]).toBe('198.51.100.1');
    expect(names({ sort: 'node', descending: true })[0]).toBe('203.0.113.4');
    expect(names({ sort: 'since' }).slice(0, 2)).toEqual(['203.0.113.4', '198.51.100.1']);
  });
});

describe('texts', () => {
  test('tell spans by their two largest units', () => {
    expect([0, 59_999, 190_000, 720_000, 7_500_000, 363_600_000].map(span)).toEqual([
      '0 s',
      '59 s',
      '3 m 10 s',
      '12 m',
      '2 h 5 m',
      '4 d 5 h',
    ]);
  });

  test('tell what is waited for', () => {
    expect(waitText({ id: 'assign', commandId: 'c', dueAt: null }, 0)).toBe('job assign');
    expect(waitText({ id: 'xstate.after.coolOff.ip.CoolOff', commandId: 'c', dueAt: 12_000 }, 0)).toBe('coolOff in 12 s');
    expect(waitText({ id: 'xstate.after.coolOff.ip.CoolOff', commandId: 'c', dueAt: 12_000 }, 12_001)).toBe('coolOff due');
  });

  test('name events as the chart does', () => {
    const events = [
      'NODE_GRANTED',
      'xstate.done.actor.assign',
      'xstate.error.actor.assign',
      'xstate.after.coolOff.ip.CoolOff',
      'xstate.done.state.ip.X',
    ];
    expect(events.map(eventText)).toEqual(['NODE_GRANTED', 'assign done', 'assign failed', 'after coolOff', 'done']);
  });

  test('tell what lies within a state', () => {
    expect(['Stable.Holding', 'CoolOff', 'Serving.acquiring.Complete|granting.Open'].map(innerState)).toEqual([
      'Holding',
      '',
      'acquiring Complete, granting Open',
    ]);
  });

  test('tell a move without what stayed as it was', () => {
    expect(moveText({ Unassigned: 'Waiting' }, 'Assigning')).toBe('Unassigned.Waiting → Assigning');
    expect(moveText({ Unassigned: 'Finding' }, { Unassigned: 'Waiting' })).toBe('Finding → Waiting');
    const serving = (acquiring: string) => ({ Serving: { acquiring, granting: 'Open' } });
    expect(moveText(serving('Publishing'), serving('Complete'))).toBe('Publishing → Complete');
    expect(moveText('Priming', serving('Complete'))).toBe('Priming → Serving.acquiring.Complete, Serving.granting.Open');
    expect(moveText(null, 'Assigning')).toBe('new → Assigning');
    expect(moveText('Released', null)).toBe('Released → gone');
    expect(moveText('Assigning', 'Assigning')).toBe('Assigning, as before');
  });

  test('colour states by the attention they want', () => {
    expect(
      ['Stable.Holding', 'Assigning', 'Unassigned.Waiting', 'Unassigned.Finding', 'CoolOff', 'Released'].map((state) => toneOf(state, '')),
    ).toEqual(['ok', 'busy', 'wait', 'busy', 'trouble', 'done']);
    expect(toneOf('Unassigned.Waiting', 'NotFound')).toBe('trouble');
    expect([toneOf('Pending', ''), toneOf('Pending', 'PoolExhausted'), toneOf('Bound.Settled', '')]).toEqual(['wait', 'trouble', 'ok']);
  });
});

describe('the label of an arrow', () => {
  const size = { width: 40, height: 10 };

  test('stands on the middle of an arrow that has room', () => {
    expect(
      freePlace(
        [
          { x: 0, y: 0 },
          { x: 100, y: 0 },
        ],
        size,
        [],
        [],
      ),
    ).toEqual({ x: 30, y: -5, ...size });
  });

  test('gives way to boxes and to other labels', () => {
    const box = { x: 30, y: -5, width: 40, height: 10 };
    const free = freePlace(
      [
        { x: 0, y: 0 },
        { x: 100, y: 0 },
      ],
      size,
      [box],
      [],
    );
    expect(free).not.toBeNull();
    expect(free?.y === -5 && Math.abs((free?.x ?? 0) - box.x) < 40).toBe(false);
  });

  test('has no place when there is no arrow', () => {
    expect(freePlace([], size, [], [])).toBeNull();
  });
});
