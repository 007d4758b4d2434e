import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  compile,
  ineligible,
  type Match,
  matching,
  queryOf,
  servingNodes,
  tolerates,
  wantsPods,
} from '../../../machines/model/matching.ts';
import type { ObservedNode, ObservedPod, Taint, Toleration } from '../../../machines/model/types.ts';
import { frozen, node, pod } from '../builders.ts';

const names = (nodes: readonly ObservedNode[], pods: readonly ObservedPod[] | null, match: Match): string[] =>
  matching(nodes, pods && servingNodes(pods, compile(match)), match).map(({ name }) => name);

describe('a node', () => {
  const rules = compile({ nodeLabel: 'pool=work', podLabel: 'app=nginx', tolerations: [{ key: 'ours', operator: 'Exists' }] });
  const serving = new Set(['a']);
  const wrong = node('b')
    .goingAway()
    .notReady()
    .labelled({ pool: 'idle' })
    .tainted({ key: 'ours', effect: 'NoSchedule' }, { key: 'disk', effect: 'NoExecute' })
    .withProviderID('');

  // Each mends what the one before complains of: so the order is told, too.
  test.each<[string, ObservedNode, string]>([
    ['is going away', wrong, 'the Node is being deleted'],
    ['is not Ready', node('b').notReady().labelled({}).tainted({ key: 'disk', effect: 'x' }).withProviderID(''), 'the Node is not Ready'],
    [
      'has other labels',
      node('b').labelled({ pool: 'idle' }).tainted({ key: 'disk', effect: 'NoExecute' }).withProviderID(''),
      'its labels do not match pool=work',
    ],
    [
      'bears a taint that nobody tolerates',
      node('b').tainted({ key: 'ours', effect: 'NoSchedule' }, { key: 'disk', effect: 'NoExecute' }).withProviderID(''),
      'its taint disk:NoExecute is not tolerated',
    ],
    [
      'is not known to the cloud yet',
      node('b').tainted({ key: 'ours', effect: 'NoSchedule' }).withProviderID(''),
      'the Node has no spec.providerID yet',
    ],
    ['serves no such pod', node('b'), 'no matching Pod is Ready on it'],
  ])('that %s may hold no address, and that is the first thing said', (_, given, reason) => {
    expect(ineligible(given, rules, serving)).toBe(reason);
  });

  test('that has all of it may hold one', () => {
    expect(ineligible(node('a').tainted({ key: 'ours', effect: 'NoSchedule' }), rules, serving)).toBeNull();
  });

  test('that is cordoned bears the taint for it, and matches when that is tolerated', () => {
    const cordoned = node('a').cordoned().tainted({ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' });
    expect(names([cordoned], null, {})).toEqual([]);
    expect(names([cordoned], null, { tolerations: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] })).toEqual(['a']);
  });

  test('with no rules at all matches when it is Ready and known to the cloud', () => {
    expect(names([node('b'), node('a'), node('c').notReady(), node('d').withProviderID('')], null, {})).toEqual(['a', 'b']);
  });
});

describe('a toleration', () => {
  const taint: Taint = { key: 'k', value: 'v', effect: 'NoSchedule' };
  const bare: Taint = { key: 'k', effect: 'NoExecute' };

  test.each<[Toleration, Taint, boolean]>([
    [{ key: 'k', operator: 'Equal', value: 'v', effect: 'NoSchedule' }, taint, true],
    [{ key: 'k', value: 'v', effect: 'NoSchedule' }, taint, true],
    [{ key: 'k', operator: '', value: 'v', effect: '' }, taint, true],
    [{ key: 'k', value: 'v' }, taint, true],
    [{ key: 'k', value: 'w' }, taint, false],
    [{ key: 'k' }, taint, false],
    [{ key: 'k' }, bare, true],
    [{ key: 'k', value: '' }, bare, true],
    [{ key: 'k', value: 'v' }, bare, false],
    [{ key: 'k', operator: 'Exists' }, taint, true],
    [{ key: 'k', operator: 'Exists', value: 'w' }, taint, true],
    [{ key: 'k', operator: 'Exists', effect: 'NoExecute' }, taint, false],
    [{ key: 'k', value: 'v', effect: 'PreferNoSchedule' }, taint, false],
    [{ key: 'j', operator: 'Exists' }, taint, false],
    [{ operator: 'Exists' }, taint, true],
    [{ key: '', operator: 'Exists' }, bare, true],
    [{ operator: 'Exists', effect: 'NoExecute' }, taint, false],
    [{ operator: 'Exists', effect: 'NoExecute' }, bare, true],
    [{}, bare, false],
    [{ key: '', operator: 'Equal' }, bare, false],
    [{ key: 'k', operator: 'exists' }, bare, false],
    [{ key: 'k', operator: 'In', value: 'v' }, taint, false],
  ])('%o on %o: %s', (toleration, given, tolerated) => expect(tolerates(toleration, given)).toBe(tolerated));

  test('counts for one taint only: each taint needs one', () => {
    const tainted = node('a').tainted({ key: 'k', effect: 'NoSchedule' }, { key: 'l', effect: 'PreferNoSchedule' });
    expect(names([tainted], null, { tolerations: [{ key: 'k' }] })).toEqual([]);
    expect(names([tainted], null, { tolerations: [{ key: 'k' }, { key: 'l' }] })).toEqual(['a']);
  });
});

describe('pods', () => {
  const nodes = [node('a'), node('b'), node('c'), node('d'), node('e')];
  const pods = [
    pod({ nodeName: 'a' }),
    pod({ nodeName: 'b', namespace: 'other' }),
    pod({ nodeName: 'c', labels: { app: 'redis' } }),
    pod({ nodeName: 'd', serving: false }),
    pod({ nodeName: '' }),
  ];

  test.each<[string, Match, string[]]>([
    ['a label and a namespace', { podLabel: 'app=nginx', podNamespace: 'ingress' }, ['a']],
    ['a label only, in all namespaces', { podLabel: 'app=nginx' }, ['a', 'b']],
    ['a namespace only, with any labels', { podNamespace: 'ingress' }, ['a', 'c']],
    ['neither', {}, ['a', 'b', 'c', 'd', 'e']],
    ['empty texts', { podLabel: '', podNamespace: '' }, ['a', 'b', 'c', 'd', 'e']],
    ['a namespace without pods', { podNamespace: 'empty' }, []],
  ])('are asked for by %s', (_, match, expected) => expect(names(nodes, pods, match)).toEqual(expected));

  test('of which none is known serve nowhere', () => expect(names(nodes, null, { podLabel: 'app=nginx' })).toEqual([]));

  test('are asked for only when the rules say so', () => {
    expect([{}, { podLabel: '' }, { podLabel: 'a' }, { podNamespace: 'x' }].map(wantsPods)).toEqual([false, false, true, true]);
  });
});

describe('a query', () => {
  test('is the same text for the same selectors, whatever the tolerations', () => {
    expect(queryOf({ nodeLabel: 'a', tolerations: [{ key: 'k' }] })).toBe(queryOf({ nodeLabel: 'a' }));
    expect(queryOf({})).toBe(queryOf({ nodeLabel: '' }));
  });

  test('differs for other selectors', () => {
    const texts = [{}, { nodeLabel: 'a' }, { podLabel: 'a' }, { podNamespace: 'a' }, { podLabel: 'a', podNamespace: 'a' }].map(queryOf);
    expect(new Set(texts).size).toBe(texts.length);
  });
});

test('the same nodes and pods in any order match the same, sorted by name', () => {
  const nodes = ['d', 'b', 'a', 'c'].map((name, index) => (index % 3 === 2 ? node(name).notReady() : node(name)));
  const pods = ['a', 'b', 'c', 'b'].map((nodeName, index) => pod({ nodeName, name: `nginx-${index}` }));
  const match: Match = { podLabel: 'app=nginx' };
  const expected = names(nodes, pods, match);
  expect(expected).toEqual(['b', 'c']);
  fc.assert(
    fc.property(fc.shuffledSubarray(nodes, { minLength: 4 }), fc.shuffledSubarray(pods, { minLength: 4 }), (someNodes, somePods) => {
      expect(names(frozen(someNodes), frozen(somePods), frozen(match))).toEqual(expected);
    }),
  );
});
