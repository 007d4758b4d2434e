import { ProviderError } from '../../actors/errors.ts';
import type { Provider } from '../../actors/ports.ts';
import { familyOf } from '../../machines/address.ts';
import type { Address, ProviderID } from '../../machines/types.ts';
import { type AddressCalls, ApiRefusal, type RequestLayer, reservedIPCalls } from './gaps.ts';
import { dropletIdOf, observedAction, observedAddress, observedDroplet } from './read.ts';

/** `floating_ips` are the deprecated paths of the same addresses, which digitalocean-js covers. */
export type AddressAPI = 'reserved_ips' | 'floating_ips';

export type AddressVerbs = Pick<
  Provider,
  | 'findRoutedIP'
  | 'listRoutedIPs'
  | 'findNode'
  | 'createRoutedIP'
  | 'deleteRoutedIP'
  | 'assignRoutedIP'
  | 'actionState'
  | 'unassignRoutedIP'
>;

export function floatingIPCalls(layer: RequestLayer): AddressCalls {
  const { floatingIPs, floatingIPActions } = layer.services;
  return {
    // The library reads the first page only.
    list: () => layer.listAll('/floating_ips', 'floating_ips'),
    get: (ip) => floatingIPs.getExistingFloatingIP(ip),
    create: (region) => floatingIPs.createFloatingIPForRegion(region),
    delete: (ip) => floatingIPs.deleteFloatingIP(ip),
    // The library types the id as a string and sends what it is given; the API wants an integer.
    assign: (ip, dropletId) => floatingIPActions.assignFloatingIPToDroplet(ip, dropletId as unknown as string),
    unassign: (ip) => floatingIPActions.unassignFloatingIP(ip),
    action: (ip, id) => floatingIPActions.getExistingFloatingIPAction(ip, id),
  };
}

export function addressVerbs(layer: RequestLayer, api: AddressAPI): AddressVerbs {
  const calls = api === 'reserved_ips' ? reservedIPCalls(layer) : floatingIPCalls(layer);
  const { verb, services } = layer;
  return {
    findRoutedIP: (address, call) => verb(`find ${address}`, call, async () => observedAddress(await calls.get(ipv4(address)))),
    listRoutedIPs: (call) => verb('list addresses', call, async () => distinct((await calls.list()).map(observedAddress))),
    findNode: (providerID, call) =>
      verb(`find ${providerID}`, call, async () => {
        const droplet = await orNull(services.droplets.getExistingDroplet(dropletIdOf(providerID)));
        return droplet === null ? 'gone' : 'present';
      }),
    createRoutedIP: (region, call) => verb(`create an address in ${region}`, call, async () => createdAddress(await calls.create(region))),
    deleteRoutedIP: (address, call) =>
      verb(`delete ${address}`, call, async () => {
        await orNull(calls.delete(ipv4(address)));
      }),
    assignRoutedIP: (address, providerID, call) =>
      verb(`assign ${address} to ${providerID}`, call, () => assign(layer, calls, address, providerID)),
    actionState: (address, action, call) =>
      verb(`read action ${action} of ${address}`, call, async () => stateOf(await orNull(calls.action(ipv4(address), action)))),
    unassignRoutedIP: (address, call) => verb(`unassign ${address}`, call, () => unassign(calls, address)),
  };
}

function ipv4(address: Address): string {
  if (familyOf(address) !== 4) throw new ProviderError('Unsupported', `${address}: reserved IPv6 addresses are not supported`);
  return address;
}

/** Null for what is not there. */
async function orNull(read: Promise<unknown>): Promise<unknown> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof ProviderError && error.kind === 'NotFound') return null;
    throw error;
  }
}

/** An address shown on two pages means that the list changed while it was read. */
function distinct<T extends { readonly address: Address }>(observed: readonly T[]): readonly T[] {
  if (new Set(observed.map(({ address }) => address)).size === observed.length) return observed;
  throw new ProviderError('Unavailable', 'list addresses: the list changed while it was read');
}

/** The creation took effect: an answer that cannot be read leaves open which address it made. */
function createdAddress(body: unknown): Address {
  try {
    return observedAddress(body).address;
  } catch (cause) {
    throw new ProviderError('Unavailable', 'create an address: the answer names none', { cause, unknownOutcome: true });
  }
}

function stateOf(action: unknown): 'running' | 'completed' | 'errored' | 'unknown' {
  if (action === null) return 'unknown';
  const { status } = observedAction(action);
  if (status === 'in-progress') return 'running';
  return status === 'completed' ? 'completed' : 'errored';
}

async function assign(layer: RequestLayer, calls: AddressCalls, address: Address, providerID: ProviderID): Promise<string | null> {
  const dropletId = dropletIdOf(providerID);
  try {
    return actionRef(await calls.assign(ipv4(address), dropletId));
  } catch (error) {
    if (error instanceof ApiRefusal && error.status === 422 && error.kind === 'Invalid') {
      return await whyRefused(layer, calls, { address, providerID, dropletId, error });
    }
    throw error;
  }
}

/** The call was accepted; without a readable id only the address itself tells how it goes on. */
function actionRef(action: unknown): string | null {
  try {
    return observedAction(action).id;
  } catch {
    return null;
  }
}

interface Refused {
  readonly address: Address;
  readonly providerID: ProviderID;
  readonly dropletId: number;
  readonly error: ApiRefusal;
}

/**
 * A 422 on assign has several causes whose texts are not documented, so the state decides: the address is there already
 * (success), it is locked, the droplet holds another one, or neither.
 */
async function whyRefused(layer: RequestLayer, calls: AddressCalls, refused: Refused): Promise<null> {
  const { address, providerID, dropletId, error } = refused;
  const found = observedAddress(await calls.get(address));
  if (found.providerID === providerID) return null;
  if (found.locked) throw new ProviderError('InProgress', error.message);
  const droplet = observedDroplet(await layer.services.droplets.getExistingDroplet(dropletId));
  if (droplet.region !== found.region) {
    throw new ProviderError('Invalid', `${error.message} (the address is in ${found.region}, the droplet in ${droplet.region})`);
  }
  // A droplet has one public IPv4 address of its own; a second one is a reserved IP.
  if (droplet.publicAddresses.length > 1 || /already has/i.test(error.reason)) throw new ProviderError('NodeInUse', error.message);
  throw error;
}

async function unassign(calls: AddressCalls, address: Address): Promise<void> {
  try {
    await calls.unassign(ipv4(address));
  } catch (error) {
    if (!(error instanceof ApiRefusal) || error.status !== 422 || error.kind !== 'Invalid') throw error;
    if (observedAddress(await calls.get(address)).providerID !== null) throw error;
  }
}
