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

  describe('a node that has as many addresses as it may hold is refused, whoever has them', () => {
    const OF_CLASS = { kind: 'ClusterRoutedIPClass', name: 'c', provider: 'digitalocean' };
    const OF_ISSUER = { kind: 'RoutedIPIssuer', name: 'i', provider: 'digitalocean@web.token' };
    const OF_JOBS = { kind: 'ClusterRoutedIPClass', name: 'http', provider: 'job.http' };
    const mine = (by: object) => routedIP('shop', { routedIP: ADDRESS, state: 'Unassigned', class: by });
    /** A RoutedIP that is on the node, or on its way to it. */
    const other = (digit: number, on: object, by: object, metadata = {}) =>
      routedIP(`other-${digit}`, { routedIP: `203.0.113.${digit}`, ...on, class: by }, metadata);
    const everywhere = ['a', 'd', 'e', 'f', 'g'].map((name) => ({ node: name, ready: true, pod: null }));
    const more = (perNodeIPLimit?: number): Partial<ClusterFacts> => ({
      service: async () => ({ type: 'ClusterIP', hasSelector: true, ports: [], endpoints: everywhere }),
      routedIPClass: async (name) => ({
        className: name === 'http' ? 'example.com/http' : 'digitalocean.com/floating-ip',
        ...(perNodeIPLimit !== undefined && { perNodeIPLimit }),
      }),
    });
    const rows = (text: string) => text.split('\n').flatMap((line) => (/^[adefg] {3}/.test(line) ? line.replaceAll(/ +/g, ' ') : []));

    test('a RoutedIP sees those of pools and of other RoutedIPs, and its class does not widen the limit of a cloud', async () => {
      const ips = { '203.0.113.8': { state: 'active', nodeName: 'a' }, '2001:db8::8': { state: 'active', nodeName: 'g' } };
      const found = await explained(
        {
          [POOLS]: [ingress({ ips })],
          [ROUTED_IPS]: [
            mine(OF_CLASS),
            other(1, { electedNode: 'd' }, OF_CLASS),
            other(2, { assignedNode: 'e' }, OF_JOBS),
            other(3, { assignedNode: 'f' }, OF_ISSUER),
          ],
        },
        more(2),
      );
      expect(rows(found.text)).toEqual([
        'a refused it has as many addresses as it may hold: 203.0.113.8 of floatingippool/ingress in default',
        'd refused it has as many addresses as it may hold: 203.0.113.1 of routedip/other-1 in web',
        'e free -',
        'f free -',
        'g free -',
      ]);
    });

    test('a pool sees those of RoutedIPs and of other pools', async () => {
      const found = await explained({
        [POOLS]: [
          ingress({ ips: { [ADDRESS]: { state: 'unassigned' }, '203.0.113.8': { state: 'active', nodeName: 'a' } }, nodeErrors: [] }),
          pool('second', { ips: { '203.0.113.7': { state: 'in-progress', electedNode: 'd' } } }),
        ],
        [ROUTED_IPS]: [other(1, { assignedNode: 'f' }, OF_CLASS), other(2, { assignedNode: 'g' }, OF_ISSUER)],
      });
      expect(rows(found.text).filter((row) => !row.startsWith('e'))).toEqual([
        'a refused 203.0.113.8 is on it, or on its way to it',
        'd refused it has as many addresses as it may hold: 203.0.113.7 of floatingippool/second in default',
        'f refused it has as many addresses as it may hold: 203.0.113.1 of routedip/other-1 in web',
        'g free -',
      ]);
    });

    test('by Jobs there may be as many as the class says', async () => {
      const answers = {
        [POOLS]: [ingress({ ips: { '203.0.113.8': { state: 'active', nodeName: 'a' } } })],
        [ROUTED_IPS]: [
          mine(OF_JOBS),
          other(1, { assignedNode: 'a' }, OF_JOBS),
          other(2, { assignedNode: 'd' }, OF_JOBS),
          other(3, { electedNode: 'd', assignedNode: 'a' }, OF_JOBS, { namespace: 'other' }),
        ],
      };
      const full = (...which: readonly string[]) => expect.stringContaining(`it has as many addresses as it may hold: ${which.join(', ')}`);
      const first = '203.0.113.1 of routedip/other-1 in web';
      const second = '203.0.113.2 of routedip/other-2 in web';
      const third = '203.0.113.3 of routedip/other-3 in other';
      expect(rows((await explained(answers, more(2))).text).slice(0, 2)).toEqual([full(first, third), full(second, third)]);
      const room = expect.stringMatching(/ free -$/);
      expect(rows((await explained(answers, more(3))).text).slice(0, 2)).toEqual([room, room]);
    });

    test('those of issuers are counted within their namespace', async () => {
      const found = await explained(
        {
          [POOLS]: [ingress({ ips: { '203.0.113.8': { state: 'active', nodeName: 'a' } } })],
          [ROUTED_IPS]: [
            mine(OF_ISSUER),
            other(1, { assignedNode: 'd' }, OF_ISSUER),
            other(2, { assignedNode: 'e' }, OF_ISSUER, { namespace: 'other' }),
          ],
        },
        more(),
      );
      expect(rows(found.text).slice(0, 3)).toEqual([
        'a free -',
        'd refused it has as many addresses as it may hold: 203.0.113.1 of routedip/other-1 in web',
        'e free -',
      ]);
    });
  });

  test.each([
    ['of the one that has it', { state: 'no-match', providerID: 'digitalocean://e' }, 'nyc3', 'ams3'],
    ['of its pool while none has', { state: 'unassigned' }, 'ams3', 'nyc3'],
  ])('an address goes to nodes of the region %s', async (_, ip, there, elsewhere) => {
    const nodes = async () => [node('e', { region: 'ams3', ready: false }), node('h', { region: there })];
    const found = await explained({ [POOLS]: [ingress({ ips: { [ADDRESS]: ip } })] }, { nodes });
    expect(found.text).toMatch(new RegExp(`^h +refused +it is in region ${there}, not in ${elsewhere}$`, 'm'));
  });

  test('a RoutedIP goes to nodes of the region of its class, and one that was found on a node holds it', async () => {
    const by = { kind: 'ClusterRoutedIPClass', name: 'c', provider: 'digitalocean' };
    const wanted = async (status: object) =>
      (
        await explained(
          { [ROUTED_IPS]: [routedIP('shop', { routedIP: ADDRESS, state: 'Unassigned', class: by, ...status })] },
          {
            nodes: async () => [node('a'), node('e', { region: 'ams3' })],
            service: async () => ({
              type: 'ClusterIP',
              hasSelector: true,
              ports: [],
              endpoints: ['a', 'e'].map((name) => ({ node: name, ready: true, pod: null })),
            }),
            routedIPClass: async () => ({ className: 'digitalocean.com/floating-ip', region: 'nyc3' }),
          },
        )
      ).text;
    expect(await wanted({})).toMatch(/^e +refused +it is in region ams3, not in nyc3$/m);
    expect(await wanted({ providerID: 'digitalocean://a' })).toMatch(/^a +holds it +-$/m);
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

  test('who may not see the whole cluster is shown what there is of one namespace, and told so', async () => {
    const mine = routedIP('shop', { routedIP: ADDRESS, state: 'Unassigned' });
    const made = world(
      {
        [POOLS]: 'you may not list floatingippools: …',
        [ROUTED_IPS]: [mine],
        [POOLS.replace(/(?=[a-z]+$)/, 'namespaces/web/')]: [],
        [ROUTED_IPS.replace(/(?=[a-z]+$)/, 'namespaces/web/')]: [mine],
      },
      { facts: facts(), namespace: 'web' },
    );
    await explain(made.session, { address: ADDRESS });
    expect(made.out()).toContain(`${ADDRESS} of routedip/shop in web`);
    expect(made.problems[0]).toBe('what other namespaces have on the nodes is not seen: you may not list floatingippools: …');
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
