import type { VirtualIPContext } from '../../../machines/migration/decisions.ts';
import * as machine from '../../../machines/migration/decisions.ts';
import { action, type ChartMutation, guard, state } from '../mutations-spoil.ts';
import * as words from './vocabulary.ts';

type Context = VirtualIPContext;

const claimed = [words.valid, words.asked, words.claimed];
const converting = [...claimed, words.reassociated, words.handedOver];
const assigning = [...converting, words.converted];

/** For each rule of a VirtualIP a defect that it must catch. */
export const VIRTUAL_IP_MUTATIONS: Readonly<Record<string, ChartMutation>> = {
  'one job at once: only after its outcome, or on a restart, is another one issued': {
    mutation: 'what is told while the ingress is being assigned has the copy removed',
    spoil: state('Assigning', (config) => ({
      ...config,
      on: { ...config.on, VIRTUAL_IP_OBSERVED: { target: 'Removing', actions: 'note' } },
    })),
    events: [...assigning, words.drifted],
  },
  'nothing but its outcome or a restart ends a job': {
    mutation: 'what is told while the Service is being converted ends the wait for that',
    spoil: state('Converting', (config) => ({
      ...config,
      on: { ...config.on, VIRTUAL_IP_OBSERVED: { target: 'CoolOff', actions: 'note' } },
    })),
    events: [...converting, words.drifted],
  },
  'a restart does again what was being done, and nothing else': {
    mutation: 'a restart takes the Service for converted',
    spoil: state('Converting', (config) => ({ ...config, on: { ...config.on, RESUME: { target: 'Assigning' } } })),
    events: [...converting, words.resumed],
  },
  'the stages of a migration come in order, each by the job of the one before': {
    mutation: 'once the Service is claimed it is converted',
    spoil: action<Context>('reassociate', machine.convert),
    events: claimed,
  },
  'a claimed migration is not turned back, whatever is told': {
    mutation: 'whoever takes the annotation off ends the migration',
    spoil: action<Context>('note', (context, event) => {
      const noted = machine.note(context, event as never).context;
      return { context: noted.asked ? noted : { ...noted, stage: 'valid' }, effects: [] };
    }),
    events: [...claimed, words.valid],
  },
  'an error is no step: the stage is tried again': {
    mutation: 'an error of a stage has the migration taken for done',
    spoil: action<Context>('fail', (context, event) => {
      const failed = machine.fail(context, event as never).context;
      return { context: { ...failed, stage: 'migrated' }, effects: [] };
    }),
    events: [...claimed, words.failed('reassociate')],
  },
  'an error shows, and is followed by a wait or by the release': {
    mutation: 'an error is counted and not kept',
    spoil: action<Context>('fail', (context) => ({ context: { ...context, attempts: context.attempts + 1 }, effects: [] })),
    events: [...claimed, words.failed('reassociate')],
  },
  'only one that serves begins to be migrated, and only when that is asked for': {
    mutation: 'every one that serves is migrated',
    spoil: guard<Context>('isAsked', () => true),
    events: [words.fresh, words.reserved, words.exposed],
  },
  'a migration begins for the Service that its user has named last': {
    mutation: 'whoever asks is heard before it is looked what is to be served',
    spoil: guard<Context>('exposesOther', ({ asked, wanted, service }) => !asked && wanted.service !== service),
    events: [words.valid, words.elsewhereAsked],
  },
  'whoever takes the annotation off while nothing has begun is heard: the claim looks again, and lets go': {
    mutation: 'one that is blocked hears nothing before its wait ends',
    spoil: guard<Context>('seesChange', () => false),
    events: [words.valid, words.asked, words.blocked, words.valid],
  },
  'one that rests shows no error': {
    mutation: 'an error outlives what it was about',
    spoil: action<Context>('rest', (context) => ({ context, effects: [] })),
    events: [words.valid, words.deleted, words.failed('release'), words.valid],
  },
  'the copy is removed only after the ingress was assigned': {
    mutation: 'the copy is removed once the Service is converted',
    spoil: state('Converting', (config) => ({
      ...config,
      invoke: { ...config.invoke, onDone: { target: 'Removing', actions: 'assignIngress' } },
    })),
    events: assigning,
  },
  'one that is migrated rests without a copy': {
    mutation: 'a copy that appears after the migration is left',
    spoil: guard<Context>('hasCopy', () => false),
    events: [words.over, words.copied],
  },
  'jobs of a migration are about the Service that was exposed, and its address': {
    mutation: 'the Service that the spec names by then is converted',
    spoil: state('Converting', (config) => ({
      ...config,
      invoke: {
        ...config.invoke,
        input: ({ context }: { context: Context }) => ({ ...machine.migratedInput(context), service: context.wanted.service }),
      },
    })),
    events: [...claimed, words.elsewhere, words.reassociated, words.handedOver],
  },
  'for one that is deleted nothing begins but its release': {
    mutation: 'a migration goes on although it is deleted',
    spoil: guard<Context>('isDeleting', () => false),
    events: [...claimed, words.deleted, words.reassociated],
  },
  'one that is deleted is released as soon as no other job runs': {
    mutation: 'one that serves does not hear that it is deleted',
    spoil: state('Valid', (config) => ({ ...config, always: [] })),
    events: [words.valid, words.deleted],
  },
  'one that is not deleted is never released': {
    mutation: 'an error has it released',
    spoil: guard<Context>('mustRelease', () => true),
    events: [words.drifted, words.failed('expose')],
  },
  'a release knows whether the IP is held, and nothing of it once it was migrated': {
    mutation: 'a release takes the IP for its own, however far the migration has come',
    spoil: state('Releasing', (config) => ({
      ...config,
      invoke: { ...config.invoke, input: ({ context }: { context: Context }) => ({ ...machine.releaseInput(context), held: true }) },
    })),
    events: [...converting, words.deleted, words.converted],
  },
  'one that is blocked says why, and looks again': {
    mutation: 'why it is blocked is not kept',
    spoil: action<Context>('block', (context) => ({ context, effects: [] })),
    events: [words.valid, words.asked, words.blocked],
  },
  'a copy that is not like its Service is mended while it serves': {
    mutation: 'a copy is made once',
    spoil: guard<Context>('isDrifted', () => false),
    events: [words.drifted],
  },
};
