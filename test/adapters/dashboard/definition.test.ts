import { describe, expect, test } from 'vitest';
import { type ChartState, chartDefinition } from '../../../adapters/dashboard/definition.ts';
import { sampleMachine } from '../../dashboard/sample-machine.ts';

const { name, root } = chartDefinition('ip', sampleMachine);

function state(id: string, within: ChartState = root): ChartState {
  if (within.id === id) return within;
  const inside = within.states.find((child) => id === child.id || id.startsWith(`${child.id}.`));
  if (!inside) throw new Error(`no state ${id}`);
  return state(id, inside);
}

const arrows = (id: string) => state(id).transitions.map(({ kind, label, guard, targets }) => ({ kind, label, guard, targets }));

describe('the definition of a chart', () => {
  test('survives JSON, and lists the states in the order of the chart', () => {
    expect(JSON.parse(JSON.stringify(root))).toEqual(root);
    expect(name).toBe('ip');
    expect(root.states.map(({ key }) => key)).toEqual(['Unassigned', 'Electing', 'Assigning', 'Stable', 'CoolOff', 'Released']);
  });

  test('tells kinds of states, what is entered first, and what they are for', () => {
    expect(state('sample.Unassigned')).toMatchObject({
      type: 'compound',
      initial: 'sample.Unassigned.Finding',
      description: 'Serves through no node.',
    });
    expect(state('sample.Stable').type).toBe('parallel');
    expect(state('sample.Released').type).toBe('final');
  });

  test('tells jobs and their ends, guards and steps taken without an event', () => {
    expect(state('sample.Unassigned.Finding').invoke).toEqual([{ id: 'find', src: 'find' }]);
    expect(arrows('sample.Unassigned.Finding')).toEqual([
      { kind: 'always', label: 'always', guard: 'isKnown', targets: ['sample.Unassigned.Waiting'] },
      { kind: 'done', label: 'find done', guard: null, targets: ['sample.Unassigned.Waiting'] },
      { kind: 'error', label: 'find failed', guard: 'isMissing', targets: ['sample.Released'] },
      { kind: 'error', label: 'find failed', guard: null, targets: ['sample.CoolOff'] },
    ]);
  });

  test('names delays as the chart does, and keeps the timers of the engine out of the actions', () => {
    expect(arrows('sample.CoolOff')).toEqual([{ kind: 'after', label: 'after coolOff', guard: null, targets: ['sample.Assigning'] }]);
    expect(state('sample.CoolOff').entry).toEqual([]);
    expect(state('sample.Unassigned.Waiting').entry).toEqual(['announce']);
  });

  test('tells a state that is entered again from one that is not left', () => {
    const [, resume] = state('sample.Unassigned.Waiting').transitions;
    expect(resume).toMatchObject({ event: 'RESUME', targets: ['sample.Unassigned.Waiting'], reenter: true });
    expect(root.transitions[0]).toMatchObject({ event: 'NOTED', targets: [], actions: ['note'] });
  });
});
