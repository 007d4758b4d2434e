import { describe, expect, test } from 'vitest';
import { ServerUnreachable } from '../../../../adapters/kubernetes/client/api-error.ts';
import type { Connection } from '../../../../adapters/kubernetes/client/connection.ts';
import type { KubernetesSimulator } from '../../../../simulator/kubernetes/server.ts';
import { waitFor } from '../../../support/wait-for.ts';
import {
  addBackend,
  endpointsObject,
  following,
  prepared,
  refOf,
  routedIPObject,
  serviceObject,
  sliceObject,
} from '../source/services-support.ts';
import { poolObject, sourceOn } from '../support.ts';

const V1 = 'discovery.k8s.io/v1';
const BETA = 'discovery.k8s.io/v1beta1';
const ONLY_BETA = { [V1]: false, [BETA]: true };
const NO_SLICES = { [V1]: false };

/** A RoutedIP for the Service web, and the Pod x on a. */
const web = (simulator: KubernetesSimulator): void => {
  addBackend(simulator, 'x', 'a');
  simulator.store.create(serviceObject('web'));
  simulator.store.create(routedIPObject('rip'));
};

const asked = (simulator: KubernetesSimulator, part: string): number => simulator.requests.filter(({ path }) => path.includes(part)).length;

describe('the endpoints of a Service', () => {
  test('are read from EndpointSlices of v1, and nothing else is asked for', async () => {
    const { seen, simulator } = await following((cluster) => {
      web(cluster);
      cluster.store.create(sliceObject('web-1', 'web', ['x@a']));
    });
    expect(seen.endpoints()).toBe('x@a');
    expect(asked(simulator, '/endpoints')).toBe(asked(simulator, '/endpointslices'));
    expect(simulator.requests.filter(({ path }) => path === '/apis/discovery.k8s.io' || path.includes('v1beta1'))).toEqual([]);
  });

  test('are read from v1beta1, where only the topology names the node, of a server that has nothing newer', async () => {
    const { seen, simulator, source, log } = await following(
      (cluster) => {
        web(cluster);
        cluster.store.create(sliceObject('web-1', 'web', ['x@a', '!y@b'], 'v1beta1'));
      },
      { options: { apiVersions: ONLY_BETA } },
    );
    expect(seen.endpoints()).toBe('x@a,!?@b');
    expect(seen.nodes('rip')).toEqual(['a', 'b']);
    expect(source.missing()).toEqual([]);
    expect(log.lines.filter((line) => line.startsWith('warn') || line.startsWith('error'))).toEqual([]);
    const slice = sliceObject('web-1', 'web', ['x@a', 'y@c'], 'v1beta1');
    simulator.store.patch(refOf(slice), { endpoints: slice.endpoints ?? [] });
    await waitFor('the change', () => seen.endpoints() === 'x@a,?@c');
  });

  test('are read from Endpoints of a server that has no slices', async () => {
    const { seen, simulator, source } = await following(
      (cluster) => {
        web(cluster);
        cluster.store.create(endpointsObject('web', ['x@a', '!y@b']));
        cluster.store.create(endpointsObject('other', ['z@c']));
      },
      { options: { apiVersions: NO_SLICES } },
    );
    expect(seen.endpoints()).toBe('x@a,!?@b');
    expect(seen.nodes('rip')).toEqual(['a', 'b']);
    expect(source.caches()).toContainEqual(expect.objectContaining({ kind: 'Endpoints', synced: true }));
    expect(source.missing()).toEqual([]);
    const { subsets = [] } = endpointsObject('web', ['!x@a', 'y@b']);
    simulator.store.patch(refOf(endpointsObject('web', [])), { subsets });
    await waitFor('the change', () => seen.endpoints() === '!x@a,?@b');
  });

  test('are read from v1 as soon as the server has it, and from the former version until then', async () => {
    const { seen, simulator, watching } = await following(
      (cluster) => {
        web(cluster);
        cluster.store.create(sliceObject('web-1', 'web', ['x@a'], 'v1beta1'));
      },
      { options: { apiVersions: ONLY_BETA } },
    );
    await watching('endpointslices');
    const facts = seen.count('fact');
    simulator.faults.outage('reset');
    // What is stored names the node in the topology still.
    simulator.serve(V1, true);
    simulator.faults.failLists('endpointslices', 2, 500);
    simulator.faults.endOutage();
    await waitFor('slices of v1', () => seen.count('fact') > facts && asked(simulator, V1) > 0);
    expect(seen.endpoints()).toBe('x@a');
    await waitFor('one watch, of v1', () =>
      simulator.requests.some(({ path, query, code }) => path.includes(`${V1}/`) && query.includes('watch=true') && code === undefined),
    );
    await watching('endpointslices');
    simulator.serve(BETA, false);
    const slice = sliceObject('web-1', 'web', ['x@a', 'y@b']);
    simulator.store.patch(refOf(slice), { endpoints: slice.endpoints ?? [] });
    await waitFor('the change', () => seen.endpoints() === 'x@a,?@b');
  });

  test('are read from slices once the server has them, found at a resync', async () => {
    const { seen, simulator, source, watching } = await following(
      (cluster) => {
        web(cluster);
        cluster.store.create(endpointsObject('web', ['x@a']));
      },
      { options: { apiVersions: NO_SLICES } },
    );
    await watching('endpoints');
    simulator.serve(V1, true);
    simulator.store.create(sliceObject('web-1', 'web', ['x@a', 'y@b']));
    await source.resync();
    await waitFor('the slice', () => seen.endpoints() === 'x@a,?@b');
    await watching('endpoints', 0);
  });

  test('are read from what is left of a server that was set back', async () => {
    const { seen, simulator, watching } = await following((cluster) => {
      web(cluster);
      cluster.store.create(sliceObject('web-1', 'web', ['x@a']));
    });
    await watching('endpointslices');
    simulator.serve(BETA, true);
    simulator.serve(V1, false);
    await waitFor('slices of v1beta1', () => asked(simulator, `${BETA}/endpointslices`) > 0);
    await watching('endpointslices');
    expect(seen.endpoints()).toBe('x@a');
    simulator.store.create(sliceObject('web-2', 'web', ['y@b'], 'v1beta1'));
    await waitFor('the change', () => seen.endpoints() === 'x@a,?@b');
  });

  test('are read as before from a server that took its newer version back before it was read', async () => {
    const { seen, simulator, source, log, watching } = await following(
      (cluster) => {
        web(cluster);
        cluster.store.create(sliceObject('web-1', 'web', ['x@a'], 'v1beta1'));
      },
      { options: { apiVersions: ONLY_BETA } },
    );
    await watching('endpointslices');
    const lists = asked(simulator, `${V1}/endpointslices`);
    simulator.serve(V1, true);
    simulator.faults.failLists('endpointslices', 1_000, 500);
    await source.resync();
    await waitFor('it is tried', () => asked(simulator, `${V1}/endpointslices`) > lists);
    simulator.serve(V1, false);
    simulator.faults.clear();
    const slice = sliceObject('web-1', 'web', ['x@a', 'y@b'], 'v1beta1');
    simulator.store.patch(refOf(slice), { endpoints: slice.endpoints ?? [] });
    await waitFor('the change', () => seen.endpoints() === 'x@a,?@b');
    const turns = () => log.lines.filter((line) => line.includes('read from another API')).map((line) => line.includes(BETA));
    await waitFor('it is given up', () => turns().length === 3);
    expect(turns()).toEqual([true, false, true]);
    const tried = asked(simulator, `${V1}/endpointslices`);
    for (let round = 0; round < 10; round += 1) {
      const endpoints = sliceObject('web-1', 'web', [`x@n${round}`], 'v1beta1').endpoints ?? [];
      simulator.store.patch(refOf(slice), { endpoints });
      await waitFor('the next change', () => seen.endpoints() === `x@n${round}`);
    }
    expect(asked(simulator, `${V1}/endpointslices`)).toBe(tried);
    await watching('endpointslices');
  });

  test('are waited for while it is not known what is served', async () => {
    const { seen, connection } = await prepared(
      (cluster) => {
        web(cluster);
        cluster.store.create(sliceObject('web-1', 'web', ['x@a'], 'v1beta1'));
        cluster.store.create(poolObject('pool', {}));
      },
      { options: { apiVersions: ONLY_BETA } },
    );
    const told = Promise.withResolvers<void>();
    let asks = 0;
    const send: Connection['send'] = async (request) => {
      if (request.path !== '/apis/discovery.k8s.io') return connection.send(request);
      asks += 1;
      if (asks === 1) throw new ServerUnreachable('not now');
      await told.promise;
      return connection.send(request);
    };
    const source = sourceOn({ ...connection, send });
    let started = false;
    const start = source.start(seen).then(() => {
      started = true;
    });
    await waitFor('the pool', () => seen.facts.has('pool'));
    await waitFor('it was asked again', () => asks === 2);
    expect(started).toBe(false);
    await waitFor('all else is known', () => source.missing().length === 1 && source.missing().join() !== 'a first list is not complete');
    expect(source.missing()).toEqual([expect.stringContaining('404')]);
    expect(seen.facts.has('rip')).toBe(false);
    told.resolve();
    await start;
    expect(seen.endpoints()).toBe('x@a');
  });
});
