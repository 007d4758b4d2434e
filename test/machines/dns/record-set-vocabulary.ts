import type { RecordSetContext } from '../../../machines/dns/record-set.ts';
import { A, B, PROVIDER, START } from '../builders.ts';
import { VERIFY_EVERY } from '../drive.ts';
import type { Exploration, Telling } from '../explore.ts';
import { event } from '../pool/world.ts';
import { addressed, nodes, REF, setSpec, WEB, ZONE } from './world.ts';

export const RECORD_SET_INPUT = { id: WEB, ref: REF, since: START };

const away = { failure: { kind: 'Unavailable', message: 'away' } };
const answers = [1, 2, 3].flatMap((revision) => [
  event('RECORDS_APPLIED', { revision, failure: null }),
  event('RECORDS_APPLIED', { revision, ...away }),
]);
const COMMON = [
  ...answers,
  event('RECORDS_ASKED', { zone: ZONE }),
  event('RESUME'),
  event('DELETED'),
  event('xstate.after.unanswered.recordSet.Publishing', {}, START + VERIFY_EVERY),
];
const target = (zone: string) => ({ provider: PROVIDER, zone, recordName: 'web', ttlSeconds: 60 });

/** Facts, answers and the timer of a NodeDNSRecordSet. */
export const OF_NODES = [
  event('SPEC_OBSERVED', setSpec()),
  event('SPEC_OBSERVED', setSpec({ dnsRecordSet: { zone: 'example.org', recordName: 'web' } })),
  event('SPEC_OBSERVED', setSpec({ provider: 'aws' })),
  event('CLUSTER_OBSERVED', nodes()),
  event('CLUSTER_OBSERVED', nodes(addressed('a', A), addressed('b', null))),
  event('CLUSTER_OBSERVED', nodes(addressed('a', B))),
  event('CLUSTER_OBSERVED', { ...nodes(addressed('a', B)), query: 'another' }),
  ...COMMON,
];
/** The same of a pool's record set. */
export const OF_A_POOL = [
  event('RECORDS_WANTED', { target: target('example.com'), addresses: [A], since: START }),
  event('RECORDS_WANTED', { target: target('example.org'), addresses: [A, B], since: START }),
  event('RECORDS_WANTED', { target: target('example.com'), addresses: [], since: START }),
  event('RECORDS_WANTED', { target: null, addresses: [A], since: START }),
  ...COMMON,
];

/** All but the times; of the revision whether it can still be met by an answer. */
export const recordSetTelling: Telling = ({ value, context }) => {
  const { spec, error, isKnown, target: where, addresses, revision, isClaimed, outcome } = context as RecordSetContext;
  return [
    value,
    spec?.target.zone,
    error,
    isKnown,
    where?.zone,
    addresses,
    Math.min(revision, 4),
    isClaimed,
    outcome?.failure === null,
    outcome !== null,
  ];
};

/** Enough changes are met by then. */
export const recordSetComes: NonNullable<Exploration['comes']> = ({ context }) => (context as RecordSetContext).revision < 4;
