import { PartialList, ProviderError } from '../../actors/ports/errors.ts';
import type { Provider } from '../../actors/ports/provider.ts';
import { familyOf } from '../../machines/model/address.ts';
import type { Address, ObservedAddress, ProviderID } from '../../machines/model/types.ts';
import { fields, unreadable } from '../http/read.ts';
import { type AddressCalls, ApiRefusal, type RequestLayer, reservedIPCalls } from './gaps.ts';
import { CutList } from './paging.ts';
import { unassignedOfPrefix } from './prefixes.ts';
import { dropletIdOf, type ObservedDroplet, observedAction, observedAddress, observedDroplet } from './read.ts';
import { reservedIPv6Calls } from './reserved-ipv6.ts';
import type { Sight } from './sight.ts';

/** `floating_ips` are the deprecated paths of the same IPv4 addresses, which digitalocean-js covers. */
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
    // The library reads only the first page.
    list: () => layer.listAll('/floating_ips', 'floating_ips', observedAddress),
    get: (ip) => floatingIPs.getExistingFloatingIP(ip),
    create: (region) => floatingIPs.createFloatingIPForRegion(region),
    delete: (ip) => floatingIPs.deleteFloatingIP(ip),
    // The library types the id as a string and sends it unchanged; the API expects an integer.
    assign: (ip, dropletId) => floatingIPActions.assignFloatingIPToDroplet(ip, dropletId as unknown as string),
    unassign: (ip) => floatingIPActions.unassignFloatingIP(ip),
    action: (ip, id) => floatingIPActions.getExistingFloatingIPAction(ip, id),
  };
}

type Calls = Omit<AddressCalls, 'create'>;

export function addressVerbs(layer: RequestLayer, api: AddressAPI, droplets: Sight): AddressVerbs {
  const four = api === 'reserved_ips' ? reservedIPCalls(layer) : floatingIPCalls(layer);
  const six = reservedIPv6Calls(layer);
  const callsFor = (address: Address): Calls => (familyOf(address) === 4 ? four : six);
  const { verb, services } = layer;
  return {
    findRoutedIP: (address, call) =>
      verb(`find ${address}`, call, async () => {
        const observed = await found(callsFor(address), address).catch((error) => orOfPrefix(layer, address, error));
        await seen([observed], droplets);
        return observed;
      }),
    listRoutedIPs: (call) =>
      verb('list addresses', call, async () => {
        const { items, cut } = await (call.family === 4 ? four : six).list().then((items) => ({ items, cut: null }), cutShort);
        const distinct = [...new Map(items.map((each) => [each.address, each])).values()];
        await seen(distinct, droplets);
        if (cut) throw new PartialList(cut.message, distinct, { cause: cut });
        if (distinct.length < items.length) throw new PartialList('list addresses: the list changed while it was read', distinct);
        return distinct;
      }),
    findNode: (providerID, call) =>
      verb(`find ${providerID}`, call, async () => {
        const droplet = await orNull(services.droplets.getExistingDroplet(dropletIdOf(providerID)));
        droplets.shown();
        if (droplet === null) return 'gone';
        fields(droplet, 'droplet');
        return 'present';
      }),
    createRoutedIP: (region, call) => verb(`create an address in ${region}`, call, async () => createdAddress(await four.create(region))),
    deleteRoutedIP: (address, call) =>
      verb(`delete ${address}`, call, async () => {
        await orNull(callsFor(address).delete(address));
      }),
    assignRoutedIP: (address, providerID, call) =>
      verb(`assign ${address} to ${providerID}`, call, () => assign(layer, callsFor(address), address, providerID)),
    actionState: (address, action, call) =>
      verb(`read action ${action} of ${address}`, call, async () => stateOf(await orNull(callsFor(address).action(address, action)))),
    unassignRoutedIP: (address, call) => verb(`unassign ${address}`, call, () => unassign(callsFor(address), address)),
  };
}

/** The API's state of exactly this address. */
async function found(calls: Calls, address: Address): Promise<ObservedAddress> {
  const observed = observedAddress(await calls.get(address));
  if (observed.address !== address) throw unreadable('address');
  return observed;
}

/** @throws the original error for an address outside the account's prefixes */
async function orOfPrefix(layer: RequestLayer, address: Address, error: unknown): Promise<ObservedAddress> {
  const isMissing = error instanceof ProviderError && error.kind === 'NotFound' && familyOf(address) === 4;
  const observed = isMissing ? await unassignedOfPrefix(layer, address) : null;
  if (observed === null) throw error;
  return observed;
}

/** Where none of them is on a Droplet, the token may lack the scope to see Droplets. @throws ProviderError Unauthorized */
async function seen(observed: readonly ObservedAddress[], droplets: Sight): Promise<void> {
  if (observed.some(({ providerID }) => providerID !== null)) droplets.shown();
  else if (observed.length > 0) await droplets.require();
}

/** Null for what does not exist. */
async function orNull(read: Promise<unknown>): Promise<unknown> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof ProviderError && error.kind === 'NotFound') return null;
    throw error;
  }
}

/** @throws any other error than a CutList */
function cutShort(error: unknown): { readonly items: readonly ObservedAddress[]; readonly cut: Error } {
  if (error instanceof CutList) return { items: error.shown as readonly ObservedAddress[], cut: error };
  throw error;
}

/** The creation took effect: with an unreadable response it is in doubt which address was created. */
function createdAddress(body: unknown): Address {
  try {
    return observedAddress(body).address;
  } catch (cause) {
    throw new ProviderError('Unavailable', 'create an address: the answer names none', { cause, unknownOutcome: true });
  }
}

function stateOf(action: unknown): 'running' | 'completed' | 'errored' | 'unknown' {
  if (action === null) return 'unknown';
  return STATE_OF_ACTION.get(observedAction(action).status) ?? 'unknown';
}

/** The API description has `in-progress`, `completed` and `errored`; the others have been observed. */
export const STATE_OF_ACTION: ReadonlyMap<string, 'running' | 'completed' | 'errored'> = new Map([
  ['new', 'running'],
  ['pending', 'running'],
  ['in-progress', 'running'],
  ['completed', 'completed'],
  ['done', 'completed'],
  ['errored', 'errored'],
]);

async function assign(layer: RequestLayer, calls: Calls, address: Address, providerID: ProviderID): Promise<string | null> {
  const dropletId = dropletIdOf(providerID);
  try {
    return actionRef(await calls.assign(address, dropletId));
  } catch (error) {
    if (isStateRefusal(error)) return await whyRefused(layer, calls, { address, providerID, dropletId, error });
    if (familyOf(address) === 6 && isHungMove(error)) await takeOffFirst(calls, address, providerID).catch(() => undefined);
    throw error;
  }
}

/** A hung move between Droplets has been seen to return 500 repeatedly (terraform-provider-digitalocean pull request 1277). */
const isHungMove = (error: unknown): boolean => error instanceof ApiRefusal && error.status === 500;

/** Unassigns a reserved IPv6 address from another Droplet first: it can be assigned once it is unassigned. True when that was started. */
async function takeOffFirst(calls: Calls, address: Address, to: ProviderID): Promise<boolean> {
  const { providerID, locked } = await found(calls, address);
  if (providerID === null || providerID === to || locked) return false;
  await unassign(calls, address);
  return true;
}

/** Refused because of the state of the address or of the droplet. The API description has 422; for reserved IPv6 addresses 400 has been seen
 *  (terraform-provider-digitalocean pull request 1277). */
const isStateRefusal = (error: unknown): error is ApiRefusal =>
  error instanceof ApiRefusal && (error.status === 422 || error.status === 400) && error.kind === 'Invalid';

/** The call was accepted; without a readable id only the address itself shows the progress. */
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
 * A 422 on assign has several causes with undocumented messages, so the state decides: the address is already assigned there
 * (success, also when only the droplet shows it), it is locked, the droplet can hold none or holds another one, or none of these.
 */
async function whyRefused(layer: RequestLayer, calls: Calls, refused: Refused): Promise<null> {
  const { address, providerID, dropletId, error } = refused;
  const seen = await found(calls, address);
  if (seen.providerID === providerID) return null;
  if (seen.locked) throw new ProviderError('InProgress', error.message);
  const droplet = observedDroplet(await layer.services.droplets.getExistingDroplet(dropletId));
  // Reads of the address may be stale: an address that the droplet itself shows is not another one in the way, and no reason to choose another node.
  if (droplet.publicAddresses.includes(address)) return null;
  if (droplet.region !== seen.region) {
    throw new ProviderError('Invalid', `${error.message} (the address is in ${seen.region}, the droplet in ${droplet.region})`);
  }
  const why = familyOf(address) === 4 ? whyNotIPv4(droplet, error) : await whyNotIPv6(calls, droplet, refused);
  if (why !== null) throw new ProviderError('NodeInUse', error.message + why);
  if (familyOf(address) === 6 && (await takeOffFirst(calls, address, providerID)))
    throw new ProviderError('InProgress', `${error.message} (it is taken off ${seen.providerID} first)`, { cause: error });
  throw error;
}

/** A droplet has one public IPv4 address of its own; a second one is a reserved IP. */
const whyNotIPv4 = ({ publicAddresses }: ObservedDroplet, { reason }: ApiRefusal): string | null =>
  publicAddresses.length > 1 || /already has/i.test(reason) ? '' : null;

/** Another droplet may work in both cases, hence NodeInUse. A droplet does not show which of its IPv6 addresses are reserved; the list does. */
async function whyNotIPv6(calls: Calls, droplet: ObservedDroplet, { address, providerID, error }: Refused): Promise<string | null> {
  if (!droplet.ipv6) return ' (IPv6 is not enabled on the droplet)';
  const other = (await calls.list()).find((each) => each.providerID === providerID && each.address !== address);
  if (other !== undefined) return ` (the droplet holds ${other.address})`;
  return /already has/i.test(error.reason) ? '' : null;
}

async function unassign(calls: Calls, address: Address): Promise<void> {
  try {
    await calls.unassign(address);
  } catch (error) {
    if (!isStateRefusal(error)) throw error;
    if ((await found(calls, address)).providerID !== null) throw error;
  }
}
