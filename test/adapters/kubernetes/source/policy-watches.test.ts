import { describe, expect, test } from 'vitest';
import { refusal } from '../../../../adapters/kubernetes/client/api-error.ts';
import type { Connection } from '../../../../adapters/kubernetes/client/connection.ts';
import { readDefinitions } from '../../../../simulator/kubernetes/definitions.ts';
import type { KubernetesSimulator } from '../../../../simulator/kubernetes/server.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { CRD, poolObject, RECORD_SETS, sourceOn } from '../support.ts';
import {
  CLASSES,
  classObject,
  following,
  ISSUERS,
  issuerObject,
  OWN_KINDS,
  prepared,
  ROUTED_IPS,
  refOf,
  routedIPObject,
  ServiceRecorder,
} from './services-support.ts';

const CLASS = classObject('plain');
const ISSUER = issuerObject('cloud');
const RIP = routedIPObject('rip');
const KINDS = ['FloatingIPPool', 'NodeDNSRecordSet', 'RoutedIP', 'RoutedIPIssuer', 'ClusterRoutedIPClass'];

const all = (simulator: KubernetesSimulator): void => {
  for (const object of [RIP, CLASS, ISSUER]) simulator.store.create(object);
};

const install = (simulator: KubernetesSimulator, ...crds: readonly string[]): void => {
  for (const definition of readDefinitions(crds)) simulator.store.create(definition);
};

describe('classes and issuers', () => {
  test('are told before the RoutedIPs that go by them, however long their lists take', async () => {
    const { simulator, source, seen } = await prepared(all);
    simulator.faults.failLists('clusterroutedipclasses', 3, 500);
    simulator.faults.failLists('routedipissuers', 5, 500);
    await source.start(seen);
    expect(seen.told.map((line) => line.split(' ', 2).join(' '))).toEqual([
      'policy ClusterRoutedIPClass',
      'policy RoutedIPIssuer',
      'observed rip',
      'fact rip',
    ]);
    expect(KINDS.filter((kind) => source.knows(kind))).toEqual(['FloatingIPPool', 'RoutedIP', 'RoutedIPIssuer', 'ClusterRoutedIPClass']);
  });

  test('are told as they are: a class without a namespace', async () => {
    const { seen } = await following(all);
    const marks = { finalizers: [], annotations: {} };
    expect(seen.policies.get('plain')).toMatchObject({ ref: { kind: 'ClusterRoutedIPClass', namespace: '' }, marks });
    expect(seen.policies.get('plain')?.spec).toMatchObject({ className: 'example.com/plain' });
    expect(seen.policies.get('cloud')).toMatchObject({ ref: { kind: 'RoutedIPIssuer', namespace: 'default' }, marks });
  });

  test('are told when they change and when they are gone, and not for their status', async () => {
    const { simulator, source, seen } = await following(all);
    simulator.store.patch(refOf(CLASS), { status: { conditions: [] } }, { subresource: 'status' });
    simulator.store.patch(refOf(CLASS), { spec: { perNodeIPLimit: 2 } });
    const told = () => seen.told.filter((line) => line.includes('plain'));
    await waitFor('the limit', () => (seen.policies.get('plain')?.spec as { perNodeIPLimit?: number })?.perNodeIPLimit === 2);
    expect(told()).toHaveLength(2);
    simulator.store.delete(refOf(CLASS));
    await waitFor('it is gone', () => !seen.policies.has('plain'));
    expect(told().at(-1)).toBe('policy gone ClusterRoutedIPClass plain');
    await source.resync();
    expect(seen.count('policy RoutedIPIssuer cloud')).toBe(2);
    expect(seen.policies.has('plain')).toBe(false);
  });

  test('that may not be listed keep RoutedIPs back, and hold no pools up', async () => {
    const { connection, seen, log } = await prepared((simulator) => {
      all(simulator);
      simulator.store.create(poolObject('pool', {}));
    });
    let allowed = false;
    const list: Connection['list'] = (request, item) =>
      !allowed && request.path.endsWith('/clusterroutedipclasses')
        ? Promise.reject(refusal({ verb: 'list', path: request.path }, 403, 'User "operator" cannot do that'))
        : connection.list(request, item);
    const source = sourceOn({ ...connection, list }, { log });
    await source.start(seen);
    expect(seen.nodes('pool')).toEqual(['a', 'b', 'c']);
    expect(source.knows('RoutedIP')).toBe(false);
    expect(seen.pools.has('rip')).toBe(false);
    expect(source.missing()).toEqual([expect.stringContaining('may not list clusterroutedipclasses')]);
    allowed = true;
    await waitFor('the RoutedIP', () => seen.facts.has('rip'));
    expect(seen.told.indexOf('policy ClusterRoutedIPClass plain')).toBeLessThan(
      seen.told.findIndex((line) => line.startsWith('observed rip')),
    );
    expect(source.missing()).toEqual([]);
  });
});

describe('a change of what marks a RoutedIP', () => {
  test('is told: finalizers, and annotations of the group alone', async () => {
    const { simulator, seen } = await following(all);
    const annotations = { 'routedip.io/force': 'yes', 'example.com/other': 'x' };
    simulator.store.patch(refOf(RIP), { metadata: { annotations, finalizers: ['routedip.io/finalizer'] } });
    await waitFor('the marks', () => seen.count('observed rip') === 2);
    expect(seen.pools.get('rip')?.marks).toEqual({
      finalizers: ['routedip.io/finalizer'],
      annotations: { 'routedip.io/force': 'yes' },
    });
    simulator.store.patch(refOf(RIP), { metadata: { annotations: { 'example.com/other': 'y' } } });
    simulator.store.delete(refOf(RIP));
    await waitFor('it is being deleted', () => seen.pools.get('rip')?.deleting === true);
    expect(seen.count('observed rip')).toBe(3);
  });
});

describe('an install', () => {
  test('with FLIPOP’s definitions alone works as it did, and asks for nothing that only RoutedIPs need', async () => {
    const { simulator, source, seen } = await following((cluster) => void cluster.store.create(poolObject('pool', {})), {
      options: { crds: [CRD, RECORD_SETS] },
    });
    expect(seen.told).toEqual([expect.stringMatching(/^observed pool /), 'fact pool']);
    expect(KINDS.filter((kind) => source.knows(kind))).toEqual(['FloatingIPPool', 'NodeDNSRecordSet']);
    expect(source.missing()).toEqual([]);
    expect(source.caches().map(({ kind }) => kind)).toEqual(['FloatingIPPool', 'Node', 'NodeDNSRecordSet']);
    expect(simulator.requests.filter(({ path }) => /services|endpoint|discovery/.test(path))).toEqual([]);
  });

  test('with the definitions of RoutedIPs alone works', async () => {
    const served: boolean[] = [];
    const { source, seen } = await following(all, {
      options: { crds: OWN_KINDS },
      source: { served: (value) => void served.push(value) },
    });
    expect(seen.facts.has('rip')).toBe(true);
    expect(served).toEqual([true]);
    expect(source.missing()).toEqual([]);
    expect(source.caches().map(({ kind, synced }) => [kind, synced])).toEqual(
      ['ClusterRoutedIPClass', 'EndpointSlice', 'Node', 'Pod', 'RoutedIP', 'RoutedIPIssuer', 'Service'].map((kind) => [kind, true]),
    );
  });

  test('with classes and issuers alone waits for something to use them', async () => {
    const served: boolean[] = [];
    const { simulator, source } = await prepared(() => undefined, {
      options: { crds: [ISSUERS, CLASSES] },
      source: { served: (value) => void served.push(value) },
    });
    const seen = new ServiceRecorder();
    let started = false;
    const start = source.start(seen).then(() => {
      started = true;
    });
    await waitFor('not served', () => served.length === 1);
    expect(served).toEqual([false]);
    expect(started).toBe(false);
    install(simulator, ROUTED_IPS);
    await start;
    expect(served).toEqual([false, true]);
  });

  test('that gets the definitions of RoutedIPs later joins them', async () => {
    const { simulator, source, seen } = await following((cluster) => void cluster.store.create(poolObject('pool', {})), {
      options: { crds: [CRD] },
    });
    install(simulator, ...OWN_KINDS);
    all(simulator);
    await waitFor('the RoutedIP', () => seen.facts.has('rip'));
    await waitFor('its class', () => seen.policies.has('plain') && seen.policies.has('cloud'));
    expect(source.missing()).toEqual([]);
  });
});
