import { beforeAll, describe, expect, test } from 'vitest';
import { CLASS_NAME, FIREWALL, type Routed, routedStageOnce } from '../e2e/routed.ts';
import { listedBy, type ServiceObject } from '../e2e/vip-objects.ts';
import { ATTACKS, type AttackKind, issuer, KINDS, MEANS, type Means, PORTS_OF_THE_NODE, type Victim } from '../hostile/attacks.ts';
import { EVIL, Tenant } from '../hostile/tenant.ts';
import type { Operator } from '../support/operator.ts';

const NODES = ['a', 'b', 'c', 'd', 'e', 'f'];
const ZONE = 'example.com';
const NAME = 'web';
const LISTED = '203.0.113.7';
/** A failover may take so much longer after all attacks than before any, ms. */
const LONGER_MS = 5_000;

/** Which of the means make a difference. */
const meansOf = (kind: AttackKind): readonly Means[] => {
  if (/^a RoutedIP|^it is to be/.test(kind)) return MEANS;
  return /^an issuer|Secret/.test(kind) ? ['operator', 'refused'] : ['class'];
};

describe('somebody who may edit everything in a namespace of his own', () => {
  const routed = routedStageOnce();
  const held: { operator?: Operator; tenant?: Tenant; victim?: Victim; failoverMs?: number; before?: unknown } = {};

  const operator = (): Operator => held.operator ?? expect.unreachable('the operator runs');
  const tenant = (): Tenant => held.tenant ?? expect.unreachable('there is an attacker');

  /** All that the others have, as far as it is to be seen. */
  async function shown({ stage, status, firewall, taints }: Routed): Promise<unknown> {
    const { routedIP, assignedNode, state } = (await status('shop')) ?? {};
    const { ips } = (await stage.getPool('ingress')).status ?? {};
    const service = (await stage.target.client.get({ apiVersion: 'v1', kind: 'Service', namespace: 'default', name: 'lb' })) as unknown;
    return {
      routed: { routedIP, assignedNode, state },
      pool: { on: ips?.[LISTED]?.nodeName, state: ips?.[LISTED]?.state, at: stage.heldBy(LISTED) },
      taints: await taints(assignedNode ?? ''),
      ports: firewall().ports.filter((port) => ['tcp/30080', 'tcp/22'].includes(port)),
      isCovered: firewall().nodes.includes(assignedNode ?? ''),
      ofTheNode: firewall().ports.filter((port) => PORTS_OF_THE_NODE.includes(Number(port.slice(4))) && port !== 'tcp/22'),
      names: [...(stage.cloud.state.domains.get(ZONE)?.records.values() ?? [])]
        .filter(({ type }) => type === 'A')
        .map(({ name, data }) => `${name} ${data}`),
      balanced: listedBy(service as ServiceObject),
    };
  }

  /** Has the node of the RoutedIP fail; answers how long the address was on no Ready one, ms. */
  async function failover(world: Routed): Promise<number> {
    const { assignedNode = '', routedIP = '' } = (await world.status('shop')) ?? {};
    const begun = Date.now();
    await world.stage.notReady(assignedNode);
    await world.stage.until('it is on another node', () => ![null, assignedNode].includes(world.stage.heldBy(routedIP)));
    const took = Date.now() - begun;
    await world.stage.ready(assignedNode);
    await world.stage.until('it is stable there', async () => {
      const now = await world.status('shop');
      return now?.state === 'Stable' && now.assignedNode !== assignedNode;
    });
    return took;
  }

  /** Whatever was asked for before has been seen. */
  async function heard(world: Routed, name: string): Promise<void> {
    await world.routedIP(name, { className: 'no/such' });
    await world.stage.until('the operator has come so far', async () => (await world.condition(name))?.status === 'True');
    await world.deleteRoutedIP(name);
  }

  beforeAll(async () => {
    const world = routed();
    const { stage } = world;
    await world.addFirewall();
    await world.setClass('floating');
    await stage.nodes(...NODES);
    await world.service('shop', NODES);
    stage.cloud.setTokens(['test-token-0123456789']);
    const headers = { authorization: 'Bearer test-token-0123456789', 'content-type': 'application/json' };
    await fetch(`${stage.cloud.url}/v2/domains`, { method: 'POST', headers, body: JSON.stringify({ name: ZONE }) });
    stage.cloud.addReservedIP({ ip: LISTED, region: 'nyc3' });
    const outside = stage.cloud.addReservedIP({
      region: 'nyc3',
      dropletId: stage.cloud.addDroplet({ name: 'elsewhere', region: 'nyc3' }).id,
    }).ip;
    await stage.pool('ingress', { ips: [LISTED], dnsRecordSet: { zone: ZONE, recordName: NAME } });
    await world.put({
      apiVersion: 'paas.org/v1',
      kind: 'IPGroup',
      metadata: { name: 'group' },
      spec: { segment: '10.0.0.0/30', excludedIPs: ['10.0.0.0'] },
    });
    await world.put({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'lb', namespace: 'default' },
      spec: { type: 'LoadBalancer', selector: { app: 'ingress' }, ports: [{ port: 80 }] },
    });
    held.tenant = new Tenant(stage.target, NODES);
    await held.tenant.open();
    held.operator = await stage.start({ flags: ['--admission=off'] });
    await world.routedIP('shop');
    const address = await world.stable('shop');
    await stage.until('the pool is served', async () => (await stage.activeOn('ingress', LISTED)) !== null);
    await stage.until('the Service is', async () => JSON.stringify(await shown(world)).includes('10.0.0.1'));
    await stage.until('its name is published', async () => JSON.stringify(await shown(world)).includes(`${NAME} ${LISTED}`));
    held.failoverMs = await failover(world);
    held.victim = {
      address,
      outside,
      zone: ZONE,
      recordName: NAME,
      balanced: '10.0.0.1',
      node: 'f',
      firewall: FIREWALL,
      className: CLASS_NAME,
      cloud: 'digitalocean',
    };
    held.before = await shown(world);
  });

  test('is refused the status, other namespaces, Nodes, the label of his Namespace, what the operator keeps, and all kinds that spend its token', async () => {
    const refused = [403, 403, 403, 403, 403, 403, 403];
    expect(await tenant().reach()).toEqual(refused);
    for (const kind of ['RoutedIPIssuer', 'FloatingIPPool', 'NodeDNSRecordSet'] as const)
      expect(await tenant().apply(kind, 'any', {})).toBe(403);
    await tenant().grant();
    // The API server hears of a role a moment after it has stored it.
    for (const by of MEANS.filter((each) => each !== 'class'))
      await routed().stage.until(
        'he may',
        async () => (await tenant().apply('RoutedIPIssuer', by, issuer({ cloud: 'digitalocean' }, by))) !== 403,
      );
    // By the class for all he is served as anybody: what his Service wants is opened, as far as the class lets it.
    await tenant().apply('RoutedIP', 'own', { className: CLASS_NAME, serviceRef: { serviceName: 'any' } });
    await routed().stage.until('he has an address of his own', () => routed().firewall().ports.includes('tcp/9999'));
    held.before = await shown(routed());
  });

  test.each(KINDS.flatMap((kind) => meansOf(kind).map((by) => [kind, by] as const)))(
    'does nothing to others: %s (%s)',
    async (kind, by) => {
      const world = routed();
      const { victim } = held;
      if (!victim) throw new Error('there is nobody to attack');
      for (const each of ['refused', 'foreign']) await tenant().secret(each, { token: `dop_v1_of_${each}_0123456789` });
      const since = tenant().answers.length;
      for (const address of [victim.address, LISTED])
        await ATTACKS[kind](tenant(), { ...victim, address }, { object: address === LISTED ? 1 : 0, by });
      await heard(world, `probe-${KINDS.indexOf(kind)}-${by}`);
      await expect.poll(() => shown(world), { timeout: 10_000 }).toEqual(held.before);
      expect(operator().isRunning()).toBe(true);
      if (process.env.HOSTILE_SHOWS) await show(kind, by, since);
    },
  );

  test('does not hold up a failover', async () => {
    const world = routed();
    expect(await failover(world)).toBeLessThan((held.failoverMs ?? 0) + LONGER_MS);
    expect(operator().log.filter(({ level }) => level === 'error')).toEqual([]);
  });

  /** What he was answered, and what his objects say. */
  async function show(kind: AttackKind, by: Means, since: number): Promise<void> {
    const { client } = routed().stage.target;
    const all = (await client.list('routedip.io/v1alpha1', 'RoutedIP', { namespace: EVIL })) as unknown as readonly {
      readonly metadata: { readonly name: string };
      readonly status?: { readonly routedIP?: string; readonly conditions?: readonly { readonly type: string; readonly reason: string }[] };
    }[];
    const says = all.map(
      ({ metadata, status }) =>
        `${metadata.name}: ${status?.routedIP ?? '-'} ${status?.conditions?.find(({ type }) => type === 'Ready')?.reason ?? '-'}`,
    );
    const codes = tenant()
      .answers.slice(since)
      .map(({ code }) => code);
    console.log(`${kind} (${by}): ${[...new Set(codes)].join(' ')}; ${says.join(', ')}`);
  }
});
