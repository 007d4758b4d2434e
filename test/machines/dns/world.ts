import type { RecordSetContext } from '../../../machines/dns/record-set.ts';
import type { ZoneContext, ZoneInput } from '../../../machines/dns/zone.ts';
import type { SetOutcome } from '../../../machines/jobs.ts';
import { queryOf } from '../../../machines/model/matching.ts';
import type { ActorId, Address, JobFailure, ObservedNode } from '../../../machines/model/types.ts';
import { A, node, PROVIDER, registry, START } from '../builders.ts';
import { Driven } from '../drive.ts';

export const ZONE = `zone/${PROVIDER}/example.com`;
export const WEB = 'dns/default/web';
export const API = 'dns/default/api';
export const POOL_SET = 'pool/default/ingress/dns';

/** A claim of `web` on the name `web`, in its first revision; say what is different. */
export const records = (change: Readonly<Record<string, unknown>> = {}) => ({
  claimant: WEB,
  revision: 1,
  since: START,
  recordName: 'web',
  ttlSeconds: 60,
  addresses: [A],
  ...change,
});

export const outcome = (claimant: ActorId, failure: JobFailure | null = null): SetOutcome => ({
  claimant,
  failure,
  changed: failure ? 0 : 1,
});
/** What a job answers that did all these sets. */
export const ensured = (...outcomes: readonly (SetOutcome | ActorId)[]) => ({
  zoneName: 'example.com',
  outcomes: outcomes.map((each) => (typeof each === 'string' ? outcome(each) : each)),
});

export const zone = (change: Partial<ZoneInput> = {}): Driven<ZoneContext> =>
  new Driven<ZoneContext>('dns-zone', { id: ZONE, provider: PROVIDER, zone: 'example.com', ...change });

/** What the last event had told, as text: to whom, what, and the kind of the failure. */
export const toldBy = ({ last }: { readonly last: Driven<unknown>['last'] }): readonly string[] =>
  last.effects.flatMap((effect) => {
    if (effect.type !== 'tell') return [];
    const { type, revision, failure, addresses } = effect.params.event as {
      type: string;
      revision?: number;
      failure?: { kind: string } | null;
      addresses?: readonly Address[];
    };
    const what = type === 'RECORDS' ? ` ${addresses?.join(' ') || 'nothing'}` : failure ? ` ${failure.kind}` : '';
    return [`${effect.params.to}: ${type}${revision === undefined ? '' : ` ${revision}`}${what}`];
  });

/** The claimants whose sets the job that the last event started carries, in its order. */
export const carried = (driven: Driven<ZoneContext>): readonly ActorId[] =>
  ((driven.inputOf('ensureRecords') as { sets: readonly { claimant: ActorId }[] } | undefined)?.sets ?? []).map(({ claimant }) => claimant);

// ---------------------------------------------------------------- record sets

export const REF = { kind: 'NodeDNSRecordSet', namespace: 'default', name: 'web', uid: 'uid-web' };
export const QUERY = queryOf({ nodeLabel: 'pool=work' });

export const setSpec = (change: Readonly<Record<string, unknown>> = {}, fact: Readonly<Record<string, unknown>> = {}) => ({
  spec: {
    provider: PROVIDER,
    dnsRecordSet: { zone: 'example.com', recordName: 'web' },
    match: { nodeLabel: 'pool=work' },
    ...change,
  },
  generation: 1,
  registry: registry(),
  ...fact,
});

/** A matching node with a public address. */
export const addressed = (name: string, externalIP: string | null, change: Partial<ObservedNode> = {}): ObservedNode => ({
  ...node(name),
  externalIPs: externalIP === null ? [] : [externalIP as Address],
  ...change,
});

export const nodes = (...all: readonly ObservedNode[]) => ({ query: QUERY, nodes: all, serving: null });

/** The record set of a NodeDNSRecordSet. */
export const recordSet = (): Driven<RecordSetContext> =>
  new Driven<RecordSetContext>('dns-record-set', { id: WEB, ref: REF, since: START });
/** The record set of a pool. */
export const poolSet = (): Driven<RecordSetContext> =>
  new Driven<RecordSetContext>('dns-record-set', { id: POOL_SET, ref: null, since: START });

/** A NodeDNSRecordSet whose one node has address A, as its zone has been told. */
export const publishing = (): Driven<RecordSetContext> =>
  recordSet()
    .send('SPEC_OBSERVED', setSpec())
    .send('CLUSTER_OBSERVED', nodes(addressed('a', A)));

export const published = (): Driven<RecordSetContext> => publishing().send('RECORDS_APPLIED', { revision: 1, failure: null });
