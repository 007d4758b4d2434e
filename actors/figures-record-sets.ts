import { phaseOf, type RecordSetContext, recordName } from '../machines/record-set.ts';
import type { ActorId } from '../machines/types.ts';
import type { Observer, Transition } from './ports/observers.ts';
import type { ActorRecord } from './ports.ts';

/** What metrics show of one NodeDNSRecordSet. */
export interface RecordSetFigures {
  readonly namespace: string;
  readonly name: string;
  /** Of the DNS; empty before the first valid spec. */
  readonly provider: string;
  /** Full name of the record; empty before it is known what is wanted. */
  readonly dns: string;
  /** How many records the set has, as last confirmed; 0 before the first time. */
  readonly records: number;
}

export interface RecordSetFigurePorts {
  readonly show: (figures: RecordSetFigures) => void;
  readonly forget: (namespace: string, name: string) => void;
}

/** Shows NodeDNSRecordSets in figures, as they stand after each turn. The record set of a pool is none. */
export function recordSetFigures({ show, forget }: RecordSetFigurePorts): Observer {
  const confirmed = new Map<ActorId, number>();

  const note = ({ actor, before, after }: Transition): void => {
    const ref = contextOf(after ?? before)?.ref;
    if (!ref) return;
    const now = contextOf(after);
    if (!now) {
      confirmed.delete(actor);
      forget(ref.namespace, ref.name);
      return;
    }
    for (const context of [contextOf(before), now]) {
      if (context && phaseOf(context) === 'Published') confirmed.set(actor, context.addresses.length);
    }
    const { namespace, name } = ref;
    const provider = (now.target ?? now.spec?.target)?.provider ?? '';
    show({ namespace, name, provider, dns: recordName(now), records: confirmed.get(actor) ?? 0 });
  };

  return {
    turnSaved: ({ transitions }) => {
      for (const transition of transitions) if (transition.chart === 'dns-record-set') note(transition);
    },
    reset: () => confirmed.clear(),
  };
}

const contextOf = (record: ActorRecord | null): RecordSetContext | null =>
  record ? (record.snapshot.context as unknown as RecordSetContext) : null;
