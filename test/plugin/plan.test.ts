import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { ObservedNode } from '../../machines/types.ts';
import { plan } from '../../plugin/plan.ts';
import { type ClusterFacts, EXIT } from '../../plugin/ports.ts';
import { node } from '../support/world.ts';
import { at, POOLS, RECORD_SETS, ROUTED_IPS, world } from './support.ts';

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
    facts: { nodes: async () => nodes, pods: async () => [], service: async () => null, tolerations: async () => [], ...facts },
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

  test('a RoutedIP that leads to another Service moves to where that has endpoints, with the address that it has', async () => {
    const CLASS = 'digitalocean.com/floating-ip';
    const GROUP = 'routedip.io/v1alpha1';
    const floating = { metadata: { name: 'floating' }, spec: { className: CLASS, region: 'nyc3', fromSecretsRef: [{ name: 's' }] } };
    const shop = {
      metadata: { name: 'shop', namespace: 'default', uid: 'u', creationTimestamp: at(-9), finalizers: ['routedip.io/finalizer'] },
      spec: { className: CLASS, serviceRef: { serviceName: 'old' } },
      status: { routedIP: ONE, assignedNode: 'a', providerID: 'digitalocean://a', addressOrigin: 'Created', state: 'Stable' },
    };
    const service = async (_: string, name: string) => ({
      type: 'NodePort',
      hasSelector: true,
      ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 80, nodePort: 30_080 }],
      endpoints: [{ node: name === 'old' ? 'a' : 'b', ready: true, pod: null }],
    });
    const answers = { [ROUTED_IPS]: [shop], [CLASSES]: [floating] };
    // Without its address: one that was made keeps it all the same.
    const change = (name: string) => manifest('RoutedIP', 'shop', { className: CLASS, serviceRef: { serviceName: name } }, GROUP);
    const same = await planned({ answers, facts: { service } }, change('old'));
    expect([same.text, same.code]).toEqual(['Nothing would move if RoutedIP default/shop were applied.', EXIT.ok]);
    expect((await planned({ answers, facts: { service } }, change('new'))).text).toMatch(/^move +198\.51\.100\.1 +a +b$/m);
  });

  test('a RoutedIP of a class with a firewall: ports that would be opened and closed', async () => {
    const CLASS = 'digitalocean.com/floating-ip';
    const floating = {
      metadata: { name: 'floating' },
      spec: { className: CLASS, region: 'nyc3', fromSecretsRef: [{ name: 's' }], routedIPFirewallName: 'edge' },
    };
    const shop = {
      metadata: { name: 'shop', namespace: 'default', uid: 'u', creationTimestamp: at(-9), finalizers: ['routedip.io/finalizer'] },
      spec: { className: CLASS, serviceRef: { serviceName: 'old' } },
      status: { routedIP: ONE, assignedNode: 'a', providerID: 'digitalocean://a', addressOrigin: 'Created', state: 'Stable' },
    };
    const service = async (_: string, name: string) => ({
      type: 'NodePort',
      hasSelector: true,
      ports: [{ name: 'web', port: 80, protocol: 'TCP', targetPort: 80, nodePort: name === 'old' ? 8080 : 8443 }],
      endpoints: [{ node: 'a', ready: true, pod: null }],
    });
    const answers = { [ROUTED_IPS]: [shop], [CLASSES]: [floating] };
    const change = (name: string) =>
      manifest('RoutedIP', 'shop', { className: CLASS, serviceRef: { serviceName: name } }, 'routedip.io/v1alpha1');
    const same = await planned({ answers, facts: { service } }, change('old'));
    expect([same.text, same.code]).toEqual(['Nothing would move if RoutedIP default/shop were applied.', EXIT.ok]);
    const other = await planned({ answers, facts: { service } }, change('new'));
    expect(other.text).toMatch(/^open +tcp\/8443 +- +firewall edge$/m);
    expect(other.text).toMatch(/^close +tcp\/8080 +firewall edge +-$/m);
    expect([other.text.match(/^(?:open|close|move)/gm), other.code]).toEqual([['open', 'close'], EXIT.attention]);
  });

  test.each([
    ['', 'the manifest holds no object'],
    [
      'kind: IPGroup\nmetadata: {name: x}',
      'IPGroup x cannot be planned: only FloatingIPPool, RoutedIP, NodeDNSRecordSet can; Services, and',
    ],
    ['kind: Service\nmetadata: {name: x}', 'Service x cannot be planned: only FloatingIPPool, RoutedIP, NodeDNSRecordSet can'],
    ['kind: FloatingIPPool\nspec: {}', 'a FloatingIPPool in the manifest has no name'],
    ['kind: [', 'Flow sequence'],
  ])('refuses %j', async (content, why) => {
    await expect(planned({ answers: {} }, content)).rejects.toThrow(why);
  });
});
