import { fromPromise, setup } from 'xstate';

/** A small chart with everything that the page has to draw: nested and parallel states, jobs, delays, guards, steps taken by themselves. */
export const sampleMachine = setup({
  types: {} as { events: { type: 'GRANTED' } | { type: 'LOST' } | { type: 'RETIRE' } | { type: 'RESUME' } | { type: 'NOTED' } },
  actors: {
    find: fromPromise(() => Promise.reject(new Error('never run'))),
    assign: fromPromise(() => Promise.reject(new Error('never run'))),
  },
  actions: { note: () => {}, confirm: () => {}, announce: () => {} },
  guards: { isKnown: () => true, isMissing: () => false },
  delays: { coolOff: 1000 },
}).createMachine({
  id: 'sample',
  initial: 'Unassigned',
  on: { NOTED: { actions: 'note' }, RETIRE: '.Released' },
  states: {
    Unassigned: {
      description: 'Serves through no node.',
      initial: 'Finding',
      states: {
        Finding: {
          always: { guard: 'isKnown', target: 'Waiting' },
          invoke: {
            src: 'find',
            id: 'find',
            onDone: 'Waiting',
            onError: [{ guard: 'isMissing', target: '#sample.Released' }, { target: '#sample.CoolOff' }],
          },
        },
        Waiting: { entry: 'announce', on: { GRANTED: '#sample.Electing', RESUME: { target: 'Waiting', reenter: true } } },
      },
    },
    Electing: { always: 'Assigning' },
    Assigning: { invoke: { src: 'assign', id: 'assign', onDone: { target: 'Stable', actions: 'confirm' }, onError: 'CoolOff' } },
    Stable: {
      type: 'parallel',
      on: { LOST: 'Unassigned' },
      states: {
        Address: { initial: 'Held', states: { Held: {} } },
        Records: { initial: 'Clean', states: { Clean: {}, Dirty: { type: 'final' } } },
      },
    },
    CoolOff: { after: { coolOff: 'Assigning' } },
    Released: { type: 'final' },
  },
});
