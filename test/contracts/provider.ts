import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Fenced, ProviderError } from '../../actors/errors.ts';
import type { Call, Provider } from '../../actors/ports.ts';
import type { Address, ErrorKind, ObservedAddress, ProviderID } from '../../machines/types.ts';

/** What befalls the next call, or the next that it can befall, once. */
export type NextCall =
  /** The effect takes place, but the answer is lost. */
  | 'lostAnswer'
  /** The request is lost on its way after it was sent. */
  | 'lostRequest'
  /** No connection comes about: nothing was sent. Lasts until `heal`. */
  | 'refusedConnection'
  /** 429 with 7 s to wait. */
  | 'rateLimited'
  /** The provider is busy with an earlier change of the address or the node. */
  | 'pendingEvent'
  | 'unauthorized'
  | 'unavailable'
  /** A list comes back without its end. */
  | 'partialList';

/** The world behind a provider, as a test arranges and inspects it: not through the provider. */
export interface ProviderHarness {
  readonly provider: Provider;
  /** A region that exists, and another one. */
  readonly regions: readonly [string, string];
  addNode(region: string): ProviderID;
  removeNode(providerID: ProviderID): void;
  addAddress(region: string, holder?: ProviderID): Address;
  /** What the provider's own state says of the address now. */
  inspect(address: Address): ObservedAddress | null;
  addresses(): readonly Address[];
  /** No more addresses than these can be created. */
  setQuota(addresses: number): void;
  /** Resolves once every accepted change shows. */
  settle(): Promise<void>;
  befall(next: NextCall): Promise<void>;
  /** Ends what `befall` left in force. */
  heal(): Promise<void>;
  /** Calls that wanted to change something and reached the provider, so far. */
  writes(): number;
  /** A firewall with these open ports (`tcp/80`), and one rule that is not ours. */
  addFirewall(name: string, ports: readonly string[], nodes: readonly ProviderID[]): Promise<void>;
  addZone(zone: string): Promise<void>;
  addRecord(zone: string, record: { readonly name: string; readonly data: string; readonly ttl: number }): Promise<void>;
  /** A records of the name (relative to the zone), sorted by data. */
  records(zone: string, name: string): readonly { readonly data: string; readonly ttl: number }[];
  close(): Promise<void>;
}

const read: Call = { purpose: 'verify' };
const failover: Call = { purpose: 'failover' };
const creation: Call = { purpose: 'create' };

/** The error a promise ends with. Fails when there is none or when it is no ProviderError. */
export async function failure(promise: Promise<unknown>): Promise<ProviderError> {
  const error: unknown = await promise.then(
    () => 'no error',
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ProviderError);
  return error as ProviderError;
}

async function expectKind(promise: Promise<unknown>, kind: ErrorKind): Promise<ProviderError> {
  const error = await failure(promise);
  expect(error.kind, error.message).toBe(kind);
  return error;
}

const nowhere = '203.0.113.250' as Address;

/** The suite that every implementation of the provider port passes. */
export function describeProvider(name: string, setup: () => Promise<ProviderHarness>): void {
  describe(`the provider ${name}`, () => {
    let world: ProviderHarness;
    let provider: Provider;
    let here: string;
    let elsewhere: string;
    beforeEach(async () => {
      world = await setup();
      provider = world.provider;
      [here, elsewhere] = world.regions;
    });
    afterEach(() => world.close());

    /** Two nodes and an unattached address in one region. */
    function pair(): { a: ProviderID; b: ProviderID; address: Address } {
      return { a: world.addNode(here), b: world.addNode(here), address: world.addAddress(here) };
    }

    describe('finding', () => {
      test('reports region and holder of an address', async () => {
        const { a, address } = pair();
        const held = world.addAddress(here, a);
        expect(await provider.findRoutedIP(address, read)).toEqual({ address, region: here, providerID: null, locked: false });
        expect(await provider.findRoutedIP(held, read)).toEqual({ address: held, region: here, providerID: a, locked: false });
      });

      test('of an address that does not exist is NotFound', async () => {
        const error = await expectKind(provider.findRoutedIP(nowhere, read), 'NotFound');
        expect(error.unknownOutcome).toBe(false);
      });

      test('tells whether the machine behind a node exists', async () => {
        const { a } = pair();
        expect(await provider.findNode(a, read)).toBe('present');
        world.removeNode(a);
        expect(await provider.findNode(a, read)).toBe('gone');
      });

      test('of a node of another provider is Invalid', async () => {
        await expectKind(provider.findNode('elsewhere:///x/1' as ProviderID, read), 'Invalid');
      });
    });

    describe('listing', () => {
      test('an account without addresses is an empty list', async () => {
        expect(await provider.listRoutedIPs(read)).toEqual([]);
      });

      test('shows every address once, however many pages that takes', async () => {
        const all = Array.from({ length: 450 }, () => world.addAddress(here));
        const listed = (await provider.listRoutedIPs(read)).map(({ address }) => address);
        expect(listed).toHaveLength(450);
        expect([...listed].sort()).toEqual(all.sort());
      });

      test('is an error when the list came back without its end', async () => {
        for (let i = 0; i < 10; i++) world.addAddress(here);
        await world.befall('partialList');
        await expectKind(provider.listRoutedIPs(read), 'Unavailable');
        expect(await provider.listRoutedIPs(read)).toHaveLength(10);
      });
    });

    describe('creating', () => {
      test('makes one address in the region, attached to nothing', async () => {
        const address = await provider.createRoutedIP(here, creation);
        expect(world.addresses()).toEqual([address]);
        expect(world.inspect(address)).toMatchObject({ region: here, providerID: null });
      });

      test('beyond the quota is Invalid and makes none', async () => {
        world.setQuota(1);
        await provider.createRoutedIP(here, creation);
        const error = await expectKind(provider.createRoutedIP(here, creation), 'Invalid');
        expect(error.unknownOutcome).toBe(false);
        expect(world.addresses()).toHaveLength(1);
      });

      test('whose answer is lost says that it may have taken effect, and it has', async () => {
        await world.befall('lostAnswer');
        const error = await expectKind(provider.createRoutedIP(here, creation), 'Unavailable');
        expect(error.unknownOutcome).toBe(true);
        expect(world.addresses()).toHaveLength(1);
      });
    });

    describe('deleting', () => {
      test('removes the address, and once more is harmless', async () => {
        const { address } = pair();
        await provider.deleteRoutedIP(address, creation);
        expect(world.addresses()).toEqual([]);
        await provider.deleteRoutedIP(address, creation);
      });
    });

    describe('assigning', () => {
      test('points the address at the node', async () => {
        const { a, address } = pair();
        await provider.assignRoutedIP(address, a, failover);
        await world.settle();
        expect(world.inspect(address)).toMatchObject({ providerID: a, locked: false });
        expect(await provider.findRoutedIP(address, read)).toMatchObject({ providerID: a, locked: false });
      });

      test('moves the address from one node to another', async () => {
        const { a, b } = pair();
        const held = world.addAddress(here, a);
        await provider.assignRoutedIP(held, b, failover);
        await world.settle();
        expect(world.inspect(held)).toMatchObject({ providerID: b });
      });

      test('hands out a reference by which the action can be asked for', async () => {
        const { a, address } = pair();
        const ref = await provider.assignRoutedIP(address, a, failover);
        await world.settle();
        if (ref !== null) expect(['completed', 'unknown']).toContain(await provider.actionState(address, ref, read));
        expect(await provider.actionState(address, '987654321', read)).toBe('unknown');
      });

      test('where it is already is success', async () => {
        const { a } = pair();
        const held = world.addAddress(here, a);
        expect(await provider.assignRoutedIP(held, a, failover)).toBe(null);
        await world.settle();
        expect(world.inspect(held)).toMatchObject({ providerID: a });
      });

      test('to a node that holds another address is NodeInUse and changes nothing', async () => {
        const { a, address } = pair();
        const other = world.addAddress(here, a);
        await expectKind(provider.assignRoutedIP(address, a, failover), 'NodeInUse');
        await world.settle();
        expect([world.inspect(address)?.providerID, world.inspect(other)?.providerID]).toEqual([null, a]);
      });

      test('of an unknown address, or to a node that is gone, is NotFound', async () => {
        const { a, b, address } = pair();
        await expectKind(provider.assignRoutedIP(nowhere, a, failover), 'NotFound');
        world.removeNode(b);
        await expectKind(provider.assignRoutedIP(address, b, failover), 'NotFound');
      });

      test('across regions is Invalid', async () => {
        const { address } = pair();
        await expectKind(provider.assignRoutedIP(address, world.addNode(elsewhere), failover), 'Invalid');
      });

      test('to a node of another provider is Invalid and sends nothing', async () => {
        const { address } = pair();
        const before = world.writes();
        await expectKind(provider.assignRoutedIP(address, 'elsewhere:///x/1' as ProviderID, failover), 'Invalid');
        expect(world.writes()).toBe(before);
      });

      test('while an earlier change is pending is InProgress', async () => {
        const { a, address } = pair();
        await world.befall('pendingEvent');
        const error = await expectKind(provider.assignRoutedIP(address, a, failover), 'InProgress');
        expect(error.unknownOutcome).toBe(false);
      });

      test('whose answer is lost says that it may have taken effect, and repeating it does no harm', async () => {
        const { a, address } = pair();
        await world.befall('lostAnswer');
        const error = await expectKind(provider.assignRoutedIP(address, a, failover), 'Unavailable');
        expect(error.unknownOutcome).toBe(true);
        await world.settle();
        expect(world.inspect(address)).toMatchObject({ providerID: a });
        await provider.assignRoutedIP(address, a, failover);
        await world.settle();
        expect(world.inspect(address)).toMatchObject({ providerID: a });
      });

      test('that is lost on its way says that it may have taken effect, although it has not', async () => {
        const { a, address } = pair();
        await world.befall('lostRequest');
        expect((await expectKind(provider.assignRoutedIP(address, a, failover), 'Unavailable')).unknownOutcome).toBe(true);
        await world.settle();
        expect(world.inspect(address)).toMatchObject({ providerID: null });
      });

      test('without a connection says that nothing was sent', async () => {
        const { a, address } = pair();
        await world.befall('refusedConnection');
        expect((await expectKind(provider.assignRoutedIP(address, a, failover), 'Unavailable')).unknownOutcome).toBe(false);
        await world.heal();
        expect(world.inspect(address)).toMatchObject({ providerID: null });
      });
    });

    describe('unassigning', () => {
      test('detaches the address, and once more is harmless', async () => {
        const { a } = pair();
        const held = world.addAddress(here, a);
        await provider.unassignRoutedIP(held, failover);
        await world.settle();
        expect(world.inspect(held)).toMatchObject({ providerID: null });
        await provider.unassignRoutedIP(held, failover);
      });
    });

    describe('errors', () => {
      test('of the rate limit tell how long to wait', async () => {
        const { address } = pair();
        await world.befall('rateLimited');
        expect((await expectKind(provider.findRoutedIP(address, read), 'RateLimited')).retryAfterMs).toBe(7000);
      });

      test('of a refused token are Unauthorized', async () => {
        const { address } = pair();
        await world.befall('unauthorized');
        await expectKind(provider.findRoutedIP(address, read), 'Unauthorized');
      });

      test('of a read never leave an effect in doubt', async () => {
        const { address } = pair();
        for (const next of ['unavailable', 'lostAnswer'] as const) {
          await world.befall(next);
          expect((await expectKind(provider.findRoutedIP(address, read), 'Unavailable')).unknownOutcome, next).toBe(false);
        }
      });

      test('of a provider that is down leave a write in doubt', async () => {
        const { a, address } = pair();
        await world.befall('unavailable');
        expect((await expectKind(provider.assignRoutedIP(address, a, failover), 'Unavailable')).unknownOutcome).toBe(true);
      });
    });

    describe('the fence', () => {
      const closed = new Fenced('not the leader any more');

      test('that is closed when it is read keeps the write from being sent', async () => {
        const { a, address } = pair();
        const before = world.writes();
        const fence = { read: () => Promise.reject(closed), assertFresh: () => undefined };
        await expect(provider.assignRoutedIP(address, a, { purpose: 'failover', fence })).rejects.toBe(closed);
        expect(world.writes()).toBe(before);
      });

      test('that goes stale just before the send keeps the write from being sent', async () => {
        const { a, address } = pair();
        const before = world.writes();
        const stale = () => {
          throw closed;
        };
        const fence = { read: () => Promise.resolve(), assertFresh: stale };
        await expect(provider.assignRoutedIP(address, a, { purpose: 'failover', fence })).rejects.toBe(closed);
        await world.settle();
        expect([world.writes(), world.inspect(address)?.providerID]).toEqual([before, null]);
      });

      test('that is open is read before it is asserted, once for a write', async () => {
        const { a, address } = pair();
        const asked: string[] = [];
        const fence = {
          read: async () => {
            asked.push('read');
          },
          assertFresh: () => {
            asked.push('assertFresh');
          },
        };
        await provider.assignRoutedIP(address, a, { purpose: 'failover', fence });
        expect(asked).toEqual(['read', 'assertFresh']);
      });
    });

    describe('firewalls', () => {
      const call: Call = { purpose: 'firewall' };
      const web = { port: 80, protocol: 'TCP' } as const;
      const quic = { port: 443, protocol: 'UDP' } as const;

      test('are found by name, and none is null', async () => {
        const { a } = pair();
        await world.addFirewall('front', ['tcp/22'], [a]);
        const found = await provider.findRoutedIPFirewall('front', call);
        expect(found).toMatchObject({ name: 'front', ports: ['tcp/22'], nodes: [a] });
        expect(await provider.findRoutedIPFirewall('back', call)).toBe(null);
      });

      test('get and lose ports and nodes, and keep what was there', async () => {
        const { a, b } = pair();
        await world.addFirewall('front', ['tcp/22'], [a]);
        await provider.addRoutedIPFirewallPort('front', [web, quic], call);
        await provider.addRoutedIPFirewallNode('front', [b], call);
        await world.settle();
        const opened = await provider.findRoutedIPFirewall('front', call);
        expect(opened).toMatchObject({ ports: ['tcp/22', 'tcp/80', 'udp/443'], nodes: [a, b].sort(), pending: false });
        await provider.deleteRoutedIPFirewallPort('front', [web], call);
        await provider.deleteRoutedIPFirewallNode('front', [a], call);
        await world.settle();
        expect(await provider.findRoutedIPFirewall('front', call)).toMatchObject({ ports: ['tcp/22', 'udp/443'], nodes: [b] });
      });

      test('are written to by the id that finding them told', async () => {
        const { a, b } = pair();
        await world.addFirewall('front', ['tcp/22'], [a]);
        const id = (await provider.findRoutedIPFirewall('front', call))?.id ?? '';
        await provider.addRoutedIPFirewallPort(id, [web], call);
        await provider.addRoutedIPFirewallNode(id, [b], call);
        await provider.deleteRoutedIPFirewallNode(id, [a], call);
        await world.settle();
        expect(await provider.findRoutedIPFirewall('front', call)).toMatchObject({ id, ports: ['tcp/22', 'tcp/80'], nodes: [b] });
      });

      test('are not written to when there is nothing to change', async () => {
        const { a, b } = pair();
        await world.addFirewall('front', ['tcp/80'], [a]);
        const before = world.writes();
        await provider.addRoutedIPFirewallPort('front', [web], call);
        await provider.addRoutedIPFirewallNode('front', [a], call);
        await provider.deleteRoutedIPFirewallPort('front', [quic], call);
        await provider.deleteRoutedIPFirewallNode('front', [b], call);
        expect(world.writes()).toBe(before);
      });

      test('that do not exist are NotFound, and none is made', async () => {
        await expectKind(provider.addRoutedIPFirewallPort('front', [web], call), 'NotFound');
        expect(await provider.findRoutedIPFirewall('front', call)).toBe(null);
      });
    });

    describe('DNS', () => {
      const call: Call = { purpose: 'dns' };
      const set = (...addresses: readonly string[]) => ({
        zone: 'example.com',
        recordName: 'nodes',
        ttlSeconds: 60,
        addresses: addresses as readonly Address[],
      });

      test('makes the record set exactly the addresses, and leaves other names alone', async () => {
        await world.addZone('example.com');
        await world.addRecord('example.com', { name: 'nodes', data: '203.0.113.1', ttl: 60 });
        await world.addRecord('example.com', { name: 'nodes', data: '203.0.113.9', ttl: 60 });
        await world.addRecord('example.com', { name: 'other', data: '203.0.113.9', ttl: 60 });
        await provider.ensureDNSRecordSet(set('203.0.113.1', '203.0.113.2', '203.0.113.3'), call);
        expect(world.records('example.com', 'nodes').map(({ data }) => data)).toEqual(['203.0.113.1', '203.0.113.2', '203.0.113.3']);
        expect(world.records('example.com', 'other')).toHaveLength(1);
        await provider.ensureDNSRecordSet(set('203.0.113.2'), call);
        expect(world.records('example.com', 'nodes')).toEqual([{ data: '203.0.113.2', ttl: 60 }]);
      });

      test('corrects the TTL, and writes nothing when all is right', async () => {
        await world.addZone('example.com');
        await world.addRecord('example.com', { name: 'nodes', data: '203.0.113.1', ttl: 1800 });
        await provider.ensureDNSRecordSet(set('203.0.113.1'), call);
        expect(world.records('example.com', 'nodes')).toEqual([{ data: '203.0.113.1', ttl: 60 }]);
        const before = world.writes();
        await provider.ensureDNSRecordSet(set('203.0.113.1'), call);
        expect(world.writes()).toBe(before);
      });

      test('is never written empty', async () => {
        await world.addZone('example.com');
        await world.addRecord('example.com', { name: 'nodes', data: '203.0.113.1', ttl: 60 });
        await expectKind(provider.ensureDNSRecordSet(set(), call), 'Invalid');
        expect(world.records('example.com', 'nodes')).toHaveLength(1);
      });

      test('in a zone that does not exist is NotFound', async () => {
        await expectKind(provider.ensureDNSRecordSet(set('203.0.113.1'), call), 'NotFound');
      });
    });
  });
}
