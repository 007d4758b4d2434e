import { describe, expect, test } from 'vitest';
import { explain } from '../../plugin/explain.ts';
import { type ClusterFacts, EXIT, Refused } from '../../plugin/ports.ts';
import { node, pod as podOn } from '../support/world.ts';
import { at, condition, NO_FACTS, POOLS, pool, ROUTED_IPS, routedIP, world } from './support.ts';

const ADDRESS = '203.0.113.9';

const facts = (change: Partial<ClusterFacts> = {}): ClusterFacts => ({
  ...NO_FACTS,
  nodes: async () => [
    node('a'),
    node('b', { ready: false }),
    node('c', { taints: [{ key: 'dedicated', effect: 'NoSchedule' }] }),
    node('d'),
    node('e', { region: 'ams3' }),
    node('f'),
    node('g'),
    node('other', { labels: {} }),
  ],
  ...change,
});

const ingress = (status: object) =>
  pool(
    'ingress',
    { nodeErrors: ['f'], ...status },
    { spec: { provider: 'digitalocean', region: 'nyc3', match: { nodeLabel: 'pool=work' } } },
  );

const explained = async (answers: Readonly<Record<string, unknown>>, more: Partial<ClusterFacts> = {}) => {
  const made = world(answers, { facts: facts(more) });
  const code = await explain(made.session, { address: ADDRESS });
  return { code, text: made.out(), problems: made.problems };
};

describe('kubectl routedip explain', () => {
  test('says of every node of the pool why it is not the one', async () => {
    const found = await explained({
      [POOLS]: [
        ingress({
          ips: { [ADDRESS]: { state: 'active', nodeName: 'a', machineState: 'Stable' }, '203.0.113.8': { state: 'active', nodeName: 'd' } },
          lastAssignmentTime: at(-300),
        }),
      ],
    });
    expect(`\n${found.text}\n`).toBe(`
203.0.113.9 of floatingippool/ingress in default

NAMESPACE   OBJECT                   ADDRESS       WHERE   STATE    SINCE   WHY        NEXT
default     floatingippool/ingress   203.0.113.9   a       active   5m+     Assigned   -

NODE   VERDICT    WHY
a      holds it   -
b      refused    the Node is not Ready
c      refused    its taint dedicated:NoSchedule is not tolerated
d      refused    203.0.113.8 is on it, or on its way to it
e      refused    it is in region ams3, not in nyc3
f      refused    left alone for a while after a failure
g      free       -
`);
    // The journal is not served here: that is said, and is no failure.
    expect([found.code, found.problems]).toEqual([EXIT.ok, [expect.stringContaining('the operator does not serve its journal')]]);
  });

  test('of one that is about to move, or cannot', async () => {
    const degraded = [
      condition('Ready', 'False', 'NoEligibleNode', 'x'),
      condition('Degraded', 'True', 'NoEligibleNode', 'no eligible node is free'),
    ];
    const found = await explained({
      [POOLS]: [ingress({ ips: { [ADDRESS]: { state: 'no-match', nodeName: 'b', electedNode: 'g' } }, conditions: degraded })],
    });
    expect(found.text).toMatch(/^b +refused +holds it still; the Node is not Ready$/m);
    expect(found.text).toMatch(/^g +elected +-$/m);
    expect(found.code).toBe(EXIT.attention);
  });

  test('a RoutedIP goes by the endpoints of its Service, and by what its class tolerates', async () => {
    const shop = routedIP('shop', {
      routedIP: ADDRESS,
      assignedNode: 'a',
      state: 'Stable',
      class: { kind: 'ClusterRoutedIPClass', name: 'c' },
    });
    const endpoint = (name: string) => ({ node: name, ready: true, pod: null });
    const service = { type: 'ClusterIP', hasSelector: true, ports: [], endpoints: [endpoint('a'), endpoint('c')] };
    const tolerations = [{ key: 'dedicated', operator: 'Exists', value: '', effect: '' }];
    const found = await explained(
      { [ROUTED_IPS]: [shop] },
      {
        service: async () => service,
        routedIPClass: async () => ({ className: 'digitalocean.com/floating-ip', tolerations }),
      },
    );
    expect(found.text).toMatch(/^a +holds it +-$/m);
    expect(found.text).toMatch(/^c +free +-$/m);
    expect(found.text).toMatch(/^d +refused +no ready endpoint of the Service is on it$/m);
  });

  test.each([
    ['example.com/http', /^n +free +-$/m],
    ['digitalocean.com/floating-ip', /^n +refused +the Node has no spec\.providerID yet$/m],
  ])('a RoutedIP of the class %s has a node without a providerID judged by it', async (className, verdict) => {
    const shop = routedIP('shop', { routedIP: ADDRESS, state: 'Unassigned', class: { kind: 'ClusterRoutedIPClass', name: 'c' } });
    const service = { type: 'ClusterIP', hasSelector: true, ports: [], endpoints: [{ node: 'n', ready: true, pod: null }] };
    const found = await explained(
      { [ROUTED_IPS]: [shop] },
      {
        nodes: async () => [node('n', { providerID: '' })],
        service: async () => service,
        routedIPClass: async () => ({ className }),
      },
    );
    expect(found.text).toMatch(verdict);
  });

  test('a pool that asks for Pods goes by them', async () => {
    const spec = { match: { nodeLabel: 'pool=work', podNamespace: 'ingress', podLabel: 'app=nginx' } };
    const asked: (string | null)[] = [];
    const pods = async (namespace: string | null) => {
      asked.push(namespace);
      return [podOn('p', 'g')];
    };
    const found = await explained({ [POOLS]: [pool('ingress', { ips: { [ADDRESS]: { state: 'unassigned' } } }, { spec })] }, { pods });
    expect(found.text).toMatch(/^a +refused +no matching Pod is Ready on it$/m);
    expect(found.text).toMatch(/^g +free +-$/m);
    expect(asked).toEqual(['ingress']);
  });

  test('shows the rest when nodes may not be read, says so, and ends with 1', async () => {
    const nodes = async () => {
      throw new Refused('you may not list nodes: …');
    };
    const found = await explained({ [POOLS]: [ingress({ ips: { [ADDRESS]: { state: 'active', nodeName: 'a' } } })] }, { nodes });
    expect(found.text).toContain('floatingippool/ingress');
    expect(found.problems).toContain('you may not list nodes: …');
    expect(found.code).toBe(EXIT.failed);
  });

  test('says who else lists the address', async () => {
    const ips = { [ADDRESS]: { state: 'error', error: 'it belongs to another pool' } };
    const older = ingress({ ips: { [ADDRESS]: { state: 'active', nodeName: 'a', machineState: 'Stable' } } });
    const found = await explained({ [POOLS]: [pool('newer', { ips }), older] });
    expect(found.text.split('\n').slice(0, 2)).toEqual([
      `${ADDRESS} of floatingippool/ingress in default`,
      `floatingippool/newer in default lists ${ADDRESS} too.`,
    ]);
  });
});
