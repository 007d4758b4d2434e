import { beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { CLASS, CLASS_NAME, GROUP, type Routed, routedStageOnce } from '../e2e/routed.ts';
import { NAMESPACE } from '../e2e/routed-objects.ts';

const NODES = ['a', 'b', 'c', 'd'];
const NAMES = ['one', 'two', 'three', 'former'];
const FOREIGN = 'prod-db';
const LABEL = 'routedip.io/allow-operator-credentials';
const NOT_ALLOWED = 'OperatorCredentialsNotAllowed';
const DEFINITION = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', name: 'routedips.routedip.io' } as const;
const MERGE = { type: 'application/merge-patch+json' } as const;

type Version = { readonly schema: { readonly openAPIV3Schema: { readonly properties: { readonly spec: Record<string, unknown> } } } };

/** What a namespace's issuers do with the credentials of the operator. The tests go on from where the one before has left it. */
describe('an issuer that names no Secret', () => {
  const routed = routedStageOnce();
  /** The last call before the operator ran. */
  let begun = 0;

  const issuer = (name: string, spec: JsonObject = {}): JsonObject => ({
    apiVersion: GROUP,
    kind: 'RoutedIPIssuer',
    metadata: { name, namespace: NAMESPACE },
    spec: { issuerClass: 'digitalocean', region: 'nyc3', nodePortRange: '30000-32767', ...spec },
  });
  const label = ({ stage }: Routed, value: string | null) =>
    stage.target.client.patch(
      { apiVersion: 'v1', kind: 'Namespace', name: NAMESPACE },
      { metadata: { labels: { [LABEL]: value } } },
      MERGE,
    );
  const issuerReason = async ({ stage }: Routed, name: string): Promise<string> => {
    const found = await stage.target.client.get({ apiVersion: GROUP, kind: 'RoutedIPIssuer', namespace: NAMESPACE, name });
    const { conditions = [] } = (found.status ?? {}) as { readonly conditions?: readonly { readonly reason: string }[] };
    return conditions[0]?.reason ?? '';
  };

  /** A RoutedIP that is stored with the field that its definition had formerly. */
  const setFormer = async (world: Routed): Promise<void> => {
    const { client } = world.stage.target;
    const definition = await client.get(DEFINITION);
    const { versions } = definition.spec as unknown as { readonly versions: readonly Version[] };
    const former = structuredClone(versions);
    for (const { schema } of former) {
      const { spec } = schema.openAPIV3Schema.properties;
      spec.properties = { ...(spec.properties as object), issuerClass: { type: 'string' } };
      delete spec['x-kubernetes-validations'];
    }
    const define = (all: readonly Version[]) => client.patch(DEFINITION, { spec: { versions: all } } as unknown as JsonObject, MERGE);
    const classOf = async () => {
      const { spec } = await client.get({ apiVersion: GROUP, kind: 'RoutedIP', namespace: NAMESPACE, name: 'former' });
      return (spec as { readonly issuerClass?: string }).issuerClass;
    };
    await define(former);
    // Before the definition is in force the server takes the object without the field, or not at all.
    await world.stage.until('it is stored with it', async () => {
      const wishes = { className: null, issuerClass: 'digitalocean', serviceRef: { serviceName: 'former' } };
      if (!(await world.status('former'))) await world.routedIP('former', wishes).catch(() => undefined);
      if (!(await world.status('former'))) return false;
      if ((await classOf()) === 'digitalocean') return true;
      await world.deleteRoutedIP('former');
      return false;
    });
    await define(versions);
    await world.stage.until('the server does not show it any more', async () => (await classOf()) === undefined);
  };

  beforeAll(async () => {
    const world = routed();
    await world.addFirewall(FOREIGN);
    await world.put(issuer('own'));
    await world.stage.nodes(...NODES);
    for (const [index, name] of NAMES.entries()) await world.service(name, NODES, [{ name: 'http', port: 80, nodePort: 30_081 + index }]);
    await setFormer(world);
    begun = world.lastCall();
    await world.stage.start();
  });

  test('serves nobody until its Namespace is labelled', async () => {
    const world = routed();
    await world.routedIP('one', { className: null, issuerRef: { name: 'own' } });
    await world.stage.until('it is told what to do', async () =>
      (await world.degraded('one', NOT_ALLOWED)).includes(`kubectl label namespace ${NAMESPACE} ${LABEL}=true`),
    );
    await world.stage.until('the issuer says so', async () => (await issuerReason(world, 'own')) === NOT_ALLOWED);
    expect(world.changes(begun)).toEqual([]);
    await label(world, 'true');
    await world.stable('one');
    await world.stage.until('the issuer says so', async () => (await issuerReason(world, 'own')) === 'AsExpected');
  });

  test('takes no rule out of a firewall of others there either', async () => {
    const world = routed();
    const before = world.firewall(FOREIGN);
    await world.put(issuer('greedy', { routedIPFirewallName: FOREIGN, firewallExclusive: true }));
    await world.routedIP('two', { className: null, issuerRef: { name: 'greedy' } });
    expect(await world.degraded('two', 'InvalidSpec')).toContain("firewallExclusive is not for issuers with the operator's credentials");
    await world.stage.until('the issuer says so', async () => (await issuerReason(world, 'greedy')) === 'InvalidSpec');
    expect(world.firewall(FOREIGN)).toEqual(before);
  });

  test('leaves who has an address his when the label is gone, and serves nobody new', async () => {
    const world = routed();
    const { assignedNode = '', routedIP } = (await world.status('one')) ?? {};
    await label(world, null);
    await world.stage.until('he is told so', async () => (await world.events('one')).includes(NOT_ALLOWED));
    await world.routedIP('three', { className: null, issuerRef: { name: 'own' } });
    await world.degraded('three', NOT_ALLOWED);
    await world.cordon(assignedNode);
    await world.stage.until('it is on another node', async () => {
      const { assignedNode: on, state } = (await world.status('one')) ?? {};
      return on !== assignedNode && state === 'Stable';
    });
    expect((await world.status('one'))?.routedIP).toBe(routedIP);
  });

  test('is not what a RoutedIP is served by that was stored with issuerClass: it says so, can be written, and goes on once it names a class', async () => {
    const world = routed();
    expect(await world.degraded('former', 'InvalidSpec')).toContain(
      'set exactly one of className and issuerRef; issuerClass is served no more',
    );
    await world.setClass(CLASS, { routedIPFirewallName: '' });
    await world.editRoutedIP('former', { spec: { className: CLASS_NAME } });
    await world.stable('former');
  });
});
