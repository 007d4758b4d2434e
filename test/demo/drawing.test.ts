import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { frame, redraw, type Scene, timeline } from '../../demo/frame.ts';
import { drawn } from '../../demo/line.ts';
import type { HostRow, RoutedRow } from '../../demo/routed-view.ts';
import { coarseSpan, span } from '../../demo/time.ts';
import type { TrafficRow } from '../../demo/traffic.ts';
import type { AddressRow, NodeRow, View } from '../../demo/view.ts';

const row = (change: Partial<AddressRow> = {}): AddressRow => ({
  address: '203.0.113.1',
  state: 'active',
  machineState: 'Stable',
  node: 'ingress-1',
  error: '',
  since: 1_000,
  ...change,
});

const nodeRow = (name: string, change: Partial<NodeRow> = {}): NodeRow => ({
  name,
  ready: true,
  cordoned: false,
  annotation: '',
  annotatedSince: 0,
  ...change,
});

const view = (change: Partial<View> = {}): View => ({
  addresses: [row()],
  published: ['203.0.113.1'],
  assignable: ['ingress-2'],
  error: '',
  nodes: [nodeRow('ingress-1', { annotation: '203.0.113.1' }), nodeRow('ingress-2'), nodeRow('ingress-3', { ready: false })],
  record: null,
  routed: null,
  hosts: [],
  traffic: [],
  services: [],
  reservations: [],
  ...change,
});

const scene = (change: Partial<Scene> = {}): Scene => ({ title: 'Demo', view: view(), log: [], startedAt: 0, now: 13_500, ...change });

const picture = (what: Scene, size = { columns: 100, rows: 30 }): readonly string[] =>
  frame(what, size).map((line) => drawn(line, false).trimEnd());

describe('the picture', () => {
  test('shows address, state, node and since in columns', () => {
    const moving = row({ address: '203.0.113.20', state: 'in-progress', machineState: 'Assigning', node: 'ingress-4', since: 13_000 });
    const lines = picture(scene({ view: view({ addresses: [row(), moving] }) }));
    expect(lines.slice(2, 5)).toEqual([
      'ADDRESS        STATE                     NODE        SINCE',
      '203.0.113.1    active                    ingress-1   12 s',
      '203.0.113.20   in-progress (Assigning)   ingress-4   0 s',
    ]);
  });

  test('tells which nodes are spare, hold an address, or are not ready', () => {
    expect(picture(scene())).toContain('nodes  ingress-1 .1   ingress-2 spare   ingress-3 NotReady');
  });

  test('has what the name lists in DNS below the nodes, once there is a zone', () => {
    expect(picture(scene()).some((line) => line.startsWith('DNS'))).toBe(false);
    const record = (...addresses: string[]) => scene({ view: view({ record: { name: 'www.example.com', addresses } }) });
    expect(picture(record())).toContain('DNS    www.example.com   (nothing yet)');
    expect(picture(record('203.0.113.1', '203.0.113.2'))).toContain('DNS    www.example.com   203.0.113.1  203.0.113.2');
  });

  test('has the log below the table, the newest lines when there is no room for all', () => {
    const log = Array.from({ length: 50 }, (_, index) => ({ text: `step ${index}`, elapsedMs: index * 100 }));
    const lines = picture(scene({ log }), { columns: 100, rows: 12 });
    expect(lines).toHaveLength(11);
    expect(lines.at(-1)).toBe('   4.900 s  step 49');
    expect(lines.findIndex((line) => line.includes('ADDRESS'))).toBeLessThan(lines.findIndex((line) => line.includes('step')));
  });

  test('never is wider or higher than the terminal, whatever its size', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 2, max: 60 }), fc.nat(80), (columns, rows, entries) => {
        const log = Array.from({ length: entries }, (_, index) => ({ text: 'x'.repeat(index * 3), elapsedMs: index }));
        const lines = picture(scene({ log }), { columns, rows });
        expect(lines.length).toBeLessThan(rows);
        for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
      }),
    );
  });

  test('says so while there are no addresses and no nodes', () => {
    const lines = picture(scene({ view: view({ addresses: [], nodes: [] }) }));
    expect(lines).toContain('(none yet)');
    expect(lines).toContain('no nodes yet');
  });

  test('colours states, and only when colours are wanted', () => {
    const lines = frame(scene(), { columns: 100, rows: 30 });
    expect(lines.map((line) => drawn(line, true)).join('')).toContain('\x1b[32mactive');
    expect(lines.map((line) => drawn(line, false)).join('')).not.toContain('\x1b');
  });
});

describe('the picture of a RoutedIP', () => {
  const routed: RoutedRow = {
    name: 'shop',
    address: '203.0.113.4',
    state: 'Assigning',
    node: 'web-2',
    holder: 'web-1',
    error: '',
    since: 13_000,
  };
  const host = (name: string, change: Partial<HostRow> = {}): HostRow => ({
    name,
    open: ['tcp/22'],
    changing: '',
    address: '',
    moving: '',
    ...change,
  });
  const connections = (change: Partial<TrafficRow> = {}): TrafficRow => ({
    address: '203.0.113.4',
    port: 80,
    by: '',
    answered: 164,
    inTransit: 4,
    nodeDown: 0,
    refused: 0,
    reason: '',
    ...change,
  });
  const moving = (change: Partial<View> = {}) =>
    scene({
      view: view({
        routed,
        nodes: [...view().nodes, nodeRow('web-1', { cordoned: true }), nodeRow('web-2'), nodeRow('web-3', { ready: false })],
        hosts: [
          host('web-1', { open: ['tcp/22', 'tcp/80'], address: '203.0.113.4', moving: 'leaving' }),
          host('web-2', { address: '203.0.113.4', moving: 'arriving', changing: 'opening' }),
          host('web-3', { open: [] }),
        ],
        traffic: [connections(), connections({ port: 9090, answered: 0, refused: 167 })],
        ...change,
      }),
    });

  test('shows where the address is, what is open where, and how connections ended, below the pool', () => {
    expect(picture(moving()).slice(2)).toEqual([
      'ADDRESS       STATE       NODE        SINCE',
      '203.0.113.1   active      ingress-1   12 s',
      '203.0.113.4   Assigning   web-2       0 s',
      '',
      'nodes  ingress-1 .1   ingress-2 spare   ingress-3 NotReady',
      '',
      'NODE    OPEN               ADDRESS',
      'web-1   tcp/22 tcp/80      (leaving)    cordoned',
      'web-2   tcp/22 (opening)   (arriving)',
      'web-3   all                -            NotReady',
      '',
      'CONNECTIONS TO     NOW      ANSWERED   IN TRANSIT   NODE DOWN   REFUSED',
      '203.0.113.4:80     nobody        164            4           0         0',
      '203.0.113.4:9090   nobody          0            4           0       167',
      '',
    ]);
  });

  test('leaves the pool out where the window has no room for both and the log', () => {
    const log = Array.from({ length: 9 }, (_, index) => ({ text: `step ${index}`, elapsedMs: index }));
    const small = picture({ ...moving(), log }, { columns: 80, rows: 22 });
    expect(small.join('\n')).not.toContain('203.0.113.1 ');
    expect(small.filter((line) => line.includes('step')).length).toBeGreaterThanOrEqual(6);
    expect(small.join('\n')).toContain('203.0.113.4:9090');
    expect(Math.max(...small.map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  test('lists the Services with their addresses, or why they have none; where the window is small, them alone', () => {
    const services = [
      { name: 'chat', address: '', why: 'no IP could be allocated', since: 12_000 },
      { name: 'mail', address: '198.51.100.9', why: '', since: 1_500 },
    ];
    const table = [
      'SERVICE   EXTERNAL-IP    SINCE',
      'chat      <pending>      1 s     no IP could be allocated',
      'mail      198.51.100.9   12 s',
    ];
    expect(picture(scene({ view: view({ services }) })).join('\n')).toContain(table.join('\n'));
    const log = Array.from({ length: 9 }, (_, index) => ({ text: `step ${index}`, elapsedMs: index }));
    const small = picture({ ...moving({ services }), log }, { columns: 80, rows: 16 });
    expect(small.slice(2, 5)).toEqual(table);
    expect(small.join('\n')).not.toContain('203.0.113');
  });

  test('marks a refused connection at the port that serves, and none at the one that is meant to be closed', () => {
    const coloured = (what: Scene) => frame(what, { columns: 100, rows: 40 }).map((line) => drawn(line, true));
    const bad = (lines: readonly string[]) => lines.filter((line) => /\[31m *167/.test(line));
    expect(bad(coloured(moving()))).toEqual([]);
    expect(bad(coloured(moving({ traffic: [connections({ refused: 167 })] })))).toHaveLength(1);
  });

  test('never is wider or higher than the terminal, whatever its size', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 2, max: 60 }), (columns, rows) => {
        const lines = picture(moving(), { columns, rows });
        expect(lines.length).toBeLessThan(rows);
        for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
      }),
    );
  });
});

const ESCAPE = '\x1b';
const PIECES = new RegExp(`${ESCAPE}\\[(\\d*)[AKJ]|\\r|\\n|[^${ESCAPE}\\r\\n]+`, 'g');

/** What a terminal shows after `text`, for the few things that `redraw` sends. */
function terminal(text: string): readonly string[] {
  const lines: string[] = [''];
  let at = 0;
  for (const [piece, count] of text.matchAll(PIECES)) {
    if (piece.endsWith('A') && piece.startsWith('\x1b')) at -= Number(count);
    else if (piece === '\x1b[2K') lines[at] = '';
    else if (piece === '\x1b[0J') lines.splice(at, lines.length, '');
    else if (piece === '\n') at += 1;
    else if (piece !== '\r') lines[at] = piece + (lines[at] ?? '').slice(piece.length);
    lines[at] ??= '';
  }
  return lines.slice(0, -1);
}

describe('redrawing in place', () => {
  const pictures = fc.array(fc.array(fc.stringMatching(/^[a-z ]{0,12}$/), { maxLength: 8 }), { minLength: 1, maxLength: 6 });

  test('ends with the newest picture on the screen, whatever was there before', () => {
    fc.assert(
      fc.property(pictures, (all) => {
        const sent = all.map((after, index) => redraw(all[index - 1] ?? [], after));
        expect(terminal(sent.join(''))).toEqual(all.at(-1));
      }),
    );
  });

  test('sends nothing while nothing changes, and only the lines that do', () => {
    expect(redraw(['a', 'b'], ['a', 'b'])).toBe('');
    const text = redraw(['same line', 'old'], ['same line', 'new']);
    expect(text).toContain('new');
    expect(text).not.toContain('same line');
  });
});

describe('durations', () => {
  test.each([
    [0, '0.0 ms'],
    [4.24, '4.2 ms'],
    [38.2, '38 ms'],
    [999.6, '1.00 s'],
    [1_324, '1.32 s'],
    [15_000, '15.0 s'],
    [125_000, '2 min 5 s'],
  ])('%d ms reads %s', (ms, text) => {
    expect(span(ms)).toBe(text);
  });

  test('are whole seconds where they run', () => {
    expect([-5, 0, 1_999, 59_000, 61_000].map(coarseSpan)).toEqual(['0 s', '0 s', '1 s', '59 s', '1 min 1 s']);
  });

  test('of steps stand beside them: since the step before and since the first', () => {
    const lines = timeline([
      { what: 'NotReady', at: 100 },
      { what: 'assign received', at: 105 },
      { what: 'done', at: 905 },
    ]);
    expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
      ['NotReady', '0.0 ms'],
      ['assign received', '+5.0 ms', '5.0 ms'],
      ['done', '+800 ms', '805 ms'],
    ]);
  });
});
