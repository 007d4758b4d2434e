import { setup } from 'xstate';
import { asking, durables, runs } from '../durable.machine.ts';
import type { Decision } from '../events.ts';
import type { AnyVirtualIPEvent, VirtualIPContext, VirtualIPInput, VirtualIPSettings } from './decisions.ts';
import * as vip from './decisions.ts';

/** One VirtualIP: keeps its copy of the Service in sync, and hands its address over to the Service on request. One job at a time; a running job is awaited, even when the
 *  VirtualIP is deleted meanwhile. The copy goes last: it serves until the Service does. */
export const virtualIPMachine = (settings: VirtualIPSettings) => {
  const base = setup({
    types: {} as { context: VirtualIPContext; events: AnyVirtualIPEvent; input: VirtualIPInput },
    actors: durables(
      'reserveVirtualIP',
      'exposeService',
      'claimService',
      'reassociateIP',
      'handOverIP',
      'convertService',
      'assignIngress',
      'removeClone',
      'releaseVirtualIP',
    ),
    delays: { coolOff: ({ context }) => vip.coolOffMs(settings)(context), recheck: vip.RECHECK_MS },
  });
  const decide = (decision: (context: VirtualIPContext, event: AnyVirtualIPEvent) => Decision<VirtualIPContext>) =>
    base.enqueueActions(({ context, event, enqueue }) => enqueue.assign(decision(context, event).context));
  const asks = asking<VirtualIPContext, AnyVirtualIPEvent>();
  /** A state that runs one job, waits after a failure, and starts the job again on RESUME. */
  const job = <const State extends string, const Src extends string, const Id extends string, Input, const Done>(
    state: State,
    src: Src,
    id: Id,
    input: (context: VirtualIPContext) => Input,
    onDone: Done,
  ) =>
    ({
      invoke: { ...runs(src, id, input), onDone, onError: { target: 'CoolOff', actions: 'fail' } },
      on: { RESUME: { target: state, reenter: true } },
    }) as const;

  return base
    .extend({
      actions: {
        begin: decide(vip.begin),
        note: decide(vip.note),
        noteReserved: decide(vip.noteReserved),
        expose: decide(vip.expose),
        noteExposed: decide(vip.noteExposed),
        rest: decide(vip.rest),
        prepare: decide(vip.prepare),
        withdraw: decide(vip.withdraw),
        block: decide(vip.block),
        reassociate: decide(vip.reassociate),
        cleanUp: decide(vip.cleanUp),
        convert: decide(vip.convert),
        assignIngress: decide(vip.assign),
        finish: decide(vip.finish),
        beginRelease: decide(vip.beginRelease),
        fail: decide(vip.fail),
      },
      guards: {
        isUnknown: asks(vip.isUnknown),
        isDeleting: asks(vip.isDeleting),
        mustRelease: asks(vip.mustRelease),
        isAsked: asks(vip.isAsked),
        isClaimed: asks(vip.isClaimed),
        isWithdrawn: asks(vip.isWithdrawn),
        exposesOther: asks(vip.exposesOther),
        isDrifted: asks(vip.isDrifted),
        hasCopy: asks(vip.hasCopy),
        seesChange: asks(vip.seesChange),
        isUnreserved: asks(vip.isIn('reserving')),
        isUnexposed: asks(vip.isIn('exposing')),
        isValid: asks(vip.isIn('valid')),
        isPreparing: asks(vip.isIn('preparing')),
        isReassociating: asks(vip.isIn('reassociating')),
        isCleaningUp: asks(vip.isIn('cleaningUp')),
        isConverting: asks(vip.isIn('converting')),
        isAssigning: asks(vip.isIn('assigning')),
      },
    })
    .createMachine({
      id: 'virtualIP',
      context: ({ input }) => vip.virtualIPContext(input),
      initial: 'Priming',
      on: { VIRTUAL_IP_OBSERVED: { actions: 'note' } },
      states: {
        Priming: {
          description: 'Was not seen yet: where it stands follows from the first look.',
          on: {
            VIRTUAL_IP_OBSERVED: [
              { guard: 'isUnknown', target: 'Gone' },
              { target: 'Resuming', actions: 'begin' },
            ],
          },
        },
        Resuming: {
          description: 'Goes on with the stage that it is in.',
          always: [
            { guard: 'isDeleting', target: 'Releasing' },
            { guard: 'isUnreserved', target: 'Reserving' },
            { guard: 'isUnexposed', target: 'Exposing' },
            { guard: 'isValid', target: 'Valid' },
            { guard: 'isPreparing', target: 'Preparing' },
            { guard: 'isReassociating', target: 'Reassociating' },
            { guard: 'isCleaningUp', target: 'CleaningUp' },
            { guard: 'isConverting', target: 'Converting' },
            { guard: 'isAssigning', target: 'Assigning' },
            { guard: 'hasCopy', target: 'Removing' },
            { target: 'Migrated' },
          ],
        },
        Reserving: {
          description: 'Takes an address: the one that it asks for, or the lowest that is free.',
          ...job('Reserving', 'reserveVirtualIP', 'reserve', vip.reserveInput, { target: 'Resuming', actions: 'noteReserved' }),
        },
        Exposing: {
          description: 'Makes a copy of the Service that has the address among its external ones.',
          ...job('Exposing', 'exposeService', 'expose', vip.exposeInput, { target: 'Resuming', actions: 'noteExposed' }),
        },
        Valid: {
          description: 'Serves. The copy follows the Service.',
          entry: 'rest',
          always: [
            { guard: 'isDeleting', target: 'Releasing' },
            { guard: 'exposesOther', target: 'Exposing', actions: 'expose' },
            { guard: 'isAsked', target: 'Preparing', actions: 'prepare' },
            { guard: 'isDrifted', target: 'Syncing' },
          ],
        },
        Syncing: {
          description: 'Makes the copy like the Service again.',
          ...job('Syncing', 'exposeService', 'expose', vip.exposeInput, { target: 'Resuming', actions: 'noteExposed' }),
        },
        Preparing: {
          description:
            'Claims the Service, so that no other VirtualIP is migrated to it. Until then the user may take the annotation off again.',
          ...job('Preparing', 'claimService', 'claim', vip.migratedInput, [
            { guard: 'isClaimed', target: 'Resuming', actions: 'reassociate' },
            { guard: 'isWithdrawn', target: 'Resuming', actions: 'withdraw' },
            { target: 'Blocked', actions: 'block' },
          ]),
        },
        Blocked: {
          description: 'The Service has an address of its own, or another VirtualIP is being migrated to it. The copy serves on.',
          always: [
            { guard: 'isDeleting', target: 'Releasing' },
            { guard: 'isDrifted', target: 'Syncing' },
          ],
          after: { recheck: 'Preparing' },
          on: {
            VIRTUAL_IP_OBSERVED: [{ guard: 'seesChange', target: 'Resuming', actions: 'note' }, { actions: 'note' }],
            RESUME: { target: 'Blocked', reenter: true },
          },
        },
        Reassociating: {
          description:
            'The IP becomes the Service’s, and of the IPGroup whose segment has the address. From here on the migration goes to its end.',
          ...job('Reassociating', 'reassociateIP', 'reassociate', vip.migratedInput, { target: 'Resuming', actions: 'cleanUp' }),
        },
        CleaningUp: {
          description: 'The VirtualIP lets go of the IP: it may be deleted now and the Service keeps the address.',
          ...job('CleaningUp', 'handOverIP', 'handOver', vip.migratedInput, { target: 'Resuming', actions: 'convert' }),
        },
        Converting: {
          description:
            'The Service becomes one of type LoadBalancer that asks for this address, in one write: no other is ever allocated to it.',
          ...job('Converting', 'convertService', 'convert', vip.migratedInput, { target: 'Resuming', actions: 'assignIngress' }),
        },
        Assigning: {
          description: 'The Service gets the address as its ingress, beside the copy, which serves it still.',
          ...job('Assigning', 'assignIngress', 'assign', vip.assignInput, [
            { guard: 'isDeleting', target: 'Releasing' },
            { target: 'Removing' },
          ]),
        },
        Removing: {
          description: 'Deletes the copy, if the Service has its ingress at that moment, or has had it already.',
          ...job('Removing', 'removeClone', 'remove', vip.removeInput, { target: 'Resuming', actions: 'finish' }),
        },
        Migrated: {
          description: 'The address is the Service’s. Its user may delete it.',
          entry: 'rest',
          always: [
            { guard: 'isDeleting', target: 'Releasing' },
            { guard: 'hasCopy', target: 'Removing' },
          ],
        },
        CoolOff: {
          description: 'Waits after an error and tries the same stage again; sooner when something that bears on it has changed.',
          always: { guard: 'mustRelease', target: 'Releasing' },
          after: { coolOff: 'Resuming' },
          on: {
            VIRTUAL_IP_OBSERVED: [{ guard: 'seesChange', target: 'Resuming', actions: 'note' }, { actions: 'note' }],
            RESUME: { target: 'CoolOff', reenter: true },
          },
        },
        Releasing: {
          description: 'Removes what it leaves: its copy, and its IP unless that is the Service’s by now.',
          entry: 'beginRelease',
          ...job('Releasing', 'releaseVirtualIP', 'release', vip.releaseInput, 'Gone'),
        },
        Gone: { type: 'final', description: 'Nothing of it is left; its record goes.' },
      },
    });
};
