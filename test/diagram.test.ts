import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { diagramOf } from '../tools/chart-diagram.ts';
import { noteProblems } from '../tools/chart-page.ts';
import { type ChartNode, statesOf } from '../tools/chart-tree.ts';
import { charts, statesPage } from '../tools/generate-diagram.ts';
import { staleFiles } from '../tools/generated-files.ts';

const MACHINES = join(import.meta.dirname, '../machines');

const state = (id: string, rest: Partial<ChartNode> = {}): ChartNode => ({
  id,
  key: id.split('.').at(-1) ?? id,
  kind: 'atomic',
  description: 'Is.',
  initial: null,
  jobs: [],
  entry: [],
  transitions: [],
  children: [],
  ...rest,
});

const on = (event: string, target: string | null): ChartNode['transitions'][number] => ({
  event,
  guard: null,
  otherwise: false,
  target,
  actions: [],
});

describe('docs/states.md', () => {
  test('is what the charts say today', () => expect(staleFiles([statesPage()])).toEqual([]));

  test('is found stale when a chart says something else', () => {
    const { path, text } = statesPage();
    expect(text).toContain('Assigning');
    expect(staleFiles([{ path, text: text.replaceAll('Assigning', 'Moving') }])).toHaveLength(1);
  });

  test('comes out the same each time', () => expect(statesPage()).toEqual(statesPage()));

  test('shows every chart in machines/', async () => {
    const drawn = charts().map(({ file }) => file);
    const files = readdirSync(MACHINES, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.machine.ts'));
    expect(files.length).toBeGreaterThan(1);
    for (const name of files) {
      const module: Record<string, unknown> = await import(join(MACHINES, name));
      const isChart = Object.keys(module).some((exported) => exported.endsWith('Machine'));
      expect([name, drawn.includes(`machines/${name}`)]).toEqual([name, isChart]);
    }
  });

  test.each(charts().map((chart) => [chart.root.id, chart] as const))('has text about every state of %s and about no other', (_, chart) => {
    expect(statesOf(chart.root).length).toBeGreaterThan(1);
    expect(noteProblems(chart)).toEqual([]);
  });

  test.each(charts().map((chart) => [chart.root.id, chart] as const))(
    'draws every state of %s, and an arrow to each but the first',
    (_, { root }) => {
      const diagram = diagramOf(root);
      for (const { id } of statesOf(root)) {
        const name = id.replaceAll('.', '_');
        expect(diagram).toMatch(new RegExp(` as ${name}\\b`));
      }
      const targets = new Set([...diagram.matchAll(/--> (\w+)/g)].map(([, target]) => target));
      const noted = new Set([...diagram.matchAll(/note right of (\w+)/g)].map(([, target]) => target));
      for (const child of root.children) {
        const name = child.id.replaceAll('.', '_');
        expect([child.id, targets.has(name) || noted.has(name)]).toEqual([child.id, true]);
      }
    },
  );

  test('has no character in a label at which Mermaid would end it', () => {
    const labels = charts().flatMap(({ root }) => [...diagramOf(root).matchAll(/ --> \w+ : (.*)$/gm)].map(([, text]) => text ?? ''));
    expect(labels.length).toBeGreaterThan(20);
    expect(labels.filter((text) => /[:;#]/.test(text))).toEqual([]);
  });
});

describe('the notes', () => {
  const notes = (states: Record<string, string>) => ({ title: 'A chart', text: 'Says.', states });

  test('must say something about a state', () => {
    expect(noteProblems({ root: state('m', { children: [state('m.A')] }), notes: notes({}) })).toEqual(['there is no paragraph about m.A']);
  });

  test('must not speak of a state that is gone', () => {
    expect(noteProblems({ root: state('m'), notes: notes({ 'm.Old': 'Was.' }) })).toEqual([
      'there is a paragraph about m.Old, which is no state',
    ]);
  });
});

describe('the diagram', () => {
  test('lifts an arrow out of a composite state, and says where it comes from', () => {
    const inner = state('m.A.Inner', { transitions: [on('LOST', 'm.B')] });
    const a = state('m.A', { kind: 'compound', initial: 'm.A.Inner', children: [inner] });
    const diagram = diagramOf(state('m', { kind: 'compound', initial: 'm.A', children: [a, state('m.B', { kind: 'final' })] }));
    expect(diagram).toContain('  m_A --> m_B : Inner, LOST\n');
    expect(diagram).toContain('  m_B --> [*]\n');
  });

  test('leaves out what leads nowhere else', () => {
    const a = state('m.A', { transitions: [on('NOTED', null), on('RESUME', 'm.A')] });
    expect(diagramOf(state('m', { kind: 'compound', initial: 'm.A', children: [a] }))).not.toMatch(/NOTED|RESUME/);
  });

  test('merges what leads the same way', () => {
    const a = state('m.A', { transitions: [on('LOST', 'm.B'), on('DIFFERS', 'm.B')] });
    expect(diagramOf(state('m', { kind: 'compound', initial: 'm.A', children: [a, state('m.B')] }))).toContain(
      'm_A --> m_B : LOST<br/>DIFFERS',
    );
  });

  test('draws what may happen anywhere as a note at its target', () => {
    const root = state('m', {
      kind: 'compound',
      initial: 'm.A',
      children: [state('m.A'), state('m.B')],
      transitions: [on('RETIRE', 'm.B')],
    });
    expect(diagramOf(root)).toContain('note right of m_B\n    from every state on RETIRE\n');
  });
});
