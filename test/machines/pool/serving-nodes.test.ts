import { describe, expect, test } from 'vitest';
import { HOLDER_TAINT, type ObservedNode, type ObservedService } from '../../../machines/model/types.ts';
import { EXCLUDED, servingStandings, unfit, unsupported } from '../../../machines/pool/service-nodes.ts';
import { node, PREFIX } from '../builders.ts';

const RULES = { providerIDPrefix: PREFIX, tolerations: [{ key: 'ours', operator: 'Exists' }], graceMs: 0 };
const service = (nodes: readonly string[], ready = true): ObservedService => ({
  type: 'ClusterIP',
  hasSelector: true,
  ports: [],
  endpoints: nodes.map((name) => ({ node: name, ready, pod: null })),
});

describe('a node', () => {
  const why = (given: ObservedNode): string | null => unfit(given, new Set(['a']), RULES);

  test('that is Ready and serves may hold an address', () => expect(why(node('a'))).toBeNull());

  test.each<[string, ObservedNode, string]>([
    ['is being deleted', node('a').goingAway(), 'the Node is being deleted'],
    ['is not Ready', node('a').notReady(), 'the Node is not Ready'],
    ['is cordoned', node('a').cordoned(), 'the Node is cordoned'],
    ['repels Pods', node('a').tainted({ key: 'k', effect: 'NoSchedule' }), 'its taint k:NoSchedule is not tolerated'],
    ['evicts Pods', node('a').tainted({ key: 'k', effect: 'NoExecute' }), 'its taint k:NoExecute is not tolerated'],
    ['is kept out of load balancing', node('a').labelled({ [EXCLUDED]: '' }), `its label ${EXCLUDED} keeps it out`],
    ['is not known to the cloud yet', node('a').withProviderID(''), 'the Node has no spec.providerID yet'],
    ['is of another provider', node('a').withProviderID('aws:///a'), `its providerID does not begin with ${PREFIX}`],
    ['has no ready endpoint', node('b'), 'no ready endpoint of the Service is on it'],
  ])('that %s may not, and it is said why', (_, given, reason) => expect(why(given)).toBe(reason));

  test.each<[string, ObservedNode]>([
    ['a taint that the class tolerates', node('a').tainted({ key: 'ours', effect: 'NoSchedule' })],
    ['a taint that only advises', node('a').tainted({ key: 'k', effect: 'PreferNoSchedule' })],
    ['the mark of a holder', node('a').tainted({ key: HOLDER_TAINT, effect: 'NoSchedule' })],
  ])('may hold one in spite of %s', (_, given) => expect(why(given)).toBeNull());
});

test('a node without a providerID may hold an address where the provider asks for none, and goes by its name', () => {
  const nodes = [node('a').withProviderID(''), node('b')];
  const rules = { ...RULES, providerIDPrefix: '' };
  for (const each of nodes) expect(unfit(each, new Set(['a', 'b']), rules)).toBeNull();
  const { matching } = servingStandings(nodes, service(['a', 'b']), rules);
  expect(matching.map(({ name, providerID }) => [name, providerID])).toEqual([
    ['a', 'a'],
    ['b', node('b').providerID],
  ]);
});

describe('the nodes of a Service', () => {
  const names = (list: readonly { readonly name: string }[]): readonly string[] => list.map(({ name }) => name);

  test('match where a ready endpoint is, and leave when they are cordoned', () => {
    const { matching, leaving, failing } = servingStandings(
      [node('b'), node('a'), node('c').cordoned(), node('d')],
      service(['a', 'b', 'c']),
      RULES,
    );
    expect([names(matching), names(leaving), names(failing)]).toEqual([['a', 'b'], ['c'], []]);
  });

  test('are none while no endpoint is ready, or there is no such Service', () => {
    expect(servingStandings([node('a')], service(['a'], false), RULES).matching).toEqual([]);
    expect(servingStandings([node('a')], null, RULES).matching).toEqual([]);
  });

  test('may come back within the grace of the class when they are not Ready, whatever became of their endpoints; not when they are cordoned', () => {
    const nodes = [
      node('a').notReady(),
      node('b').notReady().cordoned(),
      node('c')
        .notReady()
        .labelled({ [EXCLUDED]: '' }),
    ];
    expect(names(servingStandings(nodes, service([]), { ...RULES, graceMs: 1 }).failing)).toEqual(['a']);
  });
});

describe('a Service', () => {
  test.each(['ClusterIP', 'NodePort', 'LoadBalancer'])('of type %s can be exposed', (type) =>
    expect(unsupported({ ...service([]), type })).toBeNull(),
  );
  test('of type ExternalName cannot', () => expect(unsupported({ ...service(['a']), type: 'ExternalName' })).toContain('ExternalName'));
  test('without a selector cannot, and has no nodes', () => {
    const bare = { ...service(['a']), hasSelector: false };
    expect(unsupported(bare)).toContain('no selector');
    expect(servingStandings([node('a')], bare, RULES).matching).toEqual([]);
  });
});
