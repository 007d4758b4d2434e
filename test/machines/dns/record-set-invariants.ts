import { isDeepStrictEqual } from 'node:util';
import type { Step } from '../../../actors/runtime/step.ts';
import { phaseOf, type RecordSetContext } from '../../../machines/dns/record-set.ts';
import type { Edge } from '../explore.ts';

const contextOf = ({ snapshot }: Step): RecordSetContext => snapshot.context as RecordSetContext;
interface Sent {
  readonly to: string;
  readonly claimant: string;
  readonly revision: number;
  readonly recordName: string;
  readonly addresses: readonly string[];
}
export const sent = ({ effects }: Step): readonly Sent[] =>
  effects.flatMap((effect) =>
    effect.type === 'tell' ? [{ to: effect.params.to, ...(effect.params.event as Omit<Sent, 'to'> & { type: string }) }] : [],
  );
export const claimedZone = ({ target: where, addresses }: RecordSetContext): string | null =>
  where && addresses.length > 0 ? `zone/${where.provider}/${where.zone}` : null;

/** Each holds for every event in every state of a record set. */
export const RECORD_SET_RULES: Readonly<Record<string, (edge: Edge) => boolean>> = {
  'its state is what its context says': ({ after }) => after.done || after.snapshot.value === phaseOf(contextOf(after)),

  'a claim is the whole of what is wanted, at its zone': ({ after }) =>
    sent(after).every(({ to, addresses, revision }) => {
      if (addresses.length === 0) return true;
      const { addresses: wanted, revision: present } = contextOf(after);
      return to === claimedZone(contextOf(after)) && isDeepStrictEqual(addresses, wanted) && revision === present;
    }),

  'only a zone that is not claimed on gets its claim back': ({ after }) =>
    sent(after).every(({ to, addresses }) => addresses.length > 0 || to !== claimedZone(contextOf(after)) || after.done),

  'what changes is claimed at once, under a new revision': ({ before, after }) => {
    const [was, is] = [contextOf(before), contextOf(after)];
    if (after.done || isDeepStrictEqual([was.target, was.addresses], [is.target, is.addresses])) return true;
    const claims = sent(after).filter(({ addresses }) => addresses.length > 0);
    return is.revision === was.revision + 1 && claims.length === (claimedZone(is) === null ? 0 : 1);
  },

  'the former zone gets its claim back when another one takes its place, or none': ({ before, after }) => {
    const [was, is] = [claimedZone(contextOf(before)), claimedZone(contextOf(after))];
    return was === null || was === is || sent(after).some(({ to, addresses }) => to === was && addresses.length === 0);
  },

  'nothing is claimed because of a spec alone: its nodes come first': ({ event: heard, after }) =>
    heard.type !== 'SPEC_OBSERVED' || sent(after).length === 0,

  'what is published changes only by nodes, or by what the pool wants': ({ before, event: heard, after }) =>
    after.done ||
    isDeepStrictEqual(contextOf(before).addresses, contextOf(after).addresses) ||
    heard.type === 'CLUSTER_OBSERVED' ||
    heard.type === 'RECORDS_WANTED',

  'only an answer to the present revision says how it stands': ({ before, event: heard, after }) => {
    const [was, is] = [contextOf(before), contextOf(after)];
    if (is.outcome === null || isDeepStrictEqual(was.outcome, is.outcome)) return true;
    return heard.type === 'RECORDS_APPLIED' && heard.revision === is.revision;
  },

  'whoever waits for an answer has a timer to ask again': ({ before, event: heard, after }) => {
    if (after.snapshot.value !== 'Publishing') return true;
    const enters = before.snapshot.value !== 'Publishing' || heard.type === 'RESUME' || heard.type.startsWith('xstate.after.');
    return !enters || after.delays.length === 1;
  },

  'under a spec that is not valid its claim stays as it is': ({ event: heard, after }) =>
    after.snapshot.value !== 'Invalid' || heard.type === 'RECORDS_ASKED' || sent(after).length === 0,
};

/** The rules that an edge breaks. */
export const brokenByRecordSet = (edge: Edge): readonly string[] =>
  Object.entries(RECORD_SET_RULES).flatMap(([rule, holds]) => (holds(edge) ? [] : [rule]));
