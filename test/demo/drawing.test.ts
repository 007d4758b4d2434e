import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { drawn, frame, redraw, type Scene, timeline } from '../../demo/frame.ts';
import { coarseSpan, span } from '../../demo/time.ts';
import type { AddressRow, View } from '../../demo/view.ts';

const row = (change: Partial<AddressRow> = {}): AddressRow => ({
  address: '203.0.113.1',
  state: 'active',
  machineState: 'Stable',
  node: 'ingress-1',
  error: '',
  since: 1_000,
  ...change,
});

const view = (change: Partial<View> = {}): View => ({
  addresses: [row()],
  published: ['203.0.113.1'],
  assignable: ['ingress-2'],
  error: '',
  nodes: [
    { name: 'ingress-1', ready: true, annotation: '203.0.113.1', annotatedSince: 0 },
    { name: 'ingress-2', ready: true, annotation: '', annotatedSince: 0 },
    { name: 'ingress-3', ready: false, annotation: '', annotatedSince: 0 },
  ],
  record: null,
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
