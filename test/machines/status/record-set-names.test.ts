import { describe, expect, test } from 'vitest';
import type { Address } from '../../../machines/model/types.ts';
import { A, B, C, node, PROVIDER, START } from '../builders.ts';
import { addressed, nodes, POOL_SET, poolSet, published, publishing, REF, recordSet, setSpec, toldBy, WEB, ZONE } from '../dns/world.ts';
import { VERIFY_EVERY } from '../drive.ts';

const SIX = '2001:db8::1' as Address;
const OTHER_ZONE = `zone/${PROVIDER}/example.org`;
const failed = { revision: 1, failure: { kind: 'Unavailable', message: 'the provider is away' } };

describe('a NodeDNSRecordSet', () => {
  test('claims the addresses of all matching nodes, sorted, once spec and nodes are known', () => {
    const given = recordSet();
    expect(given.send('SPEC_OBSERVED', setSpec()).state).toBe('Priming');
    given.send('CLUSTER_OBSERVED', nodes(addressed('b', B), addressed('a', A), addressed('c', C, { ready: false })));
    expect([given.state, toldBy(given)]).toEqual(['Publishing', [`${ZONE}: RECORDS 1 ${A} ${B}`]]);
    expect(given.last.effects[0]).toMatchObject({
      params: { event: { claimant: WEB, since: START, recordName: 'web', ttlSeconds: 60 } },
    });
    expect(given.send('RECORDS_APPLIED', { revision: 1, failure: null }).state).toBe('Published');
  });

  test('says nothing to its zone when a fact says nothing new', () => {
    const given = published()
      .send('SPEC_OBSERVED', setSpec())
      .send('CLUSTER_OBSERVED', nodes(addressed('a', A)));
    expect([given.state, toldBy(given)]).toEqual(['Published', []]);
  });

  test('follows the nodes: another one, another address, one that is not ready any more', () => {
    const given = published().send('CLUSTER_OBSERVED', nodes(addressed('a', A), addressed('b', B)));
    expect([given.state, toldBy(given)]).toEqual(['Publishing', [`${ZONE}: RECORDS 2 ${A} ${B}`]]);
    given.send('CLUSTER_OBSERVED', nodes(addressed('a', C), addressed('b', B)));
    expect(toldBy(given)).toEqual([`${ZONE}: RECORDS 3 ${B} ${C}`]);
    given.send('CLUSTER_OBSERVED', nodes(addressed('a', C), addressed('b', B, { ready: false })));
    expect(toldBy(given)).toEqual([`${ZONE}: RECORDS 4 ${C}`]);
  });

  test('takes no answer for an earlier revision', () => {
    const given = publishing().send('CLUSTER_OBSERVED', nodes(addressed('a', B)));
    expect(given.send('RECORDS_APPLIED', { revision: 1, failure: null }).state).toBe('Publishing');
    expect(given.send('RECORDS_APPLIED', { revision: 2, failure: null }).state).toBe('Published');
  });

  test('is Failed until its zone has managed', () => {
    const given = publishing().send('RECORDS_APPLIED', failed);
    expect([given.state, given.context.outcome?.failure?.message]).toEqual(['Failed', 'the provider is away']);
    expect(given.send('RECORDS_APPLIED', { revision: 1, failure: null }).state).toBe('Published');
    expect(given.send('RECORDS_APPLIED', failed).state).toBe('Failed');
    expect(given.send('CLUSTER_OBSERVED', nodes(addressed('a', B))).state).toBe('Publishing');
  });

  test('claims again when its zone does not answer', () => {
    const given = publishing();
    expect(given.timer).toBe(VERIFY_EVERY);
    expect([toldBy(given.elapse()), given.state, given.timer]).toEqual([[`${ZONE}: RECORDS 1 ${A}`], 'Publishing', VERIFY_EVERY]);
    expect(given.send('RECORDS_APPLIED', { revision: 1, failure: null }).timer).toBeNull();
  });

  test.each([
    ['ExternalIP', [A, SIX]],
    ['InternalIP', [B]],
    ['flipop.digitalocean.com/ipv4-reserved-ip', [C]],
    ['flipop.digitalocean.com/ipv6-reserved-ip', ['2001:db8::c']],
    [undefined, [A, SIX]],
  ])('publishes the addresses of type %s', (addressType, addresses) => {
    const bearer = { ...node('a'), externalIPs: [A, SIX], internalIPs: [B], reservedIPs: ['2001:db8::c' as Address, C] };
    const given = recordSet().send('SPEC_OBSERVED', setSpec({ addressType })).send('CLUSTER_OBSERVED', nodes(bearer));
    expect(given.context.addresses).toEqual([...addresses].sort());
  });

  test('knows which matching nodes have no such address', () => {
    const given = recordSet().send('SPEC_OBSERVED', setSpec());
    given.send('CLUSTER_OBSERVED', nodes(addressed('c', null), node('b'), addressed('a', A), addressed('d', null, { ready: false })));
    expect([given.context.without, given.context.nodes, given.context.addresses]).toEqual([['b', 'c'], 3, [A]]);
  });

  test('counts an address that two nodes bear once', () => {
    expect(
      recordSet()
        .send('SPEC_OBSERVED', setSpec())
        .send('CLUSTER_OBSERVED', nodes(addressed('a', A), addressed('b', A))).context.addresses,
    ).toEqual([A]);
  });

  test('comes to the same for any order of the nodes', () => {
    const all = [addressed('a', C), addressed('b', null), addressed('c', A), addressed('d', null)];
    const [one, other] = [all, all.toReversed()].map(
      (order) =>
        recordSet()
          .send('SPEC_OBSERVED', setSpec())
          .send('CLUSTER_OBSERVED', nodes(...order)).context,
    );
    expect(one).toEqual(other);
  });
});

describe('a record set without an address', () => {
  test('writes nothing, and gives its claim back so that its records stay', () => {
    const none = recordSet()
      .send('SPEC_OBSERVED', setSpec())
      .send('CLUSTER_OBSERVED', nodes(addressed('a', null)));
    expect([none.state, toldBy(none)]).toEqual(['Empty', []]);
    const lost = published().send('CLUSTER_OBSERVED', nodes());
    expect([lost.state, toldBy(lost)]).toEqual(['Empty', [`${ZONE}: RECORDS 2 nothing`]]);
    expect(toldBy(lost.send('CLUSTER_OBSERVED', nodes()))).toEqual([]);
  });

  test('goes on as soon as there is one', () => {
    const given = published()
      .send('CLUSTER_OBSERVED', nodes())
      .send('CLUSTER_OBSERVED', nodes(addressed('a', A)));
    expect([given.state, toldBy(given)]).toEqual(['Publishing', [`${ZONE}: RECORDS 3 ${A}`]]);
  });
});

describe('an edit of the spec', () => {
  const edited = (change: Readonly<Record<string, unknown>>) => published().send('SPEC_OBSERVED', setSpec(change, { generation: 2 }));
  const record = (change: Readonly<Record<string, unknown>>) => ({ dnsRecordSet: { zone: 'example.com', recordName: 'web', ...change } });

  test('waits for the nodes under the new one, and leaves what is published alone meanwhile', () => {
    const given = edited({ addressType: 'InternalIP' });
    expect([given.state, toldBy(given)]).toEqual(['Priming', []]);
    given.send('CLUSTER_OBSERVED', nodes({ ...addressed('a', A), internalIPs: [B] }));
    expect([given.state, toldBy(given)]).toEqual(['Publishing', [`${ZONE}: RECORDS 2 ${B}`]]);
  });

  test('that comes to the same in the end claims nothing anew', () => {
    const given = edited({ match: { nodeLabel: 'pool=work', tolerations: [{ operator: 'Exists' }] } }).send(
      'CLUSTER_OBSERVED',
      nodes(addressed('a', A)),
    );
    expect([given.state, toldBy(given)]).toEqual(['Published', []]);
  });

  test('takes no nodes of the former selectors', () => {
    const given = edited({ match: { nodeLabel: 'pool=other' } }).send('CLUSTER_OBSERVED', nodes(addressed('a', B)));
    expect([given.state, given.context.addresses]).toEqual(['Priming', [A]]);
  });

  test.each([
    [{ ttl: 300 }, 300, 'web'],
    [{ recordName: 'api.example.com' }, 60, 'api.example.com'],
  ])('%o is claimed at the same zone', (change, ttlSeconds, recordName) => {
    const given = edited(record(change)).send('CLUSTER_OBSERVED', nodes(addressed('a', A)));
    expect(toldBy(given)).toEqual([`${ZONE}: RECORDS 2 ${A}`]);
    expect(given.last.effects[0]).toMatchObject({ params: { event: { ttlSeconds, recordName } } });
  });

  test('of the zone or the provider gives the former zone its claim back', () => {
    const moved = edited(record({ zone: 'Example.org.' })).send('CLUSTER_OBSERVED', nodes(addressed('a', A)));
    expect(toldBy(moved)).toEqual([`${ZONE}: RECORDS 2 nothing`, `${OTHER_ZONE}: RECORDS 2 ${A}`]);
    const elsewhere = edited(record({ provider: 'cloudflare' })).send('CLUSTER_OBSERVED', nodes(addressed('a', A)));
    expect(toldBy(elsewhere)).toEqual([`${ZONE}: RECORDS 2 nothing`, `zone/cloudflare/example.com: RECORDS 2 ${A}`]);
  });

  test('that asks for a name of somebody else gives its own one back once the nodes are known', () => {
    const given = published().send('SPEC_OBSERVED', setSpec(record({ recordName: 'www' }), { generation: 2, nameOwner: 'Pool a/shop' }));
    expect([given.state, toldBy(given)]).toEqual(['Priming', []]);
    given.send('CLUSTER_OBSERVED', nodes(addressed('a', A)));
    expect([given.state, toldBy(given)]).toEqual(['Failed', [`${ZONE}: RECORDS 2 nothing`]]);
  });

  test('that is valid again claims a name which has become free meanwhile', () => {
    const given = published().send('SPEC_OBSERVED', setSpec({}, { generation: 2, nameOwner: 'Pool a/shop' }));
    expect(given.send('SPEC_OBSERVED', setSpec({ provider: 'aws' }, { generation: 3 })).state).toBe('Invalid');
    given.send('SPEC_OBSERVED', setSpec({}, { generation: 4 })).send('CLUSTER_OBSERVED', nodes(addressed('a', A)));
    expect([given.state, toldBy(given)]).toEqual(['Publishing', [`${ZONE}: RECORDS 3 ${A}`]]);
  });

  test('that is not valid stops it and leaves its claim as it was; a valid one goes on', () => {
    const given = edited({ provider: 'aws' });
    expect([given.state, given.context.error, toldBy(given)]).toEqual(['Invalid', 'unknown provider "aws"', []]);
    expect(given.send('CLUSTER_OBSERVED', nodes(addressed('a', B))).context.addresses).toEqual([A]);
    expect(given.send('SPEC_OBSERVED', setSpec({}, { generation: 3 })).state).toBe('Priming');
    given.send('CLUSTER_OBSERVED', nodes(addressed('a', B)));
    expect([given.state, toldBy(given)]).toEqual(['Publishing', [`${ZONE}: RECORDS 2 ${B}`]]);
  });

  test('that is older than the one known is passed over', () => {
    const given = published()
      .send('SPEC_OBSERVED', setSpec({}, { generation: 5 }))
      .send('SPEC_OBSERVED', setSpec({ provider: 'aws' }, { generation: 4 }));
    expect([given.state, given.context.generation]).toEqual(['Published', 5]);
  });
});

describe('the record set of a pool', () => {
  const target = { provider: PROVIDER, zone: 'example.com', recordName: 'hello', ttlSeconds: 30 };
  const wanted = (change: Readonly<Record<string, unknown>> = {}) => ({ target, addresses: [B, A], since: START - 5, ...change });

  test('claims what the pool wants', () => {
    const given = poolSet();
    expect(given.state).toBe('Priming');
    given.send('RECORDS_WANTED', wanted());
    expect([given.state, toldBy(given)]).toEqual(['Publishing', [`${ZONE}: RECORDS 1 ${A} ${B}`]]);
    expect(given.last.effects[0]).toMatchObject({
      params: { event: { claimant: POOL_SET, since: START - 5, recordName: 'hello', ttlSeconds: 30 } },
    });
    expect(toldBy(given.send('RECORDS_WANTED', wanted({ addresses: [A, B] })))).toEqual([]);
    expect(toldBy(given.send('RECORDS_WANTED', wanted({ addresses: [A] })))).toEqual([`${ZONE}: RECORDS 2 ${A}`]);
  });

  test('is Empty, its claim given back, when no address is active or none is wanted', () => {
    const given = poolSet().send('RECORDS_WANTED', wanted());
    expect([given.send('RECORDS_WANTED', wanted({ addresses: [] })).state, toldBy(given)]).toEqual([
      'Empty',
      [`${ZONE}: RECORDS 2 nothing`],
    ]);
    given.send('RECORDS_WANTED', wanted());
    expect([given.send('RECORDS_WANTED', wanted({ target: null })).state, toldBy(given)]).toEqual([
      'Empty',
      [`${ZONE}: RECORDS 4 nothing`],
    ]);
    expect(poolSet().send('RECORDS_WANTED', wanted({ target: null })).last.effects).toEqual([]);
  });

  test('claims again after a load what it was told last', () => {
    const given = poolSet().send('RECORDS_WANTED', wanted()).send('RECORDS_APPLIED', { revision: 1, failure: null }).send('RESUME');
    expect([given.state, toldBy(given)]).toEqual(['Published', [`${ZONE}: RECORDS 1 ${A} ${B}`]]);
    expect(toldBy(poolSet().send('RESUME'))).toEqual([]);
  });
});

describe('after a load', () => {
  test('a NodeDNSRecordSet waits for its nodes, which may have changed, and then claims again', () => {
    const given = published().send('RESUME');
    expect([given.state, toldBy(given)]).toEqual(['Priming', []]);
    given.send('SPEC_OBSERVED', setSpec()).send('CLUSTER_OBSERVED', nodes(addressed('a', A)));
    expect([given.state, toldBy(given)]).toEqual(['Published', [`${ZONE}: RECORDS 1 ${A}`]]);
    expect(toldBy(given.send('CLUSTER_OBSERVED', nodes(addressed('a', A))))).toEqual([]);
  });

  test('nodes that did change meanwhile are a new revision', () => {
    const given = published()
      .send('RESUME')
      .send('CLUSTER_OBSERVED', nodes(addressed('a', B)));
    expect([given.state, toldBy(given)]).toEqual(['Publishing', [`${ZONE}: RECORDS 2 ${B}`]]);
  });
});

describe('a zone that asks', () => {
  test('hears the claim again', () => {
    expect(toldBy(published().send('RECORDS_ASKED', { zone: ZONE }))).toEqual([`${ZONE}: RECORDS 1 ${A}`]);
  });

  test('hears nothing while it is not known what is wanted', () => {
    expect(toldBy(published().send('RESUME').send('RECORDS_ASKED', { zone: ZONE }))).toEqual([]);
  });

  test('of which nothing is claimed gets its claim back', () => {
    expect(toldBy(published().send('RECORDS_ASKED', { zone: OTHER_ZONE }))).toEqual([`${OTHER_ZONE}: RECORDS 1 nothing`]);
    expect(toldBy(recordSet().send('RECORDS_ASKED', { zone: ZONE }))).toEqual([`${ZONE}: RECORDS 0 nothing`]);
  });
});

describe('a deleted object', () => {
  test('gives its claim back and leaves its records, whatever it was doing', () => {
    for (const given of [publishing(), published(), published().send('RESUME'), publishing().send('RECORDS_APPLIED', failed)]) {
      given.send('DELETED');
      expect([given.state, given.last.done, toldBy(given)]).toEqual(['Gone', true, [`${ZONE}: RECORDS 1 nothing`]]);
    }
    expect(toldBy(recordSet().send('DELETED'))).toEqual([]);
  });

  test('is known by its reference', () => expect(published().context.ref).toEqual(REF));
});
