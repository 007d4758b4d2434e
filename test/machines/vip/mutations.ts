import { FLIPOP_BACKOFF } from '../../../machines/model/backoff.ts';
import type { AnyVipEvent, VipContext } from '../../../machines/vip/decisions.ts';
import * as vip from '../../../machines/vip/decisions.ts';
import * as noted from '../../../machines/vip/outcomes.ts';
import { action, type ChartMutation, guard, type Spoil, state } from '../mutations-spoil.ts';
import * as words from './vocabulary.ts';

type Context = VipContext;
const SETTINGS = { backoff: FLIPOP_BACKOFF, orphanDoubtMs: words.DOUBT_MS };

/** An action that notes something else. */
const notes = (name: string, decision: (context: Context, event: AnyVipEvent) => Context): Spoil =>
  action<Context, AnyVipEvent>(name, (context, event) => ({ context: decision(context, event), effects: [] }));
/** A job of a state that is told something else. */
const told = (path: string, input: (context: Context) => unknown): Spoil =>
  state(path, (config) => ({ ...config, invoke: { ...config.invoke, input: ({ context }: { context: Context }) => input(context) } }));

const published = words.published(words.A);
const bound = [words.wantsA, words.reservedA, published, words.boundA];
const tidying = [...bound, words.hasBoth, words.reservedB, words.published(words.B)];
const missed = [words.orphaned, words.missed];
/** What we published was written over, put right, and written over again. */
const overwrittenTwice = [words.overwritten, words.reservedA, words.publishedOver, words.boundA, words.overwritten];

/** For each rule of the chart of a Service's address a defect that it must catch. */
export const VIP_MUTATIONS: Readonly<Record<string, ChartMutation>> = {
  'nothing is done before anything is known': {
    mutation: 'what was chosen is reserved as soon as the actor begins',
    spoil: (chart) =>
      guard<Context>('mustReserve', ({ heard }) => !heard)(told('Reserving', () => ({ service: { uid: words.REF.uid } }))(chart)),
    events: [words.resumed],
  },
  'one job at once: only after its outcome, or on a restart, is another one issued': {
    mutation: 'another choice is reserved while the first one is on its way',
    spoil: state('Reserving', (config) => ({
      ...config,
      on: { ...config.on, SERVICE_OBSERVED: { target: 'Reserving', reenter: true, actions: 'observe' } },
    })),
    events: [words.wantsA, words.wantsB],
  },
  'nothing but its outcome or a restart ends a job that writes': {
    mutation: 'a Service that is not to list its address any more is not waited for while that is freed',
    spoil: state('Bound', (config) => ({ ...config, always: { guard: 'isBoundNoMore', target: 'Pending' } })),
    events: [...tidying, words.backToA],
  },
  'a restart does again what was being done, or what is to be done by now': {
    mutation: 'a restart has a publication forgotten',
    spoil: state('Publishing', (config) => ({ ...config, on: { RESUME: {} } })),
    events: [words.wantsA, words.reservedA, words.resumed],
  },
  'a job is about the Service that has the name': {
    mutation: 'a reservation is made for the Service that was first',
    spoil: told('Reserving', (context) => ({ ...vip.reserveInput(context), service: words.REF })),
    events: [words.heir, words.yieldedA],
  },
  'reserved is what was chosen, for one that wants it, and nothing that is in its way is left': {
    mutation: 'a restart reserves whatever was chosen, whether the Service wants it or not',
    spoil: guard<Context>('mustReserve', ({ heard, target }) => heard && target !== null),
    events: [words.wantsA, words.heir, words.resumed],
  },
  'published is what is reserved for the Service while our finalizer is there, and what is not being deleted': {
    mutation: 'what was chosen is published before it is reserved',
    spoil: (chart) => guard<Context>('mustPublish', ({ target }) => target !== null)(guard('mustReserve', () => false)(chart)),
    events: [words.wantsA],
  },
  'the ingress is emptied only of what is another’s': {
    mutation: 'whoever has nothing is to list nothing',
    spoil: guard<Context>(
      'mustPublish',
      (context) => (context.heard && context.target === null && vip.isAlive(context)) || vip.mustPublish(context),
    ),
    events: [words.waits],
  },
  'nothing is freed while it is listed, unless the ingress is emptied first': {
    mutation: 'what the Service had is freed as soon as another address is reserved',
    spoil: (chart) =>
      guard<Context>('isBoundNoMore', () => false)(guard<Context>('mustTidy', (context) => vip.surplus(context).length > 0)(chart)),
    events: [...bound, words.hasBoth],
  },
  'nothing that the Service is to have is freed while it wants it': {
    mutation: 'all that the Service has is freed when it changes its address',
    spoil: told('Bound.Tidying', (context) => ({ ...vip.freeInput(context), ips: context.owned, clears: true })),
    events: tidying,
  },
  'whoever wants an address is not let go': {
    mutation: 'a Service that waits is let go',
    spoil: guard<Context>('mustRelease', ({ heard }) => heard),
    events: [words.waits],
  },
  'an IP whose Service is not there is freed only after a look that missed it, and a wait': {
    mutation: 'an IP whose Service is not seen is freed',
    spoil: (chart) =>
      guard<Context>('isOrphaned', () => false)(guard<Context>('mustRelease', (context) => context.heard && !vip.isAlive(context))(chart)),
    events: [words.orphaned],
  },
  'between two looks is a doubt': {
    mutation: 'a look is followed by the next one at once',
    spoil: notes('noteLooked', (context, event) => ({ ...noted.noteLooked(context, event, SETTINGS), resumeAt: null })),
    events: missed,
  },
  'a deletion that may be on its way is not relied on': {
    mutation: 'whether a deletion is on its way is forgotten',
    spoil: notes('noteDoubt', (context) => context),
    events: [...tidying, words.lostTrack('free')],
  },
  'what a job is to delete is noted as it begins': {
    mutation: 'what is to be deleted is not noted',
    spoil: notes('noteOwned', (context) => context),
    events: [words.deleted],
  },
  'what was freed does not come back': {
    mutation: 'what a cache shows that is behind counts',
    spoil: notes('observe', (context, event) => {
      const seen = noted.observe(context, event as never);
      return { ...seen, owned: (event as unknown as Context).owned };
    }),
    events: [...tidying, words.freedA, words.boundB],
  },
  'what is freed was said by the job to be': {
    mutation: 'whatever the Service had counts as freed',
    spoil: notes('noteFreed', (context, event) => ({ ...noted.noteFreed(context, event), owned: [] })),
    events: [...tidying, words.freedA],
  },
  'a failure is kept, and followed by a wait': {
    mutation: 'what failed is tried again at once',
    spoil: state('Reserving', (config) => ({ ...config, invoke: { ...config.invoke, onError: { target: 'Pending' } } })),
    events: [words.wantsA, words.failed('reserve')],
  },
  'a wait after a failure ends': {
    mutation: 'the wait is followed by another one',
    spoil: state('CoolOff', (config) => ({ ...config, after: { coolOff: { target: 'CoolOff', reenter: true } } })),
    events: [words.wantsA, words.failed('reserve'), words.rested],
  },
  'whoever rests as Bound lists what is reserved for it': {
    mutation: 'a Service that lists another address rests',
    spoil: guard<Context>('isBoundNoMore', () => false),
    events: [...bound, words.lost],
  },
  'whoever is Pending has nothing to wait for but an address': {
    mutation: 'a Service that has lost its address is left',
    spoil: guard<Context>('mustReserve', () => false),
    events: [words.wantsA],
  },
  'gone is what has been let go, or had nothing': {
    mutation: 'a Service that goes takes its IP with it',
    spoil: guard<Context>('isBare', (context) => context.heard && !vip.isAlive(context)),
    events: [words.deleted],
  },
  'whoever wants an address is not gone': {
    mutation: 'a Service that wants an address again is gone all the same',
    spoil: state('Releasing.Freeing', (config) => ({ ...config, invoke: { ...config.invoke, onDone: { target: '#vipService.Gone' } } })),
    events: [words.away, words.back, words.released],
  },
  'nothing is reserved for or published to a Service that is left to somebody else': {
    mutation: 'in the place of a word to people the address is published',
    spoil: state('Marking', (config) => ({ ...config, invoke: { ...config.invoke, src: 'publishVip' } })),
    events: [words.foreign],
  },
  'what is said of a Service is that it is left to somebody else, as long as it is': {
    mutation: 'the condition says the same, whatever is so',
    spoil: told('Marking', (context) => ({ ...vip.markInput(context), message: 'somebody else serves it' })),
    events: [words.foreign],
  },
  'our finalizer is taken off one that is left only if nothing is reserved for it': {
    mutation: 'our finalizer is taken off whatever is left',
    spoil: told('Marking', (context) => ({ ...vip.markInput(context), letsGo: true })),
    events: overwrittenTwice,
  },
  'whoever rests as contended says so, and is left': {
    mutation: 'nobody is told that a Service is left',
    spoil: guard<Context>('mustMark', () => false),
    events: [words.foreign],
  },
  'another Service of the name is heard as itself': {
    mutation: 'whoever has the name counts as the Service that was',
    spoil: notes('observe', (context, event) => ({ ...noted.observe(context, event as never), ref: context.ref })),
    events: [words.wantsA, words.heir],
  },
};
