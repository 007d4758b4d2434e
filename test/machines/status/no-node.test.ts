import { describe, expect, test } from 'vitest';
import type { ClusterFact } from '../../../machines/events.ts';
import { firewallActor } from '../../../machines/model/actor-id.ts';
import { compile, queryOf, servingNodes } from '../../../machines/model/matching.ts';
import { serviceQueryOf } from '../../../machines/model/service-ref.ts';
import type { Address, ObservedNode, ObservedService } from '../../../machines/model/types.ts';
import type { PoolContext } from '../../../machines/pool/context.ts';
import { whyNoNode } from '../../../machines/status/no-eligible-node.ts';
import { poolConditions } from '../../../machines/status/pool.ts';
import { A, B, C, member, node, pod, providerIDOf, START, serving } from '../builders.ts';
import { shown, specOf, stable, view } from './status-view.ts';

const MATCH = { nodeLabel: 'pool=work' };
const of = (nodes: readonly ObservedNode[], change: Partial<ClusterFact> = {}): ClusterFact => ({
  query: queryOf(MATCH),
  nodes,
  serving: null,
  ...change,
});
const waiting = { [A]: member(), [B]: serving('b') };

/** Why no node is free for address A, of a pool whose other address is on b. */
const why = (observed: ClusterFact, change: Partial<PoolContext> = {}, addresses: readonly Address[] = [A]): string | null =>
  whyNoNode({ ...view({ spec: specOf({ match: MATCH }), query: queryOf(MATCH), members: waiting, ...change }), observed }, addresses);

describe('why no node is free is said', () => {
  const taint = { key: 'gpu', effect: 'NoSchedule' };
  test.each<[string, ObservedNode, Partial<PoolContext>, string]>([
    ['is not Ready', node('a').notReady(), {}, 'a (the Node is not Ready)'],
    ['is being deleted', node('a').goingAway(), {}, 'a (the Node is being deleted)'],
    ['bears a taint', node('a').tainted(taint), {}, 'a (its taint gpu:NoSchedule is not tolerated)'],
    ['has no providerID', node('a').withProviderID(''), {}, 'a (the Node has no spec.providerID yet)'],
    ['is of another provider', node('a').withProviderID('aws://1'), {}, 'a (its providerID does not begin with digitalocean://)'],
    [
      'is cordoned, of a pool that drains',
      node('a').cordoned(),
      { spec: specOf({ match: MATCH, drainPolicy: 'OnCordon' }) },
      'a (the Node is cordoned or about to go)',
    ],
    ['holds another address of the pool', node('b'), {}, `b (${B} is on it, or on its way to it)`],
    ['is full', node('a'), { fullNodes: ['a'] }, 'a (it has as many addresses as it may hold)'],
    [
      'failed a moment ago',
      node('a'),
      { backOff: { a: { until: START + 5000, attempts: 1 } } },
      'a (left alone until 2026-03-01T12:00:05.000Z after a failure)',
    ],
    ['is elsewhere', node('a').in('ams3'), { members: { [A]: member({ region: 'nyc3' }) } }, 'a (it is in region ams3, not in nyc3)'],
    ['might be free in a moment', node('a'), {}, 'a (it is not free)'],
  ])('of a node that %s', (_, given, change, text) => {
    expect(why(of([given]), change)).toBe(text);
  });

  test('of a node on which no matching Pod is Ready', () => {
    const match = { ...MATCH, podLabel: 'app=nginx' };
    const query = queryOf(match);
    const pods = [pod({ nodeName: 'b' }), pod({ name: 'starting', serving: false })];
    const serving = servingNodes(pods, compile(match));
    const told = why(of([node('a')], { query, serving }), { spec: specOf({ match }), query });
    expect(told).toBe('a (no matching Pod is Ready on it)');
  });

  test('by name, of five nodes at most and with the number of the others, in any order of the nodes', () => {
    const nodes = ['g', 'c', 'a', 'f', 'b', 'e', 'd'].map((name) => node(name).notReady());
    const each = (name: string): string => `${name} (the Node is not Ready)`;
    expect(why(of(nodes))).toBe(`${['a', 'b', 'c', 'd', 'e'].map(each).join(', ')} and 2 more`);
    expect(why(of([...nodes].reverse()))).toBe(why(of(nodes)));
    expect(why(of(nodes.slice(0, 5)))).not.toContain('more');
  });

  test('to be that none has the labels, where none has, and nothing of nodes with others', () => {
    expect(why(of([node('a').labelled({ pool: 'other' })]))).toBe('no node has the labels of spec.match');
    expect(why(of([node('a').labelled({ pool: 'other' }), node('b').notReady()]))).toBe('b (the Node is not Ready)');
  });

  test('only of nodes that are known under the present selectors', () => {
    expect(why(of([node('a').notReady()], { query: queryOf({ nodeLabel: 'pool=former' }) }))).toBeNull();
    expect(whyNoNode({ ...view(), observed: null }, [A])).toBeNull();
    expect(whyNoNode(view(), [A])).toBeNull();
  });

  test('in the condition, after the addresses that wait', () => {
    const given = view({ spec: specOf({ match: MATCH }), members: waiting }, { [A]: shown('Unassigned'), [B]: stable(B, 'b') });
    const conditions = poolConditions({ ...given, observed: of([node('a').notReady(), node('b')]) });
    const degraded = conditions.find(({ type }) => type === 'Degraded');
    expect(degraded).toMatchObject({
      reason: 'NoEligibleNode',
      message: `no eligible node is free for ${A}: a (the Node is not Ready), b (${B} is on it, or on its way to it)`,
    });
  });

  test('of a region only where no address that waits is of it', () => {
    const members = { [A]: member({ region: 'nyc3' }), [C]: member({ region: 'ams3' }) };
    expect(why(of([node('a').in('ams3')]), { members }, [A])).toContain('region');
    expect(why(of([node('a').in('ams3')]), { members }, [A, C])).toBe('a (it is not free)');
  });
});

describe('why no node is free for a RoutedIP is said', () => {
  const query = serviceQueryOf('web', 'shop');
  const exposes = {
    service: { namespace: 'web', name: 'shop' },
    firewall: firewallActor('digitalocean', 'edge'),
    postAllow: false,
    exclusive: false,
    sources: null,
    nodePortRange: { first: 30000, last: 32767 },
    perNode: 1,
    clampedFrom: null,
    reclaim: 'Retain',
    taint: null,
    turn: '',
    byJobs: false,
    revision: null,
    subject: null,
    source: { kind: 'ClusterRoutedIPClass', name: 'floating' },
  } as const;
  const spec = specOf();
  const change = { spec: spec && { ...spec, exposes }, query, members: { [A]: member() } };
  const service = (...ready: readonly string[]): ObservedService => ({
    type: 'NodePort',
    hasSelector: true,
    ports: [],
    endpoints: ready.map((name) => ({ node: name, ready: true, pod: null })),
  });

  test.each<[string, ObservedNode, string]>([
    ['is cordoned', node('a').cordoned(), 'a (the Node is cordoned)'],
    [
      'is about to go',
      node('a').tainted({ key: 'ToBeDeletedByClusterAutoscaler', effect: 'PreferNoSchedule' }),
      'a (the Node is cordoned or about to go)',
    ],
    [
      'is kept out of load balancing',
      node('a').labelled({ 'node.kubernetes.io/exclude-from-external-load-balancers': '' }),
      'a (its label node.kubernetes.io/exclude-from-external-load-balancers keeps it out)',
    ],
    ['serves no more', node('b'), 'b (no ready endpoint of the Service is on it)'],
    [
      'is of another provider',
      node('a').withProviderID(`aws://${providerIDOf('a')}`),
      'a (its providerID does not begin with digitalocean://)',
    ],
  ])('of a node that %s', (_, given, text) => {
    expect(why(of([given], { query, service: service('a') }), change)).toBe(text);
  });

  test('to be that the Service has no endpoint, where no node is known to have one', () => {
    expect(why(of([], { query, service: service() }), change)).toBe('the Service has no endpoint on any node');
  });
});
