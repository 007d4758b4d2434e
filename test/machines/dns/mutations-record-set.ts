import type { RecordSetContext } from '../../../machines/dns/record-set.ts';
import * as set from '../../../machines/dns/record-set.ts';
import type { ClusterObserved, RecordsApplied, RecordsAsked, SpecObserved } from '../../../machines/events.ts';
import { A, B } from '../builders.ts';
import { action, type ChartMutation, guard, state } from '../mutations-spoil.ts';
import { event } from '../pool/world.ts';
import { addressed, nodes, setSpec, ZONE } from './world.ts';

const spec = event('SPEC_OBSERVED', setSpec());
const moved = event('SPEC_OBSERVED', setSpec({ dnsRecordSet: { zone: 'example.org', recordName: 'web' } }));
const invalid = event('SPEC_OBSERVED', setSpec({ provider: 'aws' }));
const onA = event('CLUSTER_OBSERVED', nodes(addressed('a', A)));
const onB = event('CLUSTER_OBSERVED', nodes(addressed('a', B)));
const nowhere = event('CLUSTER_OBSERVED', nodes());
const answered = event('RECORDS_APPLIED', { revision: 1, failure: null });
const late = event('RECORDS_APPLIED', { revision: 1, failure: { kind: 'Unavailable', message: 'away' } });
const asked = event('RECORDS_ASKED', { zone: ZONE });
const published = [spec, onA, answered];

/** For each rule of a record set a defect that it must catch. */
export const RECORD_SET_MUTATIONS: Readonly<Record<string, ChartMutation>> = {
  'its state is what its context says': {
    mutation: 'a failure is not seen once the set was published',
    spoil: guard('isAppliedNoMore', () => false),
    events: [...published, late],
  },
  'a claim is the whole of what is wanted, at its zone': {
    mutation: 'only addresses that are new are claimed',
    spoil: action<RecordSetContext, ClusterObserved>('observeCluster', (context, heard) => {
      const decided = set.observeCluster(context, heard);
      const fewer = decided.effects.map((effect) =>
        effect.type === 'tell' ? { ...effect, params: { ...effect.params, event: { ...effect.params.event, addresses: [B] } } } : effect,
      );
      return { ...decided, effects: fewer };
    }),
    events: [spec, event('CLUSTER_OBSERVED', nodes(addressed('a', A), addressed('b', B)))],
  },
  'only a zone that is not claimed on gets its claim back': {
    mutation: 'a zone that asks gets its claim back',
    spoil: action<RecordSetContext, RecordsAsked>('answerZone', (context, heard) => ({
      context,
      effects: set.answerZone({ ...context, target: null }, heard).effects,
    })),
    events: [...published, asked],
  },
  'what changes is claimed at once, under a new revision': {
    mutation: 'a change bears the revision of what was before',
    spoil: action<RecordSetContext, ClusterObserved>('observeCluster', (context, heard) => {
      const decided = set.observeCluster(context, heard);
      return { ...decided, context: { ...decided.context, revision: Math.max(1, context.revision) } };
    }),
    events: [...published, onB],
  },
  'the former zone gets its claim back when another one takes its place, or none': {
    mutation: 'the former zone hears nothing when its records are no longer wanted',
    spoil: action<RecordSetContext, ClusterObserved>('observeCluster', (context, heard) => {
      const decided = set.observeCluster(context, heard);
      return { ...decided, effects: decided.effects.slice(-1).filter(() => decided.context.addresses.length > 0) };
    }),
    events: [...published, nowhere],
  },
  'nothing is claimed because of a spec alone: its nodes come first': {
    mutation: 'a changed spec is claimed with the nodes of the former one',
    spoil: action<RecordSetContext, SpecObserved>('observeSpec', (context, heard) => {
      const decided = set.observeSpec(context, heard);
      return { ...decided, effects: set.claimAgain(decided.context).effects };
    }),
    events: [...published, moved],
  },
  'what is published changes only by nodes, or by what the pool wants': {
    mutation: 'a load has everything forgotten',
    spoil: action<RecordSetContext>('resume', (context) => ({ context: { ...context, isKnown: false, addresses: [] }, effects: [] })),
    events: [...published, event('RESUME')],
  },
  'only an answer to the present revision says how it stands': {
    mutation: 'whatever is answered counts',
    spoil: action<RecordSetContext, RecordsApplied>('noteApplied', (context, { failure }) => ({
      context: { ...context, outcome: { failure } },
      effects: [],
    })),
    events: [...published, onB, late],
  },
  'whoever waits for an answer has a timer to ask again': {
    mutation: 'an answer is waited for without end',
    spoil: state('Publishing', ({ after: _, ...config }) => config),
    events: [spec, onA],
  },
  'under a spec that is not valid its claim stays as it is': {
    mutation: 'a spec that is not valid has the claim given back',
    spoil: action<RecordSetContext, SpecObserved>('observeSpec', (context, heard) => {
      const decided = set.observeSpec(context, heard);
      return decided.context.error === null ? decided : { ...decided, effects: set.withdraw(context).effects };
    }),
    events: [...published, invalid],
  },
};
