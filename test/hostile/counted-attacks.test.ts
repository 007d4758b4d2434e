import { expect } from 'vitest';
import { ApiError } from '../../adapters/kubernetes/client/api-error.ts';
import type { Connection } from '../../adapters/kubernetes/client/connection.ts';
import type { Seen } from '../../adapters/kubernetes/source/source.ts';
import { KubernetesWriter } from '../../adapters/kubernetes/writer/writer.ts';
import type { Address } from '../../machines/model/types.ts';
import { test } from '../actors/routedip/routedip-test.ts';
import { MINUTE, type RoutedWorld, SECOND } from '../actors/routedip/world.ts';
import { recordedLog } from '../adapters/kubernetes/support.ts';
import { node, type OperatorProcess } from '../support/world.ts';

const NOTHING_SEEN: Seen = { object: () => null, nodes: () => [], node: () => null, nodesBearing: () => [] };

/** A writer for Kubernetes that is told all that the operator in this world has written: what it counts is what routedip_objects shows. */
function counted(world: RoutedWorld) {
  const connection = { send: () => Promise.reject(new ApiError('NotFound', 404, 'gone')) } as unknown as Connection;
  const writer = new KubernetesWriter({
    ...{ connection, clock: world.clock, log: recordedLog(), random: () => 0.5, seen: NOTHING_SEEN, instance: 'test' },
  });
  world.begins = ({ cluster }: OperatorProcess) => {
    const { project, retract, forget } = cluster;
    cluster.project = (projection) => {
      writer.project(projection);
      project(projection);
    };
    cluster.retract = (ref, addresses) => {
      void writer.retract(ref, addresses);
      return retract(ref, addresses);
    };
    cluster.forget = () => {
      writer.forget();
      forget();
    };
  };
  return () =>
    [...writer.shown()].map(({ kind, conditions }) => {
      const { status, reason } = [...conditions].find(({ type }) => type === 'Ready') ?? {};
      return `${kind} ${status} ${reason}`;
    });
}

test('a class that is gone is counted no more', async ({ open }) => {
  const world = open();
  const shown = counted(world);
  const policy = world.setClass({ region: 7 });
  await world.leader();
  await world.clock.advance(10 * SECOND);
  expect(shown()).toEqual([expect.stringContaining('ClusterRoutedIPClass False')]);
  world.cluster.removePolicy(policy);
  await world.clock.advance(10 * MINUTE);
  expect(shown()).toEqual([]);
});

test('a pool that was never begun, since its predecessor of the same name remained, is counted no more once it is gone', async ({
  open,
}) => {
  const world = open({ provider: { actionMs: 100 * SECOND } });
  const shown = counted(world);
  world.setNode(node('a'));
  world.address('203.0.113.7');
  const first = world.pool('ingress', { ips: ['203.0.113.7'] });
  const { supervisor } = await world.leader();
  await world.clock.runUntil(() => world.provider.writes().length > 0, MINUTE);
  world.cluster.removePool(first);
  const second = world.pool('ingress', { ips: [] });
  await world.clock.advance(20 * SECOND);
  expect(supervisor.unserved()).toEqual([{ kind: 'FloatingIPPool', reason: 'PredecessorRemains', count: 1 }]);
  world.cluster.removePool(second);
  await world.clock.advance(10 * MINUTE);
  expect(shown()).toEqual([]);
});

test('a record set that is invalid, and one that has nothing to list, are counted as not ready, and as ready once they stand', async ({
  open,
}) => {
  const world = open();
  const shown = counted(world);
  world.provider.cloud.addZone('example.com');
  world.setNode(node('a'));
  const recordSet = (name: string, zone: string) =>
    world.cluster.setPool({
      kind: 'NodeDNSRecordSet',
      name,
      spec: { match: { nodeLabel: 'pool=work' }, dnsRecordSet: { zone, recordName: name } },
    });
  recordSet('wrong', '');
  recordSet('empty', 'example.com');
  await world.leader();
  await world.clock.advance(10 * SECOND);
  expect(shown().sort()).toEqual(['NodeDNSRecordSet False InvalidSpec', 'NodeDNSRecordSet False NoAddress']);
  world.setNode(node('a', { externalIPs: ['198.51.100.1' as Address] }));
  recordSet('wrong', 'example.com');
  await world.clock.advance(10 * SECOND);
  expect(shown()).toEqual(['NodeDNSRecordSet True Published', 'NodeDNSRecordSet True Published']);
});
