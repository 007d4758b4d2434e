import { onTestFinished } from 'vitest';
import type { PoolProjection } from '../../../../actors/ports/cluster.ts';
import type { Clock } from '../../../../actors/ports/records.ts';
import type { SeenNode } from '../../../../adapters/kubernetes/cache/trim.ts';
import { refusal } from '../../../../adapters/kubernetes/client/api-error.ts';
import type { Request } from '../../../../adapters/kubernetes/client/connection.ts';
import type { Seen } from '../../../../adapters/kubernetes/source/source.ts';
import { KubernetesWriter, type WriterOptions } from '../../../../adapters/kubernetes/writer/writer.ts';
import { systemClock } from '../../../../adapters/system/clock.ts';
import type { Address, ObjectRef } from '../../../../machines/model/types.ts';
import type { JsonObject } from '../../../../simulator/kubernetes/objects.ts';
import type { KubernetesSimulator } from '../../../../simulator/kubernetes/server.ts';
import { addNode, connected, nodeRef, poolObject, poolRef, Recorder, recordedLog, simulated, sourceOn } from '../support.ts';

export const FIRST = '203.0.113.7' as Address;
export const SECOND = '203.0.113.8' as Address;
export const FIRST_V6 = '2001:db8::7' as Address;
export const IPV4 = 'flipop.digitalocean.com/ipv4-reserved-ip';
export const IPV6 = 'flipop.digitalocean.com/ipv6-reserved-ip';

const NOTHING_SEEN: Seen = { object: () => null, nodes: () => [], node: () => null, nodesBearing: () => [] };

const TIMINGS = {
  pace: { intervalMs: 250, burst: 4, impatienceMs: 100 },
  backoff: { firstMs: 20, factor: 2, maxMs: 100 },
  recheckMs: 100,
  toldAfterMs: 500,
};

/** A writer on a cluster with the nodes a and b and the pool `pool`, and what it wrote. */
export const writing = async (options: { readonly crds?: readonly (string | JsonObject)[]; readonly watch?: boolean } = {}) => {
  const simulator = await simulated(options.crds === undefined ? {} : { crds: [...options.crds] });
  addNode(simulator, 'a', { labels: { color: 'blue' } });
  addNode(simulator, 'b', { labels: { color: 'blue' } });
  const created = simulator.store.create(poolObject('pool', { match: { nodeLabel: 'color=blue' } }));
  const ref: ObjectRef = { kind: 'FloatingIPPool', namespace: 'default', name: 'pool', uid: created.metadata.uid ?? '' };
  const connection = connected(simulator.kubeconfig());
  const source = sourceOn(connection);
  const recorder = new Recorder();
  if (options.watch !== false) await source.start(recorder);
  const log = recordedLog();
  let shown: readonly SeenNode[] | null = null;
  const nodes = () => [...(shown ?? source.nodes())];
  const following: Seen = {
    object: (ref) => source.object(ref),
    nodes,
    node: (name) => nodes().find(({ node }) => node.name === name) ?? null,
    nodesBearing: (address) => nodes().flatMap(({ node, ipv4, ipv6 }) => ([ipv4, ipv6].includes(address) ? [node.name] : [])),
  };
  const seen = options.watch === false ? NOTHING_SEEN : following;
  /** From now on the writer sees the nodes as they are now, until `catchUp`. */
  const fallBehind = (): void => {
    shown = [...source.nodes()];
  };
  const catchUp = (): void => {
    shown = null;
  };
  /** One that ends with the test: what it could not write yet it would write to whatever listens at that address next. */
  const opened = (options: Pick<WriterOptions, 'connection' | 'clock' | 'log'>): KubernetesWriter => {
    const writer = new KubernetesWriter({ ...options, random: () => 0.5, seen, instance: 'test', timings: TIMINGS });
    onTestFinished(() => writer.close());
    return writer;
  };
  const newWriter = (clock: Clock = systemClock()): KubernetesWriter => opened({ connection, clock, log });
  const writer = newWriter();
  /** A writer before whose requests `before` runs, or which fail with what it throws. */
  const meddled = (before: (request: Request) => void | Promise<void>) => {
    const send = async (request: Request): Promise<unknown> => {
      await before(request);
      return connection.send(request);
    };
    const log = recordedLog();
    return { writer: opened({ connection: { ...connection, send }, clock: systemClock(), log }), log };
  };
  /** A writer whose ServiceAccount is not allowed some requests. */
  const refusing = (refused: (request: Request) => boolean) =>
    meddled((request) => {
      if (refused(request)) throw refusal({ verb: 'patch', path: request.path }, 403, 'User "operator" cannot do that');
    });
  const projection = (change: Partial<PoolProjection> = {}): PoolProjection => ({
    ref,
    generation: 1,
    status: { ips: { [FIRST]: { state: 'active', nodeName: 'a' } }, activeIPs: 1 },
    conditions: [{ type: 'Ready', status: 'True', reason: 'AllActive', message: '1 of 1 addresses are active' }],
    annotated: { a: FIRST },
    addresses: [FIRST],
    events: [],
    ...change,
  });
  const status = (): JsonObject => (simulator.store.get(poolRef('pool')).status ?? {}) as JsonObject;
  const annotation = (node: string, key = IPV4): string | undefined => simulator.store.get(nodeRef(node)).metadata.annotations?.[key];
  return {
    simulator,
    meddled,
    refusing,
    writer,
    newWriter,
    source,
    recorder,
    ref,
    projection,
    status,
    annotation,
    log,
    fallBehind,
    catchUp,
  };
};

export const patchesOf = (simulator: KubernetesSimulator, part: string): number =>
  simulator.requests.filter(({ method, path }) => method === 'PATCH' && path.includes(part)).length;
