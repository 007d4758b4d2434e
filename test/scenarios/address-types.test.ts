import { describe, expect, test } from 'vitest';
import { type Condition, type Names, named } from '../e2e/named.ts';
import { kubectl } from '../support/kubectl.ts';

const EXTERNAL = '198.51.100.1';
const INTERNAL = '10.0.0.1';
const ANNOTATION = 'flipop.digitalocean.com/ipv4-reserved-ip';

/** The node with an internal and an external address, and one that a pool has put on it. */
async function node({ stage, start }: Names): Promise<string> {
  const { client } = stage.target;
  await stage.nodes('a');
  const addresses = [
    { type: 'Hostname', address: 'a' },
    { type: 'InternalIP', address: INTERNAL },
    { type: 'ExternalIP', address: EXTERNAL },
    { type: 'ExternalDNS', address: 'a.example.net' },
  ];
  const patch = { subresource: 'status', type: 'application/merge-patch+json' } as const;
  await client.patch({ apiVersion: 'v1', kind: 'Node', name: 'a' }, { status: { addresses } }, patch);
  const { ip } = stage.cloud.addReservedIP({ region: 'nyc3' });
  await start();
  await stage.pool('ingress', { ips: [ip] });
  await stage.until('the node is annotated', async () => (await stage.annotation('a')) === ip);
  return ip;
}

describe('a record set of nodes', () => {
  const { names: current, target } = named();

  test('lists the addresses of the type that it asks for; conditions, columns and Events follow each edit', async () => {
    const names = current();
    const { stage } = names;
    const zone = await names.zoneAt('digitalocean');
    const reserved = await node(names);
    const of: Readonly<Record<string, string>> = { ExternalIP: EXTERNAL, InternalIP: INTERNAL, [ANNOTATION]: reserved };
    const dnsRecordSet = { zone: 'example.com', recordName: 'nodes' };
    await names.recordSet('nodes', { dnsRecordSet });
    let generation = 1;
    for (const [addressType, address] of Object.entries(of)) {
      if (generation > 1) await names.editRecordSet('nodes', { addressType });
      await stage.until(`${addressType} is published`, () => zone.records('nodes').join() === `A ${address} 60`);
      await stage.until('the status is of this spec', async () => {
        const { observedGeneration, state } = await names.status('nodes');
        return observedGeneration === generation && state === 'active';
      });
      const { conditions = [], records } = await names.status('nodes');
      expect((conditions as readonly Condition[]).map(({ type, status, reason }) => `${type} ${status} ${reason}`).sort()).toEqual([
        'Degraded False AsExpected',
        'Progressing False Idle',
        'Ready True Published',
      ]);
      expect(conditions.every((each) => each.observedGeneration === generation)).toBe(true);
      expect(records).toBe(1);
      generation += 1;
    }
    expect(generation).toBe(4);
    await stage.until('an Event tells it', async () =>
      (await names.events('nodes')).includes('Published: nodes.example.com lists 1 address'),
    );

    // FLIPOP's short name.
    const { stdout, stderr, code } = await kubectl(['get', 'nodedns', 'nodes'], { kubeconfig: target().adminKubeconfig });
    expect(code, stderr).toBe(0);
    expect(stdout.split('\n')[1]).toMatch(/^nodes +example\.com +nodes +active +1 +True +Published +\d+s/);
  });

  test('says so and writes nothing while no node has an address of that type, though it has others', async () => {
    const names = current();
    const { stage } = names;
    const zone = await names.zoneAt('digitalocean');
    await stage.nodes('a');
    await names.external('a', EXTERNAL);
    await names.start();
    await names.recordSet('nodes', { addressType: 'InternalIP', dnsRecordSet: { zone: 'example.com', recordName: 'nodes' } });
    await stage.until('it says so', async () => (await names.degraded('nodes'))?.reason === 'NoAddress');
    expect((await names.degraded('nodes'))?.message).toContain('InternalIP');
    expect(zone.writes()).toEqual([]);
    await names.editRecordSet('nodes', { addressType: 'ExternalIP' });
    await stage.until('the other one is published', () => zone.records('nodes').join() === `A ${EXTERNAL} 60`);
  });
});
