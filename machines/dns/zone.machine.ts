import { setup } from 'xstate';
import { durable } from '../durable.machine.ts';
import type { Decision, SpawnedChart } from '../events.ts';
import type { AnyZoneEvent, ZoneContext, ZoneInput, ZoneSettings } from './zone.ts';
import * as zone from './zone.ts';
import * as claims from './zone-claims.ts';
import * as work from './zone-reconcile.ts';

type OfType<T extends AnyZoneEvent['type']> = Extract<AnyZoneEvent, { type: T }>;

/** One DNS zone at a provider: holds the record sets of all claimants, and applies them with one job at a time, which lists the zone once. */
export const zoneMachine = (settings: ZoneSettings) => {
  const base = setup({
    types: {} as { context: ZoneContext; events: AnyZoneEvent; input: ZoneInput },
    actors: { ensureRecords: durable('ensureRecords') },
    actions: {
      tell: (_, _params: { to: string; event: { type: string } }) => {},
      spawn: (_, _params: { chart: SpawnedChart; id: string; input: unknown }) => {},
      claim: (_, _params: { to: string; event: { type: 'CLAIM' } }) => {},
    },
    delays: {
      verify: ({ context, event }) => zone.verifyLeft(settings)(context, event.at),
      wake: ({ context, event }) => zone.wakeLeft(context, event.at),
    },
  });

  /** An action that applies a decision for events of one type only: others leave the context unchanged. */
  const on = <T extends AnyZoneEvent['type']>(type: T, decision: (context: ZoneContext, event: OfType<T>) => Decision<ZoneContext>) =>
    base.enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== type) return;
      const decided = decision(context, event as OfType<T>);
      enqueue.assign(decided.context);
      for (const effect of decided.effects) enqueue(effect);
    });
  const always = (decision: (context: ZoneContext, at: number) => Decision<ZoneContext>) =>
    base.enqueueActions(({ context, event, enqueue }) => {
      const decided = decision(context, event.at);
      enqueue.assign(decided.context);
      for (const effect of decided.effects) enqueue(effect);
    });
  const asks =
    (claim: (context: ZoneContext) => boolean) =>
    ({ context }: { context: ZoneContext }) =>
      claim(context);
  const noteOutcomes = work.noteOutcomes(settings);
  const noteFailure = work.noteFailure(settings);

  return base
    .extend({
      actions: {
        noteRecords: on('RECORDS', claims.noteRecords(settings)),
        begin: always(work.begin),
        noteOutcomes: on('xstate.done.actor.ensure', (context, { output, at }) => noteOutcomes(context, output, at)),
        noteFailure: on('xstate.error.actor.ensure', (context, { error, at }) => noteFailure(context, error, at)),
        bringNear: always(work.bringNear(settings)),
        planWake: always(work.planWake),
        forgetWake: always(work.forgetWake),
        wakeUp: always(work.wakeUp),
        callVerification: always(work.callVerification(settings)),
        resume: always(work.resume),
        retryRefused: always(work.retryRefused),
        noteUnheard: always(work.noteUnheard(settings)),
      },
      guards: {
        isUnclaimed: asks(zone.isUnclaimed),
        hasWork: asks(zone.hasWork),
        mustWait: asks(zone.mustWait),
        mayRest: asks((context) => !zone.mustWait(context)),
        wakesOtherwise: asks(zone.wakesOtherwise),
      },
    })
    .createMachine({
      id: 'zone',
      context: ({ input }) => zone.zoneContext(input),
      initial: 'Idle',
      on: { RECORDS: { actions: 'noteRecords' } },
      states: {
        Idle: {
          description: 'Every record set stands, or belongs to another claimant. From time to time all of them are looked at again.',
          entry: 'bringNear',
          always: [
            { guard: 'hasWork', target: 'Applying' },
            { guard: 'mustWait', target: 'CoolOff' },
          ],
          after: {
            verify: [
              { guard: 'isUnclaimed', target: 'Unclaimed' },
              { target: 'Idle', reenter: true, actions: 'callVerification' },
            ],
          },
          on: { RESUME: { target: 'Idle', reenter: true, actions: 'resume' } },
        },
        Applying: {
          description: 'One job lists the zone once and writes what differs. Claims that come meanwhile are served by the next job.',
          entry: 'begin',
          invoke: {
            src: 'ensureRecords',
            id: 'ensure',
            input: ({ context }) => work.ensureInput(context),
            onDone: { target: 'Idle', actions: 'noteOutcomes' },
            onError: { target: 'Idle', actions: 'noteFailure' },
          },
          on: { RESUME: { target: 'Applying', reenter: true, actions: ['resume', 'noteUnheard'] } },
        },
        CoolOff: {
          description: 'Waits after an error: of the whole zone, or of single sets while the others stand.',
          entry: ['bringNear', 'planWake'],
          always: [
            { guard: 'hasWork', target: 'Applying' },
            { guard: 'mayRest', target: 'Idle' },
            { guard: 'wakesOtherwise', target: 'CoolOff', reenter: true },
          ],
          after: {
            wake: { actions: 'wakeUp' },
            verify: { target: 'CoolOff', reenter: true, actions: 'callVerification' },
          },
          exit: 'forgetWake',
          on: {
            RESUME: { target: 'CoolOff', reenter: true, actions: 'resume' },
            SECRET_OBSERVED: { target: 'CoolOff', reenter: true, actions: 'retryRefused' },
          },
        },
        Unclaimed: {
          type: 'final',
          description: 'Nobody has claimed records of the zone for a while; its own record goes, those of the zone stay.',
        },
      },
    });
};
