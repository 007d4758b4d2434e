import { setup } from 'xstate';
import { asking, durables, runs } from '../durable.machine.ts';
import type { AnyVipEvent, VipContext, VipInput, VipSettings } from './decisions.ts';
import * as vip from './decisions.ts';
import * as noted from './outcomes.ts';

/** The address of one Service of type LoadBalancer. Facts carry the chosen address; this chart reserves it, publishes it, and frees it once it is no longer listed. The Service
 *  gets our finalizer before anything is reserved for it, and an address is freed only after the Service no longer lists it. */
export const vipServiceMachine = (settings: VipSettings) => {
  const base = setup({
    types: {} as { context: VipContext; events: AnyVipEvent; input: VipInput },
    actors: durables('reserveVip', 'publishVip', 'freeVips', 'releaseVip', 'lookVip', 'markVip'),
    delays: { coolOff: noted.coolOffLeft(settings), doubt: noted.doubtLeft(settings) },
  });
  const note = (decision: (context: VipContext, event: AnyVipEvent, settings: VipSettings) => VipContext) =>
    base.assign(({ context, event }) => decision(context, event, settings));
  const asks = asking<VipContext, AnyVipEvent>();

  return base
    .extend({
      actions: {
        observe: note((context, event) => (event.type === 'SERVICE_OBSERVED' ? noted.observe(context, event) : context)),
        noteReserved: note(noted.noteReserved),
        notePublished: note(noted.notePublished),
        noteMarked: note(noted.noteMarked),
        noteFreed: note(noted.noteFreed),
        noteReleased: note(noted.noteReleased),
        noteLooked: note(noted.noteLooked),
        noteFailure: note(noted.noteFailure),
        noteSurplus: note(noted.noteFreeing(vip.surplus)),
        noteLeftovers: note(noted.noteFreeing(vip.leftovers)),
        noteOwned: note(noted.noteFreeing(({ owned }) => owned)),
        noteDoubt: note(noted.noteDoubt),
      },
      guards: {
        isAlive: asks(vip.isAlive),
        isSeen: asks(vip.isSeen),
        isBare: asks(vip.isBare),
        isOrphaned: asks(vip.isOrphaned),
        mustRelease: asks(vip.mustRelease),
        mustYield: asks(vip.mustYield),
        mustReserve: asks(vip.mustReserve),
        mustPublish: asks(vip.mustPublish),
        mustMark: asks(vip.mustMark),
        isContended: asks(vip.isContended),
        isContendedNoMore: asks((context) => !vip.isContended(context) || vip.mustYield(context)),
        isBound: asks(vip.isBound),
        isBoundNoMore: asks((context) => !vip.isBound(context)),
        mustTidy: asks(vip.mustTidy),
        isNews: asks(noted.isNews),
        isDoubtedEnough: asks(vip.isDoubtedEnough),
        isKept: asks(vip.isKept),
      },
    })
    .createMachine({
      id: 'vipService',
      context: ({ input }) => vip.vipContext(input),
      initial: 'Pending',
      on: { SERVICE_OBSERVED: { actions: 'observe' } },
      states: {
        Pending: {
          description: 'No address could be chosen for the Service yet, or it has to be decided what comes next.',
          always: [
            { guard: 'isBare', target: 'Gone' },
            { guard: 'isOrphaned', target: 'Releasing.Doubting' },
            { guard: 'mustRelease', target: 'Releasing.Freeing' },
            { guard: 'mustYield', target: 'Releasing.Yielding' },
            { guard: 'mustReserve', target: 'Reserving' },
            { guard: 'mustPublish', target: 'Publishing' },
            { guard: 'mustMark', target: 'Marking' },
            { guard: 'isContended', target: 'Contended' },
            { guard: 'isBound', target: 'Bound' },
          ],
        },
        Reserving: {
          description:
            'Our finalizer, then the object IP whose existence is the reservation. What changes meanwhile waits for the outcome.',
          invoke: {
            ...runs('reserveVip', 'reserve', vip.reserveInput),
            onDone: { target: 'Pending', actions: 'noteReserved' },
            onError: { target: 'CoolOff', actions: 'noteFailure' },
          },
          on: { RESUME: [{ guard: 'mustReserve', target: 'Reserving', reenter: true }, { target: 'Pending' }] },
        },
        Publishing: {
          description: 'Writes the reserved address, and no other one, into the status of the Service.',
          invoke: {
            ...runs('publishVip', 'publish', vip.publishInput),
            onDone: { target: 'Pending', actions: 'notePublished' },
            onError: { target: 'CoolOff', actions: 'noteFailure' },
          },
          on: { RESUME: [{ guard: 'mustPublish', target: 'Publishing', reenter: true }, { target: 'Pending' }] },
        },
        Marking: {
          description: 'Says in the status of the Service that somebody else serves it, or takes that back.',
          invoke: {
            ...runs('markVip', 'mark', vip.markInput),
            onDone: { target: 'Pending', actions: 'noteMarked' },
            onError: { target: 'CoolOff', actions: 'noteFailure' },
          },
          on: { RESUME: [{ guard: 'mustMark', target: 'Marking', reenter: true }, { target: 'Pending' }] },
        },
        Contended: {
          description: 'Somebody else writes the ingress of the Service: it is left to them, as long as what they wrote stands.',
          always: [
            { guard: 'isContendedNoMore', target: 'Pending' },
            { guard: 'mustMark', target: 'Marking' },
          ],
        },
        Bound: {
          description: 'The Service lists exactly the address that is reserved for it.',
          initial: 'Settled',
          states: {
            Settled: {
              description: 'Nothing to do.',
              always: [
                { guard: 'isBoundNoMore', target: '#vipService.Pending' },
                { guard: 'mustTidy', target: 'Tidying' },
              ],
            },
            Tidying: {
              description:
                'Frees what the Service had before, now that it lists another address. What changes meanwhile waits for the outcome.',
              entry: 'noteSurplus',
              invoke: {
                ...runs('freeVips', 'free', vip.freeInput),
                onDone: { target: 'Settled', actions: 'noteFreed' },
                onError: { target: '#vipService.CoolOff', actions: ['noteDoubt', 'noteFailure'] },
              },
              on: {
                RESUME: [
                  { guard: 'mustTidy', target: 'Tidying', reenter: true, actions: 'noteDoubt' },
                  { target: '#vipService.Pending', actions: 'noteDoubt' },
                ],
              },
            },
          },
        },
        CoolOff: {
          description: 'The last try failed: it is made again after a wait, or at once when there is news.',
          after: { coolOff: 'Pending' },
          on: {
            SERVICE_OBSERVED: [{ guard: 'isNews', target: 'Pending', actions: 'observe' }, { actions: 'observe' }],
            RESUME: { target: 'CoolOff', reenter: true },
          },
        },
        Releasing: {
          description: 'The Service is going, or wants no address any more.',
          initial: 'Freeing',
          states: {
            Doubting: {
              description: 'An address is reserved for a Service that is not seen: the API server is asked itself.',
              always: { guard: 'isSeen', target: '#vipService.Pending' },
              invoke: {
                ...runs('lookVip', 'look', vip.lookInput),
                onDone: { target: 'Waiting', actions: 'noteLooked' },
                onError: { target: '#vipService.CoolOff', actions: 'noteFailure' },
              },
              on: { RESUME: { target: 'Doubting', reenter: true } },
            },
            Waiting: {
              description: 'Nothing is freed on one look.',
              always: [
                { guard: 'isSeen', target: '#vipService.Pending' },
                { guard: 'isBare', target: '#vipService.Gone' },
              ],
              after: { doubt: [{ guard: 'isDoubtedEnough', target: 'Freeing' }, { target: 'Doubting' }] },
              on: { RESUME: { target: 'Waiting', reenter: true } },
            },
            Freeing: {
              description: 'The Service lists the address no more, then the IP goes, then our finalizer.',
              entry: 'noteOwned',
              invoke: {
                ...runs('releaseVip', 'release', vip.releaseInput),
                onDone: [
                  { guard: 'isKept', target: 'Waiting', actions: 'noteLooked' },
                  { guard: 'isAlive', target: '#vipService.Pending', actions: 'noteReleased' },
                  { target: '#vipService.Gone' },
                ],
                onError: { target: '#vipService.CoolOff', actions: ['noteDoubt', 'noteFailure'] },
              },
              on: {
                RESUME: [
                  { guard: 'isAlive', target: '#vipService.Pending', actions: 'noteDoubt' },
                  { target: 'Freeing', reenter: true, actions: 'noteDoubt' },
                ],
              },
            },
            Yielding: {
              description:
                'What the Service cannot use goes, before anything is reserved: IPs of a former Service of its name, and those that may be freed at any moment.',
              entry: 'noteLeftovers',
              invoke: {
                ...runs('freeVips', 'yield', vip.yieldInput),
                onDone: { target: '#vipService.Pending', actions: 'noteFreed' },
                onError: { target: '#vipService.CoolOff', actions: ['noteDoubt', 'noteFailure'] },
              },
              on: {
                RESUME: [
                  { guard: 'mustYield', target: 'Yielding', reenter: true, actions: 'noteDoubt' },
                  { target: '#vipService.Pending', actions: 'noteDoubt' },
                ],
              },
            },
          },
        },
        Gone: { type: 'final', description: 'Nothing of ours is left.' },
      },
    });
};
