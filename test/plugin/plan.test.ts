import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { ObservedNode } from '../../machines/model/types.ts';
import { plan } from '../../plugin/plan.ts';
import { type ClusterFacts, EXIT } from '../../plugin/ports.ts';
import { node } from '../support/world.ts';
import { at, NO_FACTS, POOLS, RECORD_SETS, ROUTED_IPS, world } from './support.ts';

const CLASSES = '/apis/routedip.io/v1alpha1/clusterroutedipclasses';
const [ONE, TWO] = ['198.51.100.1', '198.51.100.2'];
const on = (name: string) => ({
  state: 'active',
  machineState: 'Stable',
  nodeName: name,
  providerID: `digitalocean://${name}`,
  origin: 'Found',
});

const ingress = (spec: object, ips: object, name = 'ingress') => ({
  metadata: { name, namespace: 'default', uid: `uid-${name}`, generation: 1, creationTimestamp: at(-1000) },
  spec: { provider: 'digitalocean', region: 'nyc3', match: { nodeLabel: 'pool=work' }, ...spec },
  status: { ips },
});

const manifest = (kind: string, name: string, spec: object, apiVersion = 'flipop.digitalocean.com/v1alpha1') =>
  stringify({ apiVersion, kind, metadata: { name }, spec });

const NODES = [node('a'), node('b'), node('c', { labels: { pool: 'other' } })];

interface Stage {
  readonly answers: Readonly<Record<string, unknown>>;
  readonly nodes?: readonly ObservedNode[];
  readonly facts?: Partial<ClusterFacts>;
}

async function planned({ answers, nodes = NODES, facts = {} }: Stage, content: string) {
  const made = world(answers, {
    read: () => content,
    namespace: 'default',
    facts: { ...NO_FACTS, nodes: async () => nodes, ...facts },
  });
  const code = await plan(made.session, { file: 'x.yaml' });
  expect(made.patches).toEqual([]);
  return { code, text: made.out() };
}

describe('kubectl routedip plan', () => {
  const stands = { [POOLS]: [ingress({ ips: [ONE] }, { [ONE]: on('a') })] };

  test('a manifest that changes nothing moves nothing', async () => {
    const same = manifest('FloatingIPPool', 'ingress', {
      provider: 'digitalocean',
      region: 'nyc3',
      match: { nodeLabel: 'pool=work' },
      ips: [ONE],
    });
    expect(await planned({ answers: stands }, same)).toEqual({
      code: EXIT.ok,
      text: 'Nothing would move if FloatingIPPool default/ingress were applied.',
    });
  });

  test('other nodes: the address moves; one more address is assigned, one that is taken out is left where it is', async () => {
    const moved = manifest('FloatingIPPool', 'ingress', {
      provider: 'digitalocean',
      region: 'nyc3',
      match: { nodeLabel: 'pool=other' },
      ips: [ONE],
    });
    const found = await planned({ answers: stands }, moved);
    expect(`\n${found.text}\n`).toBe(`
If FloatingIPPool default/ingress were applied, within 15m:

WHAT   OF             FROM   TO
move   198.51.100.1   a      c
`);
    expect(found.code).toBe(EXIT.attention);
    const other = manifest('FloatingIPPool', 'ingress', {
      provider: 'digitalocean',
      region: 'nyc3',
      match: { nodeLabel: 'pool=work' },
      ips: [TWO],
    });
    const { text } = await planned({ answers: stands }, other);
    expect(text).toMatch(/^assign +198\.51\.100\.2 +- +b$/m);
    expect(text).toMatch(/^leave +198\.51\.100\.1 +a +a$/m);
  });

  test('a new pool creates its addresses, and one that cannot be served says why', async () => {
    const spec = { provider: 'digitalocean', region: 'nyc3', match: { nodeLabel: 'pool=work' } };
    const created = await planned({ answers: stands }, manifest('FloatingIPPool', 'more', { ...spec, desiredIPs: 1 }));
    expect(created.text).toMatch(/^create +a new address +- +b$/m);
    const crowded = await planned({ answers: stands }, manifest('FloatingIPPool', 'more', { ...spec, ips: [TWO, '198.51.100.3'] }));
    expect(crowded.text).toContain('FloatingIPPool default/more: NoEligibleNode: ');
    const wrong = await planned({ answers: stands }, manifest('FloatingIPPool', 'ingress', { ...spec, provider: 'nimbus', ips: [ONE] }));
    expect([wrong.text, wrong.code]).toEqual([expect.stringContaining('InvalidSpec: unknown provider "nimbus"'), EXIT.attention]);
    expect(wrong.text).not.toMatch(/^move/m);
  });

  test('what is about to happen anyway is told apart', async () => {
    const failing = { answers: stands, nodes: [node('a', { ready: false }), node('b'), node('c', { labels: { pool: 'other' } })] };
    const moved = manifest('FloatingIPPool', 'ingress', {
      provider: 'digitalocean',
      region: 'nyc3',
      match: { nodeLabel: 'pool=other' },
      ips: [ONE],
    });
    const { text } = await planned(failing, moved);
    expect(text).toMatch(/^move +198\.51\.100\.1 +b +c$/m);
    expect(text.split('Without it, the operator is about to do this:')[1]).toMatch(/^move +198\.51\.100\.1 +a +b$/m);
  });

  test('what takes its time all the same is no consequence of the manifest', async () => {
    const [nodes, ips] = [
      [node('a'), node('b'), node('d')],
      [ONE, TWO, '198.51.100.3'],
    ];
    const slow = { ips, assignmentCoolOffSeconds: 120 };
    const standing = { answers: { [POOLS]: [ingress(slow, { [ONE]: on('a') })] }, nodes };
    const spec = { provider: 'digitalocean', region: 'nyc3', match: { nodeLabel: 'pool=work' }, ...slow };
    const same = await planned(standing, manifest('FloatingIPPool', 'ingress', spec));
    const [consequences, anyway] = same.text.split('Without it, the operator is about to do this:');
    expect([consequences?.trim(), same.code]).toEqual(['Nothing would move if FloatingIPPool default/ingress were applied.', EXIT.ok]);
    expect(anyway?.match(/^assign +198\.51\.100\.[23] +- +[bd]$/gm)).toHaveLength(2);
    const fewer = await planned(standing, manifest('FloatingIPPool', 'ingress', { ...spec, ips: [ONE, TWO] }));
    expect(fewer.text.split('Without it')[0]).toMatch(/^leave +198\.51\.100\.3 /m);
  });

  describe('goes by what the statuses remember: an address that is left alone', () => {
    const POOL = { provider: 'digitalocean', region: 'nyc3', match: { nodeLabel: 'pool=work' } };
    const SAME = 'Nothing would move if FloatingIPPool default/ingress were applied.';
    /** What is planned when the pool of this spec is applied as it stands, with this status, or with none. */
    const unchanged = async (spec: object, status: object, nodes: readonly ObservedNode[]) => {
      const object = { ...ingress(spec, {}), status };
      const { text } = await planned(
        { answers: { [POOLS]: [object] }, nodes },
        manifest('FloatingIPPool', 'ingress', { ...POOL, ...spec }),
      );
      return text;
    };
    const away = (name: string, seconds: number) => ({ name, providerID: `digitalocean://${name}`, notReadySince: at(seconds) });

    test('in a safe hold', async () => {
      const spec = { ips: [ONE, TWO], safeHold: { maxUnavailable: 1, windowSeconds: 300 } };
      const nodes = [node('a', { ready: false }), node('b', { ready: false }), node('d'), node('e')];
      const ips = { [ONE]: on('a'), [TWO]: on('b') };
      const held = { ips, term: 7, safeHold: { nodes: [away('a', -200), away('b', -100)] } };
      const text = await unchanged(spec, held, nodes);
      expect(text).toContain(`${SAME}\n\nWhat would be wrong then:\nFloatingIPPool default/ingress: SafeHold: `);
      expect(text).not.toMatch(/^(?:move|assign) /m);
      // The machine of a node that the cluster has no more is as good as there: the provider has not said that it is gone.
      expect(await unchanged(spec, held, nodes.slice(1))).toBe(text);
      // Nodes that served, and are not Ready by now, count as lost at once; without the hold both addresses leave them.
      expect(await unchanged(spec, { ips }, nodes)).not.toMatch(/^move /m);
      expect((await unchanged({ ips: [ONE, TWO] }, { ips }, nodes)).match(/^move /gm)).toHaveLength(2);
    });

    test('because somebody else moves it', async () => {
      const spec = { ips: [ONE], contention: { moves: 2, windowSeconds: 3600, takeover: 'Yield' } };
      const elsewhere = { ...on('a'), state: 'unassigned', nodeName: '', providerID: 'digitalocean://zzz' };
      const contended = { ips: { [ONE]: { ...elsewhere, contendedUntil: at(1800) } } };
      const text = await unchanged(spec, contended, [node('a'), node('d')]);
      expect(text).toContain(`${SAME}\n\nWhat would be wrong then:\nFloatingIPPool default/ingress: Contended: `);
      expect(text).not.toMatch(/^(?:move|assign) /m);
      expect(await unchanged(spec, { ips: { [ONE]: elsewhere } }, [node('a'), node('d')])).toMatch(/^move +198\.51\.100\.1 /m);
    });

    test('while its node has time to come back, of which a part is over', async () => {
      const spec = { ips: [ONE], recoveryGraceSeconds: 3600 };
      const nodes = [node('a', { ready: false }), node('d')];
      const since = (seconds: number) => ({ ips: { [ONE]: { ...on('a'), notReadySince: at(seconds) } } });
      expect(await unchanged(spec, since(-60), nodes)).toBe(SAME);
      const over = (await unchanged(spec, since(-3000), nodes)).split('Without it, the operator is about to do this:');
      expect([over[0]?.trim(), over[1]]).toEqual([SAME, expect.stringMatching(/^move +198\.51\.100\.1 +a +d$/m)]);
    });
  });

  test('a pool that is paused stays where it is', async () => {
    const [object] = stands[POOLS] ?? [];
    const paused = { ...object, metadata: { ...object?.metadata, annotations: { 'routedip.io/paused': 'true' } } };
    const moved = manifest('FloatingIPPool', 'ingress', {
      provider: 'digitalocean',
      region: 'nyc3',
      match: { nodeLabel: 'pool=other' },
      ips: [ONE],
    });
    expect((await planned({ answers: { [POOLS]: [paused] } }, moved)).text).not.toMatch(/^move/m);
    expect((await planned({ answers: stands }, moved)).text).toMatch(/^move/m);
  });

  test('records of DNS: what is published and withdrawn', async () => {
    const records = { zone: 'example.com', recordName: 'work' };
    const set = {
      metadata: { name: 'work', namespace: 'default', creationTimestamp: at(-5) },
      spec: { dnsRecordSet: records, match: { nodeLabel: 'pool=work' } },
    };
    const nodes = [
      node('a', { externalIPs: ['192.0.2.1' as never] }),
      node('c', { labels: { pool: 'other' }, externalIPs: ['192.0.2.3' as never] }),
    ];
    const { text } = await planned(
      { answers: { [RECORD_SETS]: [set] }, nodes },
      manifest('NodeDNSRecordSet', 'work', { dnsRecordSet: records, match: { nodeLabel: 'pool=other' } }),
    );
    expect(text).toMatch(/^withdraw +A work\.example\.com +192\.0\.2\.1 +-$/m);
    expect(text).toMatch(/^publish +A work\.example\.com +- +192\.0\.2\.3$/m);
  });

  describe('a RoutedIP that leads to another Service', () => {
    const CLASS = 'digitalocean.com/floating-ip';
    const GROUP = 'routedip.io/v1alpha1';
    const shop = {
      metadata: { name: 'shop', namespace: 'default', uid: 'u', creationTimestamp: at(-9), finalizers: ['routedip.io/finalizer'] },
      spec: { className: CLASS, serviceRef: { serviceName: 'old' } },
      status: { routedIP: ONE, assignedNode: 'a', providerID: 'digitalocean://a', addressOrigin: 'Created', state: 'Stable' },
    };
    /** What is planned when `shop`, of a class with `change`, is applied for the Service of that name. Without its address: one that was made keeps it all the same. */
    const applied = (name: string, change: object, service: ClusterFacts['service'], status: object = {}) => {
      const floating = {
        metadata: { name: 'floating' },
        spec: { className: CLASS, region: 'nyc3', fromSecretsRef: [{ name: 's' }], ...change },
      };
      const wanted = manifest('RoutedIP', 'shop', { className: CLASS, serviceRef: { serviceName: name } }, GROUP);
      return planned(
        { answers: { [ROUTED_IPS]: [{ ...shop, status: { ...shop.status, ...status } }], [CLASSES]: [floating] }, facts: { service } },
        wanted,
      );
    };
    const NOTHING = ['Nothing would move if RoutedIP default/shop were applied.', EXIT.ok];

    test('moves to where that has endpoints, with the address that it has', async () => {
      const service = async (_: string, name: string) => ({
        type: 'NodePort',
        hasSelector: true,
        ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 80, nodePort: 30_080 }],
        endpoints: [{ node: name === 'old' ? 'a' : 'b', ready: true, pod: null }],
      });
      const same = await applied('old', {}, service);
      expect([same.text, same.code]).toEqual(NOTHING);
      expect((await applied('new', {}, service)).text).toMatch(/^move +198\.51\.100\.1 +a +b$/m);
    });

    test('has other ports opened and closed when its class names a firewall', async () => {
      const service = async (_: string, name: string) => ({
        type: 'NodePort',
        hasSelector: true,
        ports: [{ name: 'web', port: 80, protocol: 'TCP', targetPort: 80, nodePort: name === 'old' ? 8080 : 8443 }],
        endpoints: [{ node: 'a', ready: true, pod: null }],
      });
      const edge = { routedIPFirewallName: 'edge' };
      const same = await applied('old', edge, service);
      expect([same.text, same.code]).toEqual(NOTHING);
      const other = await applied('new', edge, service);
      expect(other.text).toMatch(/^open +tcp\/8443 +- +firewall edge$/m);
      expect(other.text).toMatch(/^close +tcp\/8080 +firewall edge +-$/m);
      expect([other.text.match(/^(?:open|close|move)/gm), other.code]).toEqual([['open', 'close'], EXIT.attention]);
      const ports = [{ port: 8080, protocol: 'TCP' }];
      const opened = { ports, ownedRules: [{ provider: 'digitalocean', firewall: 'edge', ports, nodes: ['digitalocean://a'] }], term: 7 };
      expect((await applied('old', edge, service, opened)).text).toBe(NOTHING[0]);
      expect((await applied('new', edge, service, opened)).text).toBe(other.text);
    });
  });

  describe('a RoutedIP with the Service that it leads to', () => {
    const CLASS = 'digitalocean.com/floating-ip';
    const floating = { metadata: { name: 'floating' }, spec: { className: CLASS, region: 'nyc3', fromSecretsRef: [{ name: 's' }] } };
    const edge = { ...floating, spec: { ...floating.spec, routedIPFirewallName: 'edge' } };
    const service = (spec: object = { selector: { app: 'new' } }) =>
      manifest('Service', 'new', { type: 'NodePort', ports: [{ port: 80, nodePort: 8443 }], ...spec }, 'v1');
    const shop = manifest('RoutedIP', 'shop', { className: CLASS, serviceRef: { serviceName: 'new' } }, 'routedip.io/v1alpha1');
    const UNKNOWN =
      'What cannot be told yet:\nRoutedIP default/shop: where its address goes depends on the endpoints of Service default/new, which are not there yet';

    test('has no address created before it can be told where that goes, and nothing is wrong with that', async () => {
      const made = await planned({ answers: { [ROUTED_IPS]: [], [CLASSES]: [floating] } }, `${service()}---\n${shop}`);
      expect(made.text).not.toContain('a new address');
      expect(made.text.endsWith(`\n\n${UNKNOWN}`)).toBe(true);
      expect([made.text.includes('What would be wrong'), made.code]).toEqual([false, EXIT.attention]);
      const alone = await planned({ answers: { [ROUTED_IPS]: [], [CLASSES]: [floating] } }, shop);
      expect(alone.text).toContain('RoutedIP default/shop: ServiceNotFound: ');
      expect(alone.text).not.toContain('What cannot be told yet');
    });

    test('is told of a Service that cannot serve it', async () => {
      const { text } = await planned({ answers: { [ROUTED_IPS]: [], [CLASSES]: [floating] } }, `${shop}---\n${service({})}`);
      expect(text).toContain('RoutedIP default/shop: ServiceNotSupported: ');
      expect(text).not.toContain('What cannot be told yet');
    });

    test('keeps its address and its ports until then when it has them', async () => {
      const stands = {
        metadata: { name: 'shop', namespace: 'default', uid: 'u', creationTimestamp: at(-9), finalizers: ['routedip.io/finalizer'] },
        spec: { className: CLASS, serviceRef: { serviceName: 'old' } },
        status: { routedIP: ONE, assignedNode: 'a', providerID: 'digitalocean://a', addressOrigin: 'Created', state: 'Stable' },
      };
      const old = {
        type: 'NodePort',
        hasSelector: true,
        ports: [{ name: 'web', port: 80, protocol: 'TCP', targetPort: 80, nodePort: 8080 }],
        endpoints: [{ node: 'a', ready: true, pod: null }],
      };
      const facts = { service: async (_: string, name: string) => (name === 'old' ? old : null) };
      const { text, code } = await planned({ answers: { [ROUTED_IPS]: [stands], [CLASSES]: [edge] }, facts }, `${service()}---\n${shop}`);
      const nothing = 'As far as it can be told now, nothing would move if Service default/new, RoutedIP default/shop were applied.';
      expect([text, code]).toEqual([`${nothing}\n\n${UNKNOWN}`, EXIT.attention]);
    });
  });

  describe('a class', () => {
    const CLASS = 'digitalocean.com/floating-ip';
    const classOf = (spec: object) =>
      manifest(
        'ClusterRoutedIPClass',
        'floating',
        { className: CLASS, region: 'nyc3', fromSecretsRef: [{ name: 's' }], ...spec },
        'routedip.io/v1alpha1',
      );
    const shop = manifest('RoutedIP', 'shop', { className: CLASS, serviceRef: { serviceName: 'shop' } }, 'routedip.io/v1alpha1');
    const served = {
      type: 'NodePort',
      hasSelector: true,
      ports: [{ name: 'web', port: 80, protocol: 'TCP', targetPort: 80, nodePort: 8080 }],
      endpoints: [{ node: 'a', ready: true, pod: null }],
    };
    const facts = { service: async () => served };

    test('and a RoutedIP of it in one manifest, in either order: an address is created on the node that serves', async () => {
      const edge = classOf({ routedIPFirewallName: 'edge' });
      for (const content of [`${edge}---\n${shop}`, `${shop}---\n${edge}`]) {
        const { text } = await planned({ answers: { [ROUTED_IPS]: [], [CLASSES]: [] }, facts }, content);
        expect(text).toMatch(/^create +a new address +- +a$/m);
        expect(text).toMatch(/^open +tcp\/8080 +- +firewall edge$/m);
        expect(text).not.toContain('What would be wrong');
      }
    });

    test('that comes to name a firewall has the ports of its RoutedIPs opened there', async () => {
      const stands = {
        metadata: { name: 'shop', namespace: 'default', uid: 'u', creationTimestamp: at(-9), finalizers: ['routedip.io/finalizer'] },
        spec: { className: CLASS, serviceRef: { serviceName: 'shop' } },
        status: { routedIP: ONE, assignedNode: 'a', providerID: 'digitalocean://a', addressOrigin: 'Created', state: 'Stable' },
      };
      const floating = { metadata: { name: 'floating' }, spec: { className: CLASS, region: 'nyc3', fromSecretsRef: [{ name: 's' }] } };
      const answers = { [ROUTED_IPS]: [stands], [CLASSES]: [floating] };
      expect((await planned({ answers, facts }, classOf({}))).text).toBe(
        'Nothing would move if ClusterRoutedIPClass floating were applied.',
      );
      const { text } = await planned({ answers, facts }, classOf({ routedIPFirewallName: 'edge' }));
      expect(text).toMatch(/^open +tcp\/8080 +- +firewall edge$/m);
    });

    test('that shares its className with another one moves nobody that is served; a new RoutedIP is to say which one it means', async () => {
      const stands = {
        metadata: { name: 'has', namespace: 'default', uid: 'u', creationTimestamp: at(-9), finalizers: ['routedip.io/finalizer'] },
        spec: { className: CLASS, serviceRef: { serviceName: 'has' } },
        status: {
          ...{ routedIP: ONE, assignedNode: 'a', providerID: 'digitalocean://a', addressOrigin: 'Created', state: 'Stable' },
          class: { kind: 'ClusterRoutedIPClass', name: 'first', provider: 'digitalocean@routedip-operator.s' },
        },
      };
      const first = { metadata: { name: 'first' }, spec: { className: CLASS, region: 'nyc3', fromSecretsRef: [{ name: 's' }] } };
      const answers = { [ROUTED_IPS]: [stands], [CLASSES]: [first] };
      const second = classOf({ routedIPFirewallName: 'edge' });
      expect((await planned({ answers, facts }, second)).text).toBe('Nothing would move if ClusterRoutedIPClass floating were applied.');
      const { text, code } = await planned({ answers, facts }, `${second}---\n${shop}`);
      expect([text, code]).toEqual([expect.stringContaining('name one of them as className: first, floating'), EXIT.attention]);
      const named = shop.replace(`className: ${CLASS}`, 'className: floating');
      expect((await planned({ answers, facts }, `${second}---\n${named}`)).text).toMatch(/^create +a new address/m);
    });
  });

  test.each([
    ['', 'the manifest holds no object'],
    [
      'kind: IP\nmetadata: {name: 192.0.2.1}',
      'IP 192.0.2.1 cannot be planned: only FloatingIPPool, RoutedIP, NodeDNSRecordSet, ClusterRoutedIPClass, RoutedIPIssuer, IPGroup, Service can',
    ],
    ['kind: IPGroup\nspec: {}', 'an object of kind IPGroup in the manifest has no name'],
    ['kind: FloatingIPPool\nspec: {}', 'an object of kind FloatingIPPool in the manifest has no name'],
    ['kind: [', 'Flow sequence'],
  ])('refuses %j', async (content, why) => {
    await expect(planned({ answers: {} }, content)).rejects.toThrow(why);
  });
});
