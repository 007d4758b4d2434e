import type { RecordSetContext } from '../dns/record-set.ts';
import { phaseOf, recordName } from '../dns/record-set.ts';
import { shortList } from '../model/several.ts';
import type { Address, Condition, ObjectEvent } from '../model/types.ts';
import { LIMITS } from '../spec/limits.ts';
import * as reasons from './record-set-reasons.ts';

/** FLIPOP's names for the state of a record set. */
export type RecordSetState = 'active' | 'in-progress' | 'error';

/** A NodeDNSRecordSet, as in its record. */
export interface RecordSetView {
  readonly context: RecordSetContext;
  readonly term: number;
}

export interface RecordSetStatus {
  readonly state: RecordSetState;
  readonly error?: string;
  readonly records: number;
  /** The first of the listed addresses, sorted; absent while none is known to be listed. */
  readonly addresses?: readonly Address[];
  readonly observedGeneration: number;
  readonly term: number;
}

/** How many addresses a status shows. */
const ADDRESSES_SHOWN = LIMITS.NodeDNSRecordSet['status.addresses'];

/** A NodeDNSRecordSet's status without its conditions. */
export function recordSetStatus({ context, term }: RecordSetView): RecordSetStatus {
  const error = recordSetError(context);
  const records = published(context);
  return {
    state: stateOf(context),
    ...(error !== null && { error }),
    records,
    ...(records > 0 && { addresses: context.addresses.slice(0, ADDRESSES_SHOWN) }),
    observedGeneration: context.generation,
    term,
  };
}

/** How many records are known to be published. */
export const published = (context: RecordSetContext): number => (phaseOf(context) === 'Published' ? context.addresses.length : 0);

function stateOf(context: RecordSetContext): RecordSetState {
  switch (phaseOf(context)) {
    case 'Published':
      return 'active';
    case 'Invalid':
    case 'Failed':
      return 'error';
    case 'Priming':
    case 'Empty':
    case 'Publishing':
      return 'in-progress';
  }
}

/** What is wrong with the record set, in FLIPOP's words; null for nothing. */
export function recordSetError(context: RecordSetContext): string | null {
  if (context.error !== null) return context.error;
  const failure = phaseOf(context) === 'Failed' ? context.outcome?.failure : null;
  return failure ? `Failed to update DNS: ${failure.message}` : null;
}

// ---------------------------------------------------------------- conditions

export type RecordSetCondition = Condition & { readonly type: 'Ready' | 'Progressing' | 'Degraded' };

interface Finding {
  readonly reason: string;
  readonly message: string;
}

/** Ready: the record lists exactly the wanted addresses. Progressing: something is under way that ends by itself. Degraded: something is wrong until an external change. */
export function recordSetConditions({ context }: RecordSetView): readonly RecordSetCondition[] {
  const problem = recordSetProblem(context);
  const busy = busyOf(context);
  const isReady = phaseOf(context) === 'Published';
  const waits: Finding = problem ?? busy ?? { reason: reasons.WAITING, message: 'nothing is published' };
  return [
    isReady
      ? { type: 'Ready', status: 'True', reason: reasons.PUBLISHED, message: `${recordName(context)} lists ${counted(context)}` }
      : { type: 'Ready', status: 'False', ...waits },
    busy
      ? { type: 'Progressing', status: 'True', ...busy }
      : { type: 'Progressing', status: 'False', reason: reasons.IDLE, message: 'nothing is under way' },
    problem
      ? { type: 'Degraded', status: 'True', ...problem }
      : { type: 'Degraded', status: 'False', reason: reasons.AS_EXPECTED, message: 'nothing is wrong' },
  ];
}

const counted = ({ addresses }: RecordSetContext): string => (addresses.length === 1 ? '1 address' : `${addresses.length} addresses`);

/** What is wrong with the record set of a NodeDNSRecordSet or of a pool, the worst first; null for nothing. */
export function recordSetProblem(context: RecordSetContext): Finding | null {
  const { error, errorReason, outcome, without } = context;
  switch (phaseOf(context)) {
    case 'Invalid':
      return { reason: errorReason ?? reasons.INVALID_SPEC, message: error ?? '' };
    case 'Failed':
      return outcome?.failure ? { reason: reasons.recordsReason(outcome.failure), message: recordSetError(context) ?? '' } : null;
    case 'Empty':
      return emptiness(context);
    case 'Priming':
      return null;
    case 'Publishing':
    case 'Published':
      return without.length > 0 ? { reason: reasons.NODES_WITHOUT_ADDRESS, message: lacking(context) } : null;
  }
}

/** A record without addresses would be answered by "no such name": it is left as it is, and that is reported. */
function emptiness(context: RecordSetContext): Finding | null {
  const { target, spec, nodes, ref } = context;
  if (!target) return null;
  const why =
    ref === null
      ? 'no address of the pool is active'
      : nodes === 0
        ? 'no node matches'
        : `no matching node has an address of type ${spec?.addressType}`;
  return { reason: reasons.NO_ADDRESS, message: `${why}: the records of ${recordName(context)} stay as they are` };
}

function lacking({ without, nodes, spec }: RecordSetContext): string {
  return `${without.length} of ${nodes} matching nodes have no address of type ${spec?.addressType}: ${shortList(without)}`;
}

function busyOf(context: RecordSetContext): Finding | null {
  const phase = phaseOf(context);
  if (phase === 'Priming') return { reason: reasons.PRIMING, message: 'reading the nodes and the pods' };
  if (phase === 'Publishing') return { reason: reasons.PUBLISHING, message: `${recordName(context)} is to list ${counted(context)}` };
  return null;
}

// ---------------------------------------------------------------- Events

/** Events for the change of the record set of a NodeDNSRecordSet or of a pool to `after`. */
export function recordSetEvents(before: RecordSetContext | undefined, after: RecordSetContext): readonly ObjectEvent[] {
  return [invalid(before, after), trouble(before, after), done(before, after)].filter((event) => event !== null);
}

function invalid(before: RecordSetContext | undefined, { error, errorReason }: RecordSetContext): ObjectEvent | null {
  if (error === null || error === before?.error) return null;
  return { type: 'Warning', reason: errorReason ?? reasons.INVALID_SPEC, action: 'Validate', message: error };
}

function trouble(before: RecordSetContext | undefined, after: RecordSetContext): ObjectEvent | null {
  const problem = phaseOf(after) === 'Invalid' ? null : recordSetProblem(after);
  const former = before ? recordSetProblem(before) : null;
  if (!problem || problem.message === former?.message) return null;
  return { type: 'Warning', reason: problem.reason, action: 'Publish', message: problem.message };
}

/** When the record comes to list what it should; not repeated when it is found so after a load. */
function done(before: RecordSetContext | undefined, after: RecordSetContext): ObjectEvent | null {
  if (phaseOf(after) !== 'Published' || (before && phaseOf(before) === 'Published' && before.revision === after.revision)) return null;
  if (before && !before.isKnown && before.outcome?.failure === null && before.revision === after.revision) return null;
  return { type: 'Normal', reason: reasons.PUBLISHED, action: 'Publish', message: `${recordName(after)} lists ${counted(after)}` };
}
