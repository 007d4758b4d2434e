import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectionOf, type RawClient, rawClient } from '../../simulator/kubernetes/client.ts';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { CLASS, GROUP, routedStageOnce } from '../e2e/routed.ts';
import { HTTP, MAY_READ_SECRETS, NAMESPACE } from '../e2e/routed-objects.ts';

type Row = Readonly<Record<string, unknown>>;

interface Table {
  readonly columnDefinitions: readonly { readonly name: string; readonly priority: number }[];
  readonly rows: readonly { readonly cells: readonly unknown[]; readonly object: { readonly metadata: { readonly name: string } } }[];
}

const NO_CLASS = 'there is no ClusterRoutedIPClass with className "example.com/none", and none of that name';
const NO_SECRET = `Secret ${NAMESPACE}/absent is not there`;
const RANGE = 'nodePortRange must be first-last or first+count within 1-65535, first not above last, such as 30000-32767';

/** What people see of RoutedIPs, their classes and issuers: the columns of kubectl, which the server makes, and Events in the order in which it lists them. */
describe('kubectl', () => {
  const routed = routedStageOnce();
  const held: { http?: RawClient } = {};

  const issuer = (name: string, spec: JsonObject): JsonObject => ({
    apiVersion: GROUP,
    kind: 'RoutedIPIssuer',
    metadata: { name, namespace: NAMESPACE },
    spec: { issuerClass: 'digitalocean', region: 'nyc3', ...spec },
  });

  beforeAll(async () => {
    const world = routed();
    held.http = rawClient(connectionOf(readFileSync(world.stage.target.adminKubeconfig, 'utf8')));
    await world.addFirewall();
    await world.setClass(CLASS);
    await world.put(MAY_READ_SECRETS);
    await world.put(issuer('own', { fromSecretsRef: [{ name: 'absent' }] }));
    await world.stage.nodes('a');
    for (const [name, nodePort] of Object.entries({ shop: 30_081, second: 30_082 }))
      await world.service(name, ['a'], [{ ...HTTP, nodePort }]);
    await world.stage.start();
    await world.routedIP('shop');
    await world.stable('shop');
    await world.stage.until('it is ready', async () => (await world.condition('shop', 'Ready'))?.status === 'True');
  });
  afterAll(() => held.http?.close());

  /** The rows of `kubectl get`, by name; `-o wide` shows those of a higher priority too. */
  async function get(plural: string, namespace = ''): Promise<{ readonly columns: string; readonly rows: Readonly<Record<string, Row>> }> {
    const path = `/apis/${GROUP}${namespace && `/namespaces/${namespace}`}/${plural}`;
    const reply = await held.http?.send('GET', path, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' });
    const { columnDefinitions, rows } = JSON.parse(reply?.text ?? '') as Table;
    const columns = columnDefinitions.map(({ name, priority }) => (priority > 0 ? `(${name})` : name)).join(' ');
    const named = rows.map(({ cells, object }) => [
      object.metadata.name,
      Object.fromEntries(columnDefinitions.map(({ name }, index) => [name, cells[index] ?? ''])),
    ]);
    return { columns, rows: Object.fromEntries(named) };
  }

  test('says of a RoutedIP where its address is; of one that has none in a word why, and in a sentence', async () => {
    const world = routed();
    await world.routedIP('no-class', { className: 'example.com/none' });
    await world.routedIP('no-secret', { className: null, issuerRef: { name: 'own' } });
    await world.routedIP('second');
    await world.degraded('no-class', 'ClassNotFound');
    await world.degraded('no-secret', 'SecretNotFound');
    const found = { waits: await world.degraded('second', 'NoEligibleNode'), table: await get('routedips', NAMESPACE) };
    // Why a node is not free is told anew when more is known of it.
    await world.stage.until('the column says what the condition does', async () => {
      found.waits = (await world.condition('second'))?.message ?? '';
      found.table = await get('routedips', NAMESPACE);
      return found.table.rows.second?.Error === found.waits;
    });
    const { columns, rows } = found.table;
    expect(columns).toBe('Name Class IP Node Ready State Reason Service Age (Elected) (Firewall) (Error) (Paused)');
    const { routedIP } = (await world.status('shop')) ?? {};
    const shop = { Class: CLASS, IP: routedIP, Node: 'a', Ready: 'True', State: 'Stable', Reason: 'Assigned', Service: 'shop' };
    expect(rows.shop).toMatchObject({ ...shop, Elected: 'a', Firewall: 'edge', Error: '' });
    const without = { Node: '', Ready: 'False', State: 'Unassigned' };
    expect(rows['no-class']).toMatchObject({ ...without, Class: 'example.com/none', Reason: 'ClassNotFound', Error: NO_CLASS });
    expect(rows['no-secret']).toMatchObject({ ...without, Class: 'own', Reason: 'SecretNotFound', Error: NO_SECRET });
    expect(rows.second).toMatchObject({ ...without, Class: CLASS, Reason: 'NoEligibleNode', Error: found.waits });
    expect(found.waits).toContain(rows.second?.IP);
    // Nothing can be said of ports before it is known where they are to be opened.
    expect(await world.condition('no-class', 'FirewallReady')).toMatchObject({ status: 'Unknown', reason: 'Opening' });
  });

  test('says of classes and issuers whether they can be used, and why not', async () => {
    const world = routed();
    const error = async () => (await get('routedipissuers', NAMESPACE)).rows.own?.Error;
    await world.stage.until('the issuer says what it lacks', async () => (await error()) === NO_SECRET);
    const issuers = await get('routedipissuers', NAMESPACE);
    expect(issuers.columns).toBe('Name Provider Firewall Reclaim Ready Reason Age (Region) (Limit) (RoutedIPs) (NodePorts) (Error)');
    expect(issuers.rows.own).toMatchObject({ Provider: 'digitalocean', Ready: 'False', Reason: 'SecretNotFound' });
    await world.stage.until(
      'the class says that it is used',
      async () => (await get('clusterroutedipclasses')).rows[CLASS]?.Ready === 'True',
    );
    const classes = await get('clusterroutedipclasses');
    expect(classes.columns).toBe('Name Class Firewall Reclaim Ready Reason Age (Region) (Limit) (RoutedIPs) (NodePorts) (Error)');
    expect(classes.rows[CLASS]).toMatchObject({ Firewall: 'edge', Ready: 'True', Reason: 'AsExpected', Error: '' });
    expect(Number(classes.rows[CLASS]?.RoutedIPs)).toBeGreaterThan(0);
  });

  test('describes what happened in its order', async () => {
    const order = ['AddressCreated', 'NodeElected', 'FirewallOpened', 'Assigned'];
    await routed().stage.until('all is told', async () => (await routed().events('shop')).length >= order.length);
    expect(await routed().events('shop')).toEqual(order);
  });

  test('shows a failure that repeats itself as one Event, and when the next try comes as a condition', async () => {
    const world = routed();
    await world.service('unknown', ['a'], [{ ...HTTP, nodePort: 30_083 }]);
    await world.routedIP('unknown', { routedIP: '198.51.100.77' });
    await world.stage.until('it was tried again', async () => ((await world.status('unknown'))?.attempts ?? 0) > 2);
    const said = { text: '' };
    // While it is tried again nothing counts as wrong for a moment.
    await world.stage.until('it says why', async () => {
      said.text = (await world.condition('unknown'))?.message ?? '';
      return /^find 198\.51\.100\.77: 404 /.test(said.text);
    });
    const { text } = said;
    await world.stage.until('an Event does', async () => (await world.notes('unknown')).includes(`AddressNotFound: ${text}`));
    expect((await world.notes('unknown')).filter((note) => note.startsWith('AddressNotFound'))).toEqual([`AddressNotFound: ${text}`]);
    await world.stage.until('it says when', async () =>
      ((await world.condition('unknown', 'Progressing'))?.message ?? '').startsWith('the next try comes at 20'),
    );
  });

  test('is told of a wrong range at once', () =>
    expect(routed().put(issuer('wrong', { nodePortRange: '40000-30000' }))).rejects.toThrow(RANGE));
});
