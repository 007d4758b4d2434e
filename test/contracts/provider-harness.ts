import { expect } from 'vitest';
import { ProviderError } from '../../actors/ports/errors.ts';
import type { Call, Provider } from '../../actors/ports/provider.ts';
import type { Address, DNSRecord, ErrorKind, Family, ObservedAddress, ProviderID } from '../../machines/model/types.ts';

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

/** A record of a zone as a test arranges and inspects it; its name is relative to the zone. */
export type ZoneRecord = Omit<DNSRecord, 'id'>;

/** The zones behind a provider, as a test arranges and inspects them: not through the provider. */
export interface DNSHarness {
  readonly provider: Provider;
  /** Whether records can be proxied here at all. */
  readonly proxies: boolean;
  /** Answers what the provider calls the zone beside its name: its id, or its name again. */
  addZone(zone: string): Promise<string>;
  addRecord(zone: string, record: ZoneRecord): Promise<void>;
  /** Records of the name, ordered by data. */
  records(zone: string, name: string): readonly ZoneRecord[];
  befall(next: NextCall): Promise<void>;
  /** Ends what `befall` left in force. */
  heal(): Promise<void>;
  /** Calls that wanted to change something and reached the provider, so far. */
  writes(): number;
  close(): Promise<void>;
}

/** What is in a firewall that its ports and nodes do not tell. */
export interface ForeignRules {
  /** Rules that no text of a port says. One when it is not said, and no test may lose it. */
  readonly others?: number;
  /** Ports open to everybody by rules that name others besides. */
  readonly mixed?: readonly string[];
  /** Nodes that a tag brings in. */
  readonly tagged?: readonly ProviderID[];
}

/** The world behind a provider, as a test arranges and inspects it: not through the provider. */
export interface ProviderHarness extends DNSHarness {
  /** A region that exists, and another one. */
  readonly regions: readonly [string, string];
  addNode(region: string): ProviderID;
  removeNode(providerID: ProviderID): void;
  addAddress(region: string, family: Family, holder?: ProviderID): Address;
  /** What the provider's own state says of the address now. */
  inspect(address: Address): ObservedAddress | null;
  addresses(): readonly Address[];
  /** No more addresses than these can be created. */
  setQuota(addresses: number): void;
  /** Resolves once every accepted change shows. */
  settle(): Promise<void>;
  /** A firewall with these open ports (`tcp/80`) and nodes. */
  addFirewall(name: string, ports: readonly string[], nodes: readonly ProviderID[], foreign?: ForeignRules): Promise<void>;
  /** From now on a firewall change stays pending for so long, or a little longer. */
  setFirewallMs(ms: number): void;
}

/** What a test of the suite finds set up: read anew by each test. */
export interface Stage {
  readonly world: ProviderHarness;
  readonly provider: Provider;
  /** A region, and another one. */
  readonly here: string;
  readonly elsewhere: string;
  /** What its addresses are. */
  readonly family: Family;
  /** An address that no account has. */
  readonly nowhere: Address;
  /** A new address in the region. */
  address(holder?: ProviderID): Address;
  /** Two nodes and an unattached address in one region. */
  pair(): { a: ProviderID; b: ProviderID; address: Address };
}

export const read: Call = { purpose: 'verify' };
export const failover: Call = { purpose: 'failover' };
export const creation: Call = { purpose: 'create' };

/** The error a promise ends with. Fails when there is none or when it is no ProviderError. */
export async function failure(promise: Promise<unknown>): Promise<ProviderError> {
  const error: unknown = await promise.then(
    () => 'no error',
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ProviderError);
  return error as ProviderError;
}

export async function expectKind(promise: Promise<unknown>, kind: ErrorKind): Promise<ProviderError> {
  const error = await failure(promise);
  expect(error.kind, error.message).toBe(kind);
  return error;
}
