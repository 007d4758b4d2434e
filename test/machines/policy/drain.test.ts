import { describe, expect, test } from 'vitest';
import type { ObservedNode } from '../../../machines/model/types.ts';
import { asStaying, isLeaving } from '../../../machines/policy/drain.ts';
import { type GrantInput, grants } from '../../../machines/pool/assignment.ts';
import type { PoolContext } from '../../../machines/pool/context.ts';
import { standings } from '../../../machines/pool/eligibility.ts';
import { A, B, C, frozen, member, node, PREFIX, providerIDOf, refOf, SECOND, START, serving } from '../builders.ts';
import type { Driven } from '../drive.ts';
import * as world from '../pool/world.ts';

const UNSCHEDULABLE = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
const DOOMED = { key: 'ToBeDeletedByClusterAutoscaler', value: '1699', effect: 'NoSchedule' };
const OURS = { key: 'maintenance', effect: 'NoSchedule' };

describe('a node is about to go', () => {
  test.each<[string, ObservedNode, boolean]>([
    ['is as it should be', node('a'), false],
    ['is not Ready', node('a').notReady(), false],
    ['bears another taint', node('a').tainted(OURS), false],
    ['is unschedulable', node('a').cordoned(), true],
    ['is being deleted', node('a').goingAway(), true],
    ['bears the taint of a cordon', node('a').tainted(UNSCHEDULABLE), true],
    ['bears the autoscaler’s taint, whatever its effect', node('a').tainted({ ...DOOMED, effect: 'PreferNoSchedule' }), true],
  ])('when it %s: %s', (_, given, leaves) => {
    expect(isLeaving(given, 'OnCordon')).toBe(leaves);
    expect(isLeaving(given, 'OnNotReady')).toBe(false);
    expect(isLeaving(asStaying(given, 'OnCordon'), 'OnCordon')).toBe(false);
  });

  test('and all else about it stays as it is', () => {
    expect(asStaying(node('a').cordoned().tainted(OURS, DOOMED, UNSCHEDULABLE).notReady(), 'OnCordon')).toEqual({
      ...node('a').notReady().tainted(OURS),
    });
  });
});

describe('nodes that are about to go', () => {
  const rules = { match: { nodeLabel: 'pool=work' }, providerIDPrefix: PREFIX, graceMs: 30 * SECOND };
  const stand = (drainPolicy: 'OnNotReady' | 'OnCordon', ...nodes: readonly ObservedNode[]) => {
    const { matching, leaving, failing } = standings(frozen(nodes), null, { ...rules, drainPolicy });
    return [matching, leaving, failing].map((list) => list.map(({ name }) => name).join(' '));
  };
  const nodes = [
    node('ready'),
    node('unready').notReady(),
    node('cordoned').cordoned().tainted(UNSCHEDULABLE),
    node('deleted').goingAway(),
    node('doomed').tainted(DOOMED),
    node('tainted').cordoned().tainted(UNSCHEDULABLE, OURS),
    node('cordoned-unready').cordoned().notReady(),
    node('other').cordoned().labelled({}),
    node('foreign').cordoned().withProviderID('aws://foreign'),
  ];

  test('are told apart when the pool drains: those that would match', () => {
    expect(stand('OnCordon', ...nodes)).toEqual(['ready', 'cordoned deleted doomed', 'unready']);
    expect(stand('OnCordon', ...nodes.toReversed())).toEqual(['ready', 'cordoned deleted doomed', 'unready']);
  });

  test.each(['OnCordon', 'OnNotReady'] as const)('are those that are to be evacuated under %s, too, as far as they match', (policy) => {
    const evacuated = [
      { ...node('e'), evacuating: true },
      { ...node('f').notReady(), evacuating: true },
    ] as const;
    expect(stand(policy, node('ready'), ...evacuated)).toEqual(['ready', 'e', '']);
    const cordoned: ObservedNode = { ...node('g').cordoned().tainted(UNSCHEDULABLE), evacuating: true };
    expect(stand(policy, cordoned)[1]).toBe(policy === 'OnCordon' ? 'g' : '');
  });

  test('match, fail or do not, like all others, when it does not', () => {
    expect(stand('OnNotReady', ...nodes)).toEqual(['ready', '', 'cordoned-unready unready']);
  });

  test('are told apart also when their taints are tolerated', () => {
    const tolerant = { ...rules, match: { tolerations: [{ operator: 'Exists' }] }, drainPolicy: 'OnCordon' as const };
    expect(standings([node('a').tainted(UNSCHEDULABLE)], null, tolerant).leaving).toHaveLength(1);
    expect(standings([node('a').tainted(UNSCHEDULABLE)], null, { ...tolerant, drainPolicy: 'OnNotReady' }).matching).toHaveLength(1);
  });
});

const input = (change: Partial<GrantInput>): GrantInput => ({
  members: {},
  candidates: [],
  keeping: [],
  leaving: [],
  fullNodes: [],
  backOff: {},
  occupied: [],
  resting: {},
  coolOffMs: 0,
  lastAssignmentAt: null,
  ...change,
});

describe('addresses on nodes about to go', () => {
  const candidates = (...names: string[]) => names.map((name) => node(name).candidate);
  const decide = (change: Partial<GrantInput>, at = START) => {
    const { grants: given, reliefs, nextAt } = grants(frozen(input(change)), at);
    const told = (list: typeof given) => list.map(({ address, node: { name } }) => `${address} → ${name}`);
    return { grants: told(given), reliefs: told(reliefs), nextAt };
  };
  const nothing = { grants: [], reliefs: [], nextAt: null };

  test('may leave when another node is free, as many as there are nodes', () => {
    const members = { [A]: serving('a', { rank: 2 }), [B]: serving('b', { rank: 1 }) };
    const leaving = candidates('a', 'b');
    expect(decide({ members, leaving })).toEqual(nothing);
    expect(decide({ members, leaving, candidates: candidates('c') })).toEqual({ ...nothing, reliefs: [`${B} → c`] });
    expect(decide({ members, leaving, candidates: candidates('c', 'd') }).reliefs).toEqual([`${B} → c`, `${A} → d`]);
  });

  test('that were told to leave keep their node reserved until they have: nobody else leaves for it', () => {
    const members = { [A]: serving('a', { rank: 1, eligible: false }), [B]: serving('b', { rank: 2 }) };
    expect(decide({ members, leaving: candidates('a', 'b'), candidates: candidates('c') })).toEqual(nothing);
  });

  test('stay until every other address has said where it stands: it may be next in line, and sit on the same node', () => {
    const change = { leaving: candidates('a'), candidates: candidates('c') };
    const members = (heard: boolean) => ({ [A]: serving('a', { rank: 1 }), [B]: member({ rank: 2, heard, ready: false }) });
    expect(decide({ ...change, members: members(false) })).toEqual(nothing);
    expect(decide({ ...change, members: members(true) })).toEqual({ ...nothing, reliefs: [`${A} → c`] });
  });

  test('come after those that have no node', () => {
    const members = { [A]: serving('a', { rank: 1 }), [B]: member({ rank: 9 }) };
    expect(decide({ members, leaving: candidates('a'), candidates: candidates('c') })).toEqual({ ...nothing, grants: [`${B} → c`] });
  });

  test('stay when nobody else can take them: another region, another pool, back-off, on their way out', () => {
    const members = { [A]: serving('a') };
    const leaving = candidates('a');
    expect(decide({ members, leaving, candidates: [node('c').in('ams3').candidate] })).toEqual(nothing);
    expect(decide({ members, leaving, candidates: candidates('c'), fullNodes: ['c'] })).toEqual(nothing);
    const until = START + SECOND;
    expect(decide({ members, leaving, candidates: candidates('c'), backOff: { c: { until } } })).toEqual({ ...nothing, nextAt: until });
    expect(decide({ members: { [A]: serving('a', { retiring: true }) }, leaving, candidates: candidates('c') })).toEqual(nothing);
  });

  test('are tried again later than others on a node that has refused them: they serve meanwhile', () => {
    const leaving = candidates('a');
    const backOff = { c: { until: START + 60 * SECOND, urgentAt: START + SECOND } };
    const change = { leaving, candidates: candidates('c'), backOff };
    const waiting = { [A]: member({ holder: providerIDOf('a'), stands: refOf('a') }) };
    for (const members of [{ [A]: serving('a') }, waiting])
      expect(decide({ ...change, members }, START + SECOND).nextAt).toBe(START + 60 * SECOND);
    expect(decide({ ...change, members: { ...waiting, [B]: member() } }, START + SECOND).grants).toEqual([`${B} → c`, `${A} → a`]);
    expect(decide({ ...change, leaving: [], members: waiting }, START + SECOND).grants).toEqual([`${A} → c`]);
  });

  test('wait for the cool-off, and know when it ends', () => {
    const change = { members: { [A]: serving('a') }, leaving: candidates('a'), candidates: candidates('c'), coolOffMs: 20 * SECOND };
    expect(decide({ ...change, lastAssignmentAt: START })).toEqual({ ...nothing, nextAt: START + 20 * SECOND });
    expect(decide({ ...change, lastAssignmentAt: START }, START + 20 * SECOND).reliefs).toEqual([`${A} → c`]);
  });

  test('that wait move when a node is free, and else keep the one that they sit on', () => {
    const members = { [A]: member({ holder: providerIDOf('a') }) };
    const leaving = candidates('a');
    expect(decide({ members, leaving, candidates: candidates('c') }).grants).toEqual([`${A} → c`]);
    expect(decide({ members, leaving }).grants).toEqual([`${A} → a`]);
    expect(decide({ members, leaving, fullNodes: ['a'] }).grants).toEqual([]);
    expect(decide({ members: { ...members, [B]: serving('a') }, leaving }).grants).toEqual([]);
  });

  test('are no place for others', () => {
    expect(decide({ members: { [A]: member() }, leaving: candidates('a') })).toEqual(nothing);
  });
});

describe('a node on which an address sits that was just started', () => {
  test('is granted to nobody else before that address was heard', () => {
    const candidates = [node('b').candidate];
    const silent = member({ ready: false, heard: false, holder: providerIDOf('b') });
    const decide = (members: GrantInput['members']) => grants(input({ members, candidates }), START).grants.map(({ address }) => address);
    expect(decide({ [A]: member(), [C]: silent })).toEqual([]);
    expect(decide({ [A]: member(), [C]: { ...silent, heard: true } })).toEqual([A]);
  });
});

describe('a pool that drains', () => {
  const draining = (...names: readonly string[]): Driven<PoolContext> => world.serving({ drainPolicy: 'OnCordon' }, names);
  const aGoes = [node('a').cordoned(), node('b')];

  test('tells nobody of a node that is about to go while no other one is free', () => {
    const pool = draining('a', 'b').send('CLUSTER_OBSERVED', world.cluster(...aGoes));
    expect([world.toldIn(pool), pool.context.leaving.map(({ name }) => name), pool.context.candidates.map(({ name }) => name)]).toEqual([
      [],
      ['a'],
      ['b'],
    ]);
  });

  test('tells its address when another one is free, and grants that in the same breath', () => {
    const pool = draining('a', 'b').send('CLUSTER_OBSERVED', world.cluster(...aGoes, node('c')));
    expect(world.toldIn(pool)).toEqual([`NODE_OBSERVED ${A}`]);
    expect(world.grantsIn(pool.send('READY', world.ready(A, 'a')))).toEqual([`${A} → c`]);
  });

  test('gives the node back to an address whose other node is gone by then', () => {
    const pool = draining('a', 'b').send('CLUSTER_OBSERVED', world.cluster(...aGoes, node('c')));
    pool.send('CLUSTER_OBSERVED', world.cluster(...aGoes));
    expect(world.grantsIn(pool.send('READY', world.ready(A, 'a')))).toEqual([`${A} → a`]);
    pool.send('ASSIGNED', world.assigned(A, refOf('a'), false));
    expect(pool.context.members[A]).toMatchObject({ confirmed: true, eligible: true });
  });

  test('publishes an address as long as it stays', () => {
    const pool = world
      .serving({ drainPolicy: 'OnCordon', dnsRecordSet: { zone: 'example.com', recordName: 'web' } }, ['a', 'b'])
      .elapse('naming')
      .send('CLUSTER_OBSERVED', world.cluster(...aGoes));
    expect([pool.context.named?.addresses, pool.timerOf('naming')]).toEqual([[A, B], null]);
  });
});
