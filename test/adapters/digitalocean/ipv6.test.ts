import { afterEach, describe, expect, test } from 'vitest';
import type { Call } from '../../../actors/ports/provider.ts';
import type { Address, ProviderID } from '../../../machines/model/types.ts';
import type { FaultSpec } from '../../../simulator/digitalocean/faults.ts';
import { expectKind } from '../../contracts/provider-harness.ts';
import { startTestBed, type TestBed } from './support.ts';

const read: Call = { purpose: 'verify' };
const failover: Call = { purpose: 'failover' };

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Bed extends TestBed {
  readonly six: Address;
  readonly node: ProviderID;
  /** Method and path without the query of each call so far. */
  calls(): readonly string[];
  nodeWith(ipv6: boolean): ProviderID;
}

async function testBed(...args: Parameters<typeof startTestBed>): Promise<Bed> {
  const bed = await startTestBed(...args);
  closing.push(bed.close);
  const { simulator } = bed;
  const nodeWith = (ipv6: boolean) => `digitalocean://${simulator.addDroplet({ name: 'a', region: 'nyc3', ipv6 }).id}` as ProviderID;
  const six = simulator.addReservedIP({ region: 'nyc3', family: 6 }).ip as Address;
  // What the token may see is known, and not asked for.
  await bed.provider.findNode(nodeWith(true), read);
  simulator.calls.clear();
  const calls = () => simulator.calls.all().map(({ method, path }) => `${method} ${path.split('?')[0]}`);
  return { ...bed, six, node: nodeWith(true), nodeWith, calls };
}

const dropletOf = (node: ProviderID): number => Number(node.slice('digitalocean://'.length));

describe('a reserved IPv6 address', () => {
  for (const addressAPI of ['reserved_ips', 'floating_ips'] as const) {
    test(`has the paths of its own where IPv4 addresses have those of ${addressAPI}`, async () => {
      const { provider, six, node, calls } = await testBed({ addressAPI });
      await provider.findRoutedIP(six, read);
      const action = await provider.assignRoutedIP(six, node, failover);
      await provider.actionState(six, action ?? '', read);
      expect(calls()).toEqual([`GET /v2/reserved_ipv6/${six}`, `POST /v2/reserved_ipv6/${six}/actions`, `GET /v2/actions/${action}`]);
    });
  }

  test('is unassigned and deleted; while it is held it is not deleted', async () => {
    const { provider, simulator, six, node } = await testBed({}, { actionMs: 0 });
    simulator.moveReservedIP(six, dropletOf(node));
    await expectKind(provider.deleteRoutedIP(six, failover), 'Invalid');
    await provider.unassignRoutedIP(six, failover);
    await provider.deleteRoutedIP(six, failover);
    expect(simulator.state.reservedIPs.size).toBe(0);
  });
});

describe('a list of all addresses', () => {
  test('of a family costs one call for 200 addresses', async () => {
    const { provider, simulator, calls } = await testBed({}, { rateLimit: { perHour: 10_000, perMinute: 10_000 } });
    for (let n = 0; n < 1000; n++) simulator.addReservedIP({ region: 'nyc3' });
    expect(await provider.listRoutedIPs({ ...read, family: 4 })).toHaveLength(1000);
    expect(calls()).toEqual(Array(5).fill('GET /v2/reserved_ips'));
  });

  test('asks for its family alone', async () => {
    const { provider, calls } = await testBed();
    await provider.listRoutedIPs({ ...read, family: 4 });
    await provider.listRoutedIPs({ ...read, family: 6 });
    expect(calls()).toEqual(['GET /v2/reserved_ips', 'GET /v2/reserved_ipv6']);
  });

  test('of IPv6 is empty where the API has no reserved IPv6, and an error where it does not answer, which is nothing to IPv4', async () => {
    const { provider, simulator, six } = await testBed();
    const four = simulator.addReservedIP({ region: 'nyc3' }).ip;
    const listed = async (family: 4 | 6) => (await provider.listRoutedIPs({ ...read, family })).map(({ address }) => address);
    const path = '^/v2/reserved_ipv6\\?';
    simulator.faults.add({ kind: 'status', code: 404, match: { path }, times: 1 });
    expect(await listed(6)).toEqual([]);
    simulator.faults.add({ kind: 'status', code: 503, match: { path }, times: 1 });
    expect(await listed(4)).toEqual([four]);
    await expectKind(listed(6), 'Unavailable');
    expect(await listed(6)).toEqual([six]);
  });
});

describe('a refused assignment of an IPv6 address', () => {
  test('to a droplet without IPv6 says so, and another node may do', async () => {
    const { provider, six, nodeWith, calls } = await testBed();
    const error = await expectKind(provider.assignRoutedIP(six, nodeWith(false), failover), 'NodeInUse');
    expect(error.message).toContain('(IPv6 is not enabled on the droplet)');
    expect(calls().map((call) => call.split(' ')[0])).toEqual(['POST', 'GET', 'GET']);
  });

  test('to a droplet that holds another one names that one', async () => {
    const { provider, simulator, six, node } = await testBed();
    const other = simulator.addReservedIP({ region: 'nyc3', family: 6, dropletId: dropletOf(node) }).ip;
    const error = await expectKind(provider.assignRoutedIP(six, node, failover), 'NodeInUse');
    expect(error.message).toContain(`(the droplet holds ${other})`);
  });

  test('is judged by the state whichever of the two codes it bears', async () => {
    const { provider, simulator, six, node } = await testBed();
    const refuse = (code: number, message: string): FaultSpec => ({
      kind: 'status',
      code,
      body: { id: 'bad_request', message },
      match: { method: 'POST' },
      times: 1,
    });
    for (const code of [400, 422]) {
      simulator.faults.add(refuse(code, 'it already has a pending event'));
      await expectKind(provider.assignRoutedIP(six, node, failover), 'InProgress');
      simulator.faults.add(refuse(code, 'no'));
      await expectKind(provider.assignRoutedIP(six, node, failover), 'Invalid');
    }
    simulator.moveReservedIP(six, dropletOf(node));
    for (const code of [400, 422]) {
      simulator.faults.add(refuse(code, 'no'));
      expect(await provider.assignRoutedIP(six, node, failover)).toBe(null);
    }
  });
});
