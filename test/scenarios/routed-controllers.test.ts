import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { forbid } from '../e2e/rights.ts';
import { CLASS, type Routed, routedStage } from '../e2e/routed.ts';
import { objectsIn } from '../support/kube-apply.ts';
import { PENDING } from '../support/pending.ts';

const CRDS = ['routedips', 'routedipissuers', 'clusterroutedipclasses'];
const ROUTED = [...CRDS, 'services', 'endpoints', 'endpointslices'];
const FLIPOP = ['floatingippools', 'nodednsrecordsets'];
const definitionOf = (plural: string) => objectsIn(join(import.meta.dirname, `../../crds/${plural}.yaml`))[0] as unknown as JsonObject;

/** Parts of the operator that are left out, or whose kinds are not there. */
describe('an operator', () => {
  const { routed } = routedStage({ audit: true });

  const forbidden = async (world: Routed, ...plurals: readonly string[]) => {
    const allow = await forbid(world.stage.target, ...plurals);
    onTestFinished(allow);
    return allow;
  };
  /** A pool whose address is active. */
  const served = async ({ stage }: Routed): Promise<string> => {
    const { ip } = stage.cloud.addReservedIP({ region: 'nyc3' });
    await stage.pool('ingress', { ips: [ip] });
    await stage.until('the pool works', async () => (await stage.activeOn('ingress', ip)) !== null);
    return ip;
  };
  const exposed = async (world: Routed, ...nodes: readonly string[]): Promise<string> => {
    await world.addFirewall();
    await world.setClass(CLASS);
    await world.service('shop', nodes);
    await world.routedIP('shop');
    return world.stable('shop');
  };

  test('with --controllers=flipop needs no right for RoutedIPs, and asks for none', async () => {
    const world = routed();
    await forbidden(world, ...ROUTED);
    await world.stage.nodes('a');
    const before = world.stage.target.asked().length;
    const operator = await world.stage.start({ flags: ['--controllers=flipop'] });
    await operator.ready();
    await served(world);
    await operator.ready();
    const asked = world.stage.target.asked().slice(before);
    expect(asked.filter((path) => path.includes('/floatingippools')).length).toBeGreaterThan(2);
    expect(asked.filter((path) => path.includes('/routedip.io/'))).toEqual([]);
    expect(operator.log.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('with --controllers=routedip needs no right for pools, and leaves them alone', async () => {
    const world = routed();
    await forbidden(world, ...FLIPOP);
    await world.stage.nodes('a');
    const { ip } = world.stage.cloud.addReservedIP({ region: 'nyc3' });
    const before = world.stage.target.asked().length;
    const operator = await world.stage.start({ flags: ['--controllers=routedip'] });
    await operator.ready();
    await world.stage.pool('ingress', { ips: [ip] });
    const address = await exposed(world, 'a');
    expect([address === ip, world.stage.heldBy(ip), (await world.stage.getPool('ingress')).status]).toEqual([false, null, PENDING]);
    const asked = world.stage.target.asked().slice(before);
    // Without a namespace, as only the operator asks.
    expect(asked.some((path) => path.startsWith('/apis/routedip.io/v1alpha1/routedips?'))).toBe(true);
    expect(asked.filter((path) => /\/v1alpha1\/(floatingippools|nodednsrecordsets)\?/.test(path))).toEqual([]);
    expect(operator.log.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('that may not list RoutedIPs says so, and looks after pools all the same', async () => {
    const world = routed();
    const allow = await forbidden(world, ...ROUTED);
    await world.stage.nodes('a', 'b');
    const operator = await world.stage.start();
    await served(world);
    await world.stage.until('readyz says so', async () => {
      const { status, text } = await operator.metrics('/readyz');
      return status === 503 && text.includes('the ServiceAccount may not list clusterroutedipclasses');
    });
    await allow();
    await operator.ready(30_000);
    await exposed(world, 'a', 'b');
  });

  test('without the definitions of RoutedIPs is ready, and looks after them from when they are installed', async () => {
    const world = routed();
    const { client } = world.stage.target;
    for (const plural of CRDS) {
      await client.delete({ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', name: `${plural}.routedip.io` });
    }
    await world.stage.until('they are gone', async () => {
      const left = await client.list('apiextensions.k8s.io/v1', 'CustomResourceDefinition');
      return left.every(({ metadata }) => !(metadata.name ?? '').endsWith('.routedip.io'));
    });
    await world.stage.nodes('a', 'b');
    const operator = await world.stage.start();
    await operator.ready(30_000);
    await served(world);
    for (const plural of CRDS) await client.create(definitionOf(plural));
    await world.addFirewall();
    await world.service('shop', ['a', 'b']);
    await world.stage.until('a class can be made', async () => {
      const made = await world.setClass(CLASS).catch(() => null);
      return made !== null;
    });
    await world.stage.until('a RoutedIP can be made', async () => (await world.routedIP('shop').catch(() => null)) !== null);
    await world.stable('shop');
    expect(operator.log.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
