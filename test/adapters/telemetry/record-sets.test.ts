import { describe, expect, test } from 'vitest';
import { charts } from '../../../actors/controllers/chart-registry.ts';
import type { RecordSetFigures } from '../../../actors/ports/figures.ts';
import { DEFAULT_SETTINGS } from '../../../actors/ports/settings.ts';
import { type CellState, type Envelope, runTurn } from '../../../actors/runtime/turn.ts';
import { poolFigures, recordSetFigures } from '../../../actors/status/metrics.ts';
import { queryOf } from '../../../machines/model/matching.ts';
import type { Address, ObjectRef, ObservedNode } from '../../../machines/model/types.ts';
import { node } from '../../support/world.ts';

const ID = 'records/default/nodes';
const REF: ObjectRef = { kind: 'NodeDNSRecordSet', namespace: 'default', name: 'nodes', uid: 'uid-1' };
const FACTS = { addresses: true, dns: true, ipv6: false, addressesPerNode: 1, providerIDPrefix: 'digitalocean://', missing: null };
const MATCH = { nodeLabel: 'pool=work' };
const SPEC = { provider: 'digitalocean', match: MATCH, dnsRecordSet: { zone: 'example.com', recordName: 'nodes' } };

/** The chart of a record set, what it is told one event a turn, and what the figures show of it. */
class Story {
  readonly shown = new Map<string, RecordSetFigures>();
  readonly figures = recordSetFigures({
    show: (figures) => void this.shown.set(`${figures.namespace}/${figures.name}`, figures),
    forget: (namespace, name) => void this.shown.delete(`${namespace}/${name}`),
  });
  #state: CellState = { id: ID, records: new Map(), seen: new Map() };

  constructor(ref: ObjectRef | null = REF) {
    this.hear({ type: 'init' }, { chart: 'dns-record-set', input: { id: ID, ref, since: 0 } });
  }

  hear(event: Envelope['event'], begin?: Envelope['begin']): void {
    const context = { charts: charts(DEFAULT_SETTINGS, () => 1), term: 1, now: 0, clear: [], endedAt: () => 0 };
    const result = runTurn(this.#state, [{ to: ID, event, ...(begin && { begin }) }], context);
    expect(result.faults).toEqual([]);
    this.#state = result.next;
    this.figures.turnSaved({ cell: ID, term: 1, at: 0, transitions: result.transitions });
  }

  spec(): void {
    this.hear({ type: 'SPEC_OBSERVED', spec: SPEC, generation: 1, registry: { digitalocean: FACTS }, conflicts: {} });
  }

  nodes(...addresses: readonly string[]): void {
    const nodes: readonly ObservedNode[] = addresses.map((address) => node(`node-${address}`, { externalIPs: [address as Address] }));
    this.hear({ type: 'CLUSTER_OBSERVED', query: queryOf(MATCH), nodes, serving: null });
  }

  applied(revision: number, failure: { kind: string; message: string } | null = null): void {
    this.hear({ type: 'RECORDS_APPLIED', revision, failure });
  }

  get figure(): RecordSetFigures | undefined {
    return this.shown.get('default/nodes');
  }
}

describe('the figures of a NodeDNSRecordSet', () => {
  test('are its provider, its full name and the records that were confirmed', () => {
    const story = new Story();
    expect(story.figure).toEqual({ namespace: 'default', name: 'nodes', provider: '', dns: '', records: 0 });
    story.spec();
    story.nodes('203.0.113.1', '203.0.113.2');
    const known = { namespace: 'default', name: 'nodes', provider: 'digitalocean', dns: 'nodes.example.com' };
    expect(story.figure).toEqual({ ...known, records: 0 });
    story.applied(1);
    expect(story.figure).toEqual({ ...known, records: 2 });
  });

  test('keep the last confirmed count until the next change is, and when it fails or nothing is left to publish', () => {
    const story = new Story();
    story.spec();
    story.nodes('203.0.113.1', '203.0.113.2');
    story.applied(1);
    story.nodes('203.0.113.1', '203.0.113.2', '203.0.113.3');
    expect(story.figure?.records).toBe(2);
    story.applied(2, { kind: 'Unavailable', message: '503' });
    expect(story.figure?.records).toBe(2);
    story.applied(2);
    expect(story.figure?.records).toBe(3);
    story.nodes();
    expect(story.figure?.records).toBe(3);
  });

  test('know the count after a change of leader from the record that was loaded', () => {
    const story = new Story();
    story.spec();
    story.nodes('203.0.113.1');
    story.applied(1);
    story.figures.reset?.();
    story.shown.clear();
    story.hear({ type: 'RESUME' });
    expect(story.figure?.records).toBe(1);
  });

  test('go with the object', () => {
    const story = new Story();
    story.spec();
    story.nodes('203.0.113.1');
    story.applied(1);
    expect(story.figure?.records).toBe(1);
    story.hear({ type: 'DELETED' });
    expect(story.figure).toBeUndefined();
  });

  test('of a pool, in a cell of its own, leave those of the pool alone', () => {
    const forgotten: string[] = [];
    const observer = poolFigures(() => new Map(), { show: () => {}, forget: (...pool) => void forgotten.push(pool.join('/')) });
    for (const cell of ['pool/default/ingress/records', 'zone/digitalocean/example.com']) {
      observer.turnSaved({ cell, term: 1, at: 0, transitions: [] });
    }
    expect(forgotten).toEqual([]);
    observer.turnSaved({ cell: 'pool/default/ingress', term: 1, at: 0, transitions: [] });
    expect(forgotten).toEqual(['default/ingress']);
  });

  test('are not those of the record set of a pool', () => {
    const story = new Story(null);
    story.hear({
      type: 'RECORDS_WANTED',
      target: { provider: 'digitalocean', zone: 'example.com', recordName: 'in', ttlSeconds: 60 },
      addresses: ['203.0.113.1'],
      since: 0,
    });
    story.applied(1);
    expect(story.shown.size).toBe(0);
  });
});
