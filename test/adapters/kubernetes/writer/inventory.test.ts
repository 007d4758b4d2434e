import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { kubernetesInventory } from '../../../../adapters/kubernetes/writer/inventory.ts';
import { INVENTORY_KEY, INVENTORY_NAME } from '../../../../machines/status/inventory.ts';
import { connected, simulated } from '../support.ts';

const OBJECT = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: INVENTORY_NAME };

const opened = async () => {
  const server = await simulated();
  const hide = (json: string) => json.replaceAll('dop_v1_secret', '[redacted]');
  const inventoryWriter = kubernetesInventory(connected(server.kubeconfig()), 'default', hide);
  const stored = (): { readonly binaryData?: Readonly<Record<string, string>> } => server.store.get(OBJECT) as never;
  const text = (): string => gunzipSync(Buffer.from(stored().binaryData?.[INVENTORY_KEY] ?? '', 'base64')).toString();
  return { server, inventoryWriter, stored, text };
};

test('the inventory stands in a ConfigMap, in the place of what stood there, without secrets', async () => {
  const { inventoryWriter, text } = await opened();
  await inventoryWriter.write('{"accounts":["dop_v1_secret"]}');
  expect(text()).toBe('{"accounts":["[redacted]"]}');
  await inventoryWriter.write('{"accounts":[]}');
  expect(text()).toBe('{"accounts":[]}');
});

test('it is made again when somebody has deleted it', async () => {
  const { server, inventoryWriter, text } = await opened();
  await inventoryWriter.write('{}');
  server.store.delete(OBJECT);
  await inventoryWriter.write('{"accounts":[]}');
  expect(text()).toBe('{"accounts":[]}');
});

test('20,000 addresses are less than a ConfigMap may hold', async () => {
  const { inventoryWriter, stored, text } = await opened();
  const addresses = Array.from({ length: 20_000 }, (_, index) => ({
    address: `203.${index >> 16}.${(index >> 8) & 255}.${index & 255}`,
    family: 'IPv4',
    region: 'fra1',
    machine: `digitalocean://${400_000_000 + index * 7919}`,
    node: `pool-${(index * 7919).toString(36)}-x`,
    standing: 'claimed',
    owner: `RoutedIP team-${index % 300}/service-${index}`,
    madeFor: `RoutedIP team-${index % 300}/service-${index}`,
    madeAt: new Date(1.7e12 + index * 7_919_000).toISOString(),
    costPerMonth: 0,
  }));
  await inventoryWriter.write(JSON.stringify({ accounts: [{ addresses }] }));
  expect(JSON.stringify(stored()).length).toBeLessThan(2 ** 20);
  expect(JSON.parse(text()).accounts[0].addresses).toHaveLength(20_000);
});

test('that it could not be written is told', async () => {
  const { server, inventoryWriter } = await opened();
  server.faults.outage('503');
  await expect(inventoryWriter.write('{}')).rejects.toThrow('503');
});
