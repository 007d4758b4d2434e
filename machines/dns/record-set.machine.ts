import { setup } from 'xstate';
import { asking, EFFECTS, take } from '../durable.machine.ts';
import type { Decision } from '../events.ts';
import type { AnyRecordSetEvent, Phase, RecordSetContext, RecordSetInput, RecordSetSettings } from './record-set.ts';
import * as set from './record-set.ts';

type OfType<T extends AnyRecordSetEvent['type']> = Extract<AnyRecordSetEvent, { type: T }>;

/** A NodeDNSRecordSet, or the `dnsRecordSet` of a pool: determines which addresses its record should list, and claims them at the zone. */
export const recordSetMachine = ({ verifyEveryMs }: RecordSetSettings) => {
  const base = setup({
    types: {} as { context: RecordSetContext; events: AnyRecordSetEvent; input: RecordSetInput },
    actions: EFFECTS,
    delays: { unanswered: verifyEveryMs },
  });

  /** An action that applies a decision for events of one type only: others leave the context unchanged. */
  const on = <T extends AnyRecordSetEvent['type']>(
    type: T,
    decision: (context: RecordSetContext, event: OfType<T>) => Decision<RecordSetContext>,
  ) =>
    base.enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== type) return;
      take(enqueue, decision(context, event as OfType<T>));
    });
  const always = (decision: (context: RecordSetContext) => Decision<RecordSetContext>) =>
    base.enqueueActions(({ context, enqueue }) => take(enqueue, decision(context)));
  const asks = asking<RecordSetContext, AnyRecordSetEvent>();
  const is = (phase: Phase) => asks((context) => set.phaseOf(context) === phase);
  const isNot = (phase: Phase) => asks((context) => set.phaseOf(context) !== phase);

  return base
    .extend({
      actions: {
        observeSpec: on('SPEC_OBSERVED', set.observeSpec),
        observeCluster: on('CLUSTER_OBSERVED', set.observeCluster),
        noteWanted: on('RECORDS_WANTED', set.noteWanted),
        noteApplied: on('RECORDS_APPLIED', set.noteApplied),
        answerZone: on('RECORDS_ASKED', set.answerZone),
        claimAgain: always(set.claimAgain),
        resume: always(set.resume),
        withdraw: always(set.withdraw),
      },
      guards: {
        isInvalid: is('Invalid'),
        isEmpty: is('Empty'),
        isUnanswered: is('Publishing'),
        isApplied: is('Published'),
        hasFailed: is('Failed'),
        isMended: isNot('Invalid'),
        isEmptyNoMore: isNot('Empty'),
        isAnsweredOrVoid: isNot('Publishing'),
        isAppliedNoMore: isNot('Published'),
        hasFailedNoMore: isNot('Failed'),
      },
    })
    .createMachine({
      id: 'recordSet',
      context: ({ input }) => set.recordSetContext(input),
      initial: 'Priming',
      on: {
        SPEC_OBSERVED: { actions: 'observeSpec' },
        CLUSTER_OBSERVED: { actions: 'observeCluster' },
        RECORDS_WANTED: { actions: 'noteWanted' },
        RECORDS_APPLIED: { actions: 'noteApplied' },
        RECORDS_ASKED: { actions: 'answerZone' },
        RESUME: { actions: 'resume' },
        DELETED: { target: '.Gone', actions: 'withdraw' },
      },
      states: {
        Priming: {
          description: 'Waits until it is known what is wanted. Nothing is written because a cache was empty.',
          always: [
            { guard: 'isInvalid', target: 'Invalid' },
            { guard: 'isEmpty', target: 'Empty' },
            { guard: 'isUnanswered', target: 'Publishing' },
            { guard: 'isApplied', target: 'Published' },
            { guard: 'hasFailed', target: 'Failed' },
          ],
        },
        Invalid: {
          description: 'The spec is not valid. What is published stays; a valid spec goes on.',
          always: { guard: 'isMended', target: 'Priming' },
        },
        Empty: {
          description: 'No record set is wanted, or there is no address for it: nothing is written.',
          always: { guard: 'isEmptyNoMore', target: 'Priming' },
        },
        Publishing: {
          description: 'The zone was told what is wanted and has not said yet what came of it.',
          always: { guard: 'isAnsweredOrVoid', target: 'Priming' },
          after: { unanswered: { target: 'Publishing', reenter: true, actions: 'claimAgain' } },
          on: { RESUME: { target: 'Publishing', reenter: true, actions: 'resume' } },
        },
        Published: {
          description: 'The record set holds exactly the wanted addresses.',
          always: { guard: 'isAppliedNoMore', target: 'Priming' },
        },
        Failed: {
          description: 'The zone could not bring the set about, and tries again by itself.',
          always: { guard: 'hasFailedNoMore', target: 'Priming' },
        },
        Gone: { type: 'final', description: 'The object is deleted: its claim is given back, its records stay.' },
      },
    });
};
