import { describe, expect, onTestFinished, test } from 'vitest';
import { ProviderError, Unreachable } from '../../../../actors/ports/errors.ts';
import { refusal, ServerUnreachable } from '../../../../adapters/kubernetes/client/api-error.ts';
import type { Connection, Request } from '../../../../adapters/kubernetes/client/connection.ts';
import { KubernetesVipWriter } from '../../../../adapters/kubernetes/writer/vip-writer.ts';
import { parseAddress } from '../../../../machines/model/address.ts';
import type { Address, ObjectRef } from '../../../../machines/model/types.ts';
import type { JsonObject } from '../../../../simulator/kubernetes/objects.ts';
import { TestFence } from '../../../contracts/vip-harness.ts';
import { VIP_CRDS } from '../../../contracts/vip-kubernetes.ts';
import { connected, simulated } from '../support.ts';

const A = parseAddress('192.0.2.1') as Address;
const SIX = parseAddress('2001:db8::1') as Address;
const WEB = { apiVersion: 'v1', kind: 'Service', namespace: 'default', name: 'web' };
const ipRef = (name: string) => ({ apiVersion: 'paas.org/v1', kind: 'IP', name });

/** A Service on a server of this version, and a writer before whose requests `before` runs. */
const prepared = async ({
  version = 'v1.36.3',
  crds = VIP_CRDS,
  before = () => undefined,
}: {
  readonly version?: string;
  readonly crds?: readonly string[];
  readonly before?: (request: Request) => void;
} = {}) => {
  const simulator = await simulated({ crds, version });
  const { apiVersion, kind, ...metadata } = WEB;
  const created = simulator.store.create({ apiVersion, kind, metadata, spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } });
  const connection = connected(simulator.kubeconfig());
  const requests: Request[] = [];
  const send: Connection['send'] = async (request) => {
    requests.push(request);
    before(request);
    return connection.send(request);
  };
  const ref: ObjectRef = { kind: 'Service', namespace: 'default', name: 'web', uid: created.metadata.uid ?? '' };
  const writer = new KubernetesVipWriter({ connection: { ...connection, send }, clock: { now: () => 0 }, loadBalancerClass: null });
  const sent = (method: string): readonly Request[] => requests.filter((request) => request.method === method);
  return { simulator, writer, ref, sent };
};

const ingressOf = (object: JsonObject): unknown => (object.status as { loadBalancer: { ingress?: unknown } }).loadBalancer.ingress;

describe('the object that reserves an address', () => {
  test('bears the name, the label and the annotations of before, and the uid of the Service', async () => {
    const { simulator, writer, ref } = await prepared();
    await writer.reserve(A, 'group-a', ref, new TestFence());
    const { metadata } = simulator.store.get(ipRef('192.0.2.1'));
    expect(metadata.labels).toEqual({ ipgroup: 'group-a' });
    expect(metadata.annotations).toEqual({ 'virtualips.paas.il/owner': 'default/web', 'ips.paas.org/owner-uid': ref.uid });
    expect(metadata).not.toHaveProperty('finalizers');
    expect(metadata).not.toHaveProperty('ownerReferences');
  });

  test('of an IPv6 address has it written out as its name, and as it is in an annotation', async () => {
    const { simulator, writer, ref } = await prepared();
    await writer.reserve(SIX, 'six', ref, new TestFence());
    const { metadata } = simulator.store.get(ipRef('2001-0db8-0000-0000-0000-0000-0000-0001'));
    expect(metadata.annotations).toMatchObject({ 'ips.paas.org/address': '2001:db8::1' });
  });

  test('is made anew when the one that was in the way has gone', async () => {
    let gone = false;
    const { simulator, writer, ref } = await prepared({
      before: ({ method, path }) => {
        if (method !== 'GET' || !path.endsWith('/ips/192.0.2.1') || gone) return;
        gone = true;
        simulator.store.delete(ipRef('192.0.2.1'));
      },
    });
    simulator.store.create({ apiVersion: 'paas.org/v1', kind: 'IP', metadata: { name: '192.0.2.1' } });
    expect(await writer.reserve(A, 'a', ref, new TestFence())).toMatchObject({ owner: { name: 'web' } });
    expect(gone).toBe(true);
  });

  test('is not made where the kind is not served: that is no fault of the Service', async () => {
    const { writer, ref } = await prepared({ crds: [] });
    await expect(writer.reserve(A, 'a', ref, new TestFence())).rejects.toMatchObject({
      kind: 'Unavailable',
      message: 'reserve 192.0.2.1 for Service default/web: this cluster serves no IPs',
    });
  });

  test('is not deleted any more once somebody else has changed it', async () => {
    const { simulator, writer, ref, sent } = await prepared({
      before: ({ method }) => {
        if (method !== 'DELETE') return;
        simulator.store.patch(ipRef('192.0.2.1'), { metadata: { annotations: { 'virtualips.paas.il/owner': 'other/one' } } });
      },
    });
    const ip = await writer.reserve(A, 'a', ref, new TestFence());
    await writer.free(ip, new TestFence());
    expect(sent('DELETE')).toHaveLength(1);
    expect(simulator.store.find(ipRef('192.0.2.1'))).toBeDefined();
  });
});

describe('a published address', () => {
  test.each([
    ['v1.30.0', { ip: '192.0.2.1', ipMode: 'VIP' }],
    ['v1.29.4', { ip: '192.0.2.1' }],
    ['v1.20.2', { ip: '192.0.2.1' }],
  ])('bears its mode where the server knows such: %s', async (version, entry) => {
    const { simulator, writer, ref, sent } = await prepared({ version });
    expect(await writer.publish(ref, A, new TestFence())).toBe(true);
    expect(sent('PATCH').map(({ body }) => (body as { status: unknown }).status)).toEqual([{ loadBalancer: { ingress: [entry] } }]);
    expect(ingressOf(simulator.store.get(WEB))).toEqual([entry]);
    expect(await writer.publish(ref, A, new TestFence())).toBe(false);
    expect(await writer.publish(ref, null, new TestFence())).toBe(true);
    expect(ingressOf(simulator.store.get(WEB))).toBeUndefined();
  });

  test('is written again where somebody has put another mode, or ports, beside it', async () => {
    const { simulator, writer, ref } = await prepared();
    for (const more of [{ ipMode: 'Proxy' }, { ports: [{ port: 80, protocol: 'TCP' }] }]) {
      const body = { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1', ...more }] } } };
      simulator.store.patch(WEB, body, { subresource: 'status' });
      expect(await writer.publish(ref, A, new TestFence())).toBe(true);
      expect(ingressOf(simulator.store.get(WEB))).toEqual([{ ip: '192.0.2.1', ipMode: 'VIP' }]);
    }
  });
});

describe('a write that meets somebody else’s', () => {
  const meddling = async (times: number) => {
    let met = 0;
    const cluster = await prepared({
      before: ({ method }) => {
        if (method !== 'PATCH' || met >= times) return;
        met += 1;
        cluster.simulator.store.patch(WEB, { metadata: { finalizers: [`example.com/other-${met}`] } });
      },
    });
    return { ...cluster, met: () => met };
  };

  test('is made again from what stands there by then, and loses nothing of it', async () => {
    const { simulator, writer, ref, met } = await meddling(3);
    const fence = new TestFence();
    await writer.guard(ref, fence);
    expect(met()).toBe(3);
    expect(simulator.store.get(WEB).metadata.finalizers).toEqual(['example.com/other-3', 'ips.paas.org/finalizer']);
    // Each try looks anew whether it may still write.
    expect(fence).toMatchObject({ reads: 4, asserted: 4 });
  });

  test('is given up after some times, for later', async () => {
    const { writer, ref, met } = await meddling(100);
    await expect(writer.guard(ref, new TestFence())).rejects.toBeInstanceOf(Unreachable);
    expect(met()).toBe(6);
  });
});

describe('a write that is refused', () => {
  const refused = (code: number, message: string) =>
    prepared({
      before: ({ method, path }) => {
        if (method !== 'GET') throw refusal({ verb: method === 'POST' ? 'create' : 'patch', path }, code, message);
      },
    });

  test('by the roles says which right is missing', async () => {
    const { writer, ref } = await refused(403, 'ips.paas.org is forbidden: User "operator" cannot create resource "ips"');
    const error = await writer.reserve(A, 'a', ref, new TestFence()).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ProviderError);
    expect(error).toMatchObject({ kind: 'Unauthorized', message: expect.stringContaining('the ServiceAccount may not create ips') });
  });

  test('by an admission webhook says what that said, and not that a right is missing', async () => {
    const denial = 'admission webhook "vip.kb.io" denied the request: user a cannot create ip objects, only b is allowed';
    const { writer, ref } = await refused(403, denial);
    const error = await writer.reserve(A, 'a', ref, new TestFence()).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ kind: 'Unauthorized', message: expect.stringContaining(denial) });
    expect(String(error)).not.toContain('ServiceAccount');
  });

  test('by the rules of the server is invalid', async () => {
    const { writer, ref } = await refused(422, 'Service "web" is invalid');
    await expect(writer.guard(ref, new TestFence())).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('is invalid'),
    });
  });

  test('by a webhook that does not answer is to be tried later', async () => {
    const { writer, ref } = await refused(500, 'Internal error occurred: failed calling webhook "vip.kb.io"');
    const error = await writer.reserve(A, 'a', ref, new TestFence()).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ServerUnreachable);
    expect(error, 'people are to be told').toMatchObject({ isAnswered: true });
  });

  test.each([429, 408])('by %i is no error of the server', async (status) => {
    const { writer, ref } = await refused(status, 'later');
    await expect(writer.reserve(A, 'a', ref, new TestFence())).rejects.toMatchObject({ isAnswered: false });
  });
});

test('a server that cannot be reached is told as such, and nothing counts as gone', async () => {
  const { simulator, writer, ref } = await prepared();
  simulator.faults.outage('reset');
  onTestFinished(() => simulator.faults.endOutage());
  for (const call of [
    () => writer.guard(ref, new TestFence()),
    () => writer.unguard(ref, new TestFence()),
    () => writer.publish(ref, A, new TestFence()),
    () => writer.reserve(A, 'a', ref, new TestFence()),
    () => writer.look(ref),
  ])
    await expect(call()).rejects.toBeInstanceOf(Unreachable);
});
