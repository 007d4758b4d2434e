import {
  type Candidate,
  freeAddresses,
  groupContaining,
  keepalivedGroupOf,
  requestedAddress,
  UNAVAILABLE,
} from '../../machines/migration/group-segment-mapping.ts';
import type { ClaimedService, MigrationJobInput, MigrationJobOutput, ReservedVirtualIP } from '../../machines/migration/jobs.ts';
import { cloneOfVirtualIP } from '../../machines/migration/observe.ts';
import { isOver, STATES } from '../../machines/migration/phase.ts';
import { annotationsOf, cloneOf, driftOf, followed, isCloneOf } from '../../machines/migration/service-clone.ts';
import { parseAddress } from '../../machines/model/address.ts';
import type { Address, ObjectRef } from '../../machines/model/types.ts';
import { CLONE_FINALIZER, IP_FINALIZER, MIGRATING_ANNOTATION, type VirtualIP, type VirtualIPStatus } from '../../machines/vip/virtualip.ts';
import { Overtaken, ProviderError, VirtualIPNotFound } from '../ports/errors.ts';
import type { Fence } from '../ports/fence.ts';
import type { LiveIP, LiveService, LiveVirtualIP, MigrationWriter, Place } from '../ports/migration.ts';
import { done } from './job.ts';
import type { MigrationJobBodies, MigrationJobBody, MigrationJobContext } from './migration-job.ts';

/** Rewords errors of `act` like the allocator that VirtualIPs come from: `<what>: <why>`. */
async function saying<T>(what: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof Overtaken) throw new Overtaken(`${what}: ${error.message}`, { cause: error });
    if (!(error instanceof ProviderError) || error instanceof VirtualIPNotFound) throw error;
    const { kind, message, retryAfterMs, unknownOutcome } = error;
    throw new ProviderError(kind, `${what}: ${message}`, { cause: error, unknownOutcome, ...(retryAfterMs !== null && { retryAfterMs }) });
  }
}

const NO_SERVICE = 'could not get the service to be exposed';
const NO_ADDRESS = 'could not allocate an IP';
const NO_CLONE = 'failed to create/update the cloned service';
const NOT_CONVERTED = 'could not change service type to LoadBalancer';
const NO_INGRESS = 'could not set service ingress IP in status';

/** @throws ProviderError NotFound */
async function serviceOf(writer: MigrationWriter, { namespace }: ObjectRef, name: string, what: string): Promise<LiveService> {
  return saying(what, async () => {
    const service = await writer.service({ namespace, name });
    if (service === null) throw new ProviderError('NotFound', `Service "${name}" not found`);
    return service;
  });
}

/** @throws VirtualIPNotFound */
export async function virtualIPOf(writer: MigrationWriter, vip: ObjectRef): Promise<LiveVirtualIP> {
  const found = await writer.virtualIP(vip);
  if (found === null) throw new VirtualIPNotFound(vip.name);
  return found;
}

/** @throws ProviderError Invalid */
function addressIn(text: string): Address {
  const address = parseAddress(text);
  if (address === null) throw new ProviderError('Invalid', `${JSON.stringify(text)} is no address`);
  return address;
}

const owns = (ip: Pick<LiveIP, 'owner'>, { namespace, name }: Place): boolean =>
  ip.owner !== null && ip.owner.namespace === namespace && ip.owner.name === name;

const isOfVirtualIP = (ip: Pick<LiveIP, 'owner' | 'legacy'>, vip: Place): boolean => ip.legacy && owns(ip, vip);
const isOfService = (ip: Pick<LiveIP, 'owner' | 'legacy'>, service: Place): boolean => !ip.legacy && owns(ip, service);
const isLoadBalancer = ({ spec }: LiveService): boolean => spec.type === 'LoadBalancer';
const hasIngress = ({ ingress }: LiveService, address: string): boolean => ingress.some(({ ip }) => ip === address);
const asksFor = ({ spec }: LiveService, address: string): boolean => spec.loadBalancerIP === address;

/** Its migration has begun, or is over: a request for an earlier step is based on an outdated record, and nothing of that step is done. */
const hasBegun = (vip: LiveVirtualIP): boolean => isBegun(vip.status) || isOver(vip);

/** Adds the finalizer first, so that nothing is reserved for a VirtualIP that goes; then adopts its own IP, or creates one. */
const reserveVirtualIP: MigrationJobBody<'reserveVirtualIP'> = async ({ input, writer, fence }) => {
  const vip = await virtualIPOf(writer, input.vip);
  const { ip: address, gsm, keepalivedGroup } = vip.status;
  if (hasBegun(vip)) return done({ address, gsm, keepalivedGroup });
  await saying('could not add finalizer for IP object', () => writer.hold(vip, 'ip', fence));
  return done(await saying(NO_ADDRESS, () => reserved(input.vip, input.requested, writer, fence)));
};

async function reserved(vip: ObjectRef, requested: string, writer: MigrationWriter, fence: Fence): Promise<ReservedVirtualIP> {
  const [mappings, ips] = await Promise.all([writer.mappings(), writer.ips()]);
  const answer = ({ address, gsm }: Candidate) => ({ address, gsm, keepalivedGroup: keepalivedGroupOf(mappings, gsm) });
  const own = ips.find((ip) => isOfVirtualIP(ip, vip));
  if (own !== undefined) return answer({ address: own.address, gsm: own.gsm });
  const taken = new Set(ips.map(({ address }) => address));
  if (requested !== '') {
    const candidate = requestedAddress(mappings, taken, requested);
    if ('refused' in candidate) throw new ProviderError('Conflict', candidate.refused);
    if (await isReserved(writer, candidate, vip, fence)) return answer(candidate);
    throw new ProviderError('Conflict', UNAVAILABLE);
  }
  for (const candidate of freeAddresses(mappings, taken)) if (await isReserved(writer, candidate, vip, fence)) return answer(candidate);
  throw new ProviderError('Conflict', 'no IP could be allocated');
}

/** False when another owner was faster; an IP from an earlier try whose outcome was lost is its own. */
async function isReserved(writer: MigrationWriter, { address, gsm }: Candidate, vip: ObjectRef, fence: Fence): Promise<boolean> {
  try {
    await writer.reserve(address, gsm, vip, fence);
    return true;
  } catch (error) {
    if (!(error instanceof ProviderError && error.kind === 'Conflict')) throw error;
    const present = await writer.ip(address);
    return present !== null && isOfVirtualIP(present, vip);
  }
}

const exposeService: MigrationJobBody<'exposeService'> = async ({ input, writer, fence }) => {
  const { vip, service: name, address, clone } = input;
  const live = await virtualIPOf(writer, vip);
  if (hasBegun(live)) return done({ service: live.status.service, clone, begun: true });
  const service = await serviceOf(writer, vip, name, NO_SERVICE);
  await cloned(writer, live, service, { name: clone, address }, fence);
  if (!live.asked && isClaimedBy(service, vip)) await writer.mark(service, null, fence);
  return done({ service: name, clone });
};

/** Ensures a copy that matches the Service. Adds the finalizer before it creates: what was created is always found again. */
async function cloned(
  writer: MigrationWriter,
  live: LiveVirtualIP,
  service: LiveService,
  { name, address }: { readonly name: string; readonly address: string },
  fence: Fence,
): Promise<void> {
  const vip = live.ref;
  await saying('could not add finalizer for service', () => writer.hold(live, 'clone', fence));
  const present = await saying(NO_CLONE, () => writer.service({ namespace: vip.namespace, name }));
  await saying(NO_CLONE, async () => {
    if (present === null) return writer.createClone(cloneOf(service, vip, name, address), fence);
    if (!isCloneOf(present, vip)) throw new ProviderError('Conflict', `Service "${name}" is there, and not of VirtualIP "${vip.name}"`);
    if (driftOf(service, present).length === 0) return;
    const content = { labels: service.labels, annotations: annotationsOf(service), spec: followed(service) };
    return writer.syncClone(present, content, fence);
  });
}

type Step = 'claimService' | 'reassociateIP' | 'handOverIP' | 'convertService' | 'assignIngress';

/** While a migration step fails, the copy serves the Service: it is created again if it was deleted. The error of the step is rethrown. */
const orServed =
  <N extends Step>(step: MigrationJobBody<N>): MigrationJobBody<N> =>
  async (context) => {
    try {
      return await step(context);
    } catch (error) {
      if (error instanceof ProviderError && !(error instanceof Overtaken)) await servedByClone(context).catch(unlessRefused);
      throw error;
    }
  };

/** When the migration is over, the request is based on an outdated record, and nothing of the step is done again: the Service may have changed in any way since. */
const unlessOver =
  <N extends Step>(step: MigrationJobBody<N>, output: MigrationJobOutput<N>): MigrationJobBody<N> =>
  async (context) => {
    const live = await virtualIPOf(context.writer, context.input.vip);
    return isOver(live) ? done(output) : step(context);
  };

const unlessRefused = (error: unknown): void => {
  if (!(error instanceof ProviderError)) throw error;
};

/** Only while the address is the VirtualIP's or the Service's: it may have another owner by now. */
async function servedByClone({ input, writer, fence }: MigrationJobContext<Step>): Promise<void> {
  const { vip, address } = input;
  const place = { namespace: vip.namespace, name: input.service };
  const [live, service, ip] = await Promise.all([writer.virtualIP(vip), writer.service(place), writer.ip(addressIn(address))]);
  if (live === null || live.deleting || isOver(live) || service === null || ip === null) return;
  if (isOfVirtualIP(ip, vip) || isOfService(ip, place))
    await cloned(writer, live, service, { name: cloneOfVirtualIP(live), address }, fence);
}

/** Marks the Service, then writes the stage: that write is refused if the annotation was removed after it was checked, and from then on admission does not allow its
 *  removal. Of two VirtualIPs only one is named on the Service. */
const claimService: MigrationJobBody<'claimService'> = async ({ input, writer, fence }) => {
  const { vip, service: name, address: ip } = input;
  const live = await virtualIPOf(writer, vip);
  // An earlier run claimed it, but its outcome was lost. The Service may be of any type by now: it gets no address but this one.
  if (live.status.service === name && hasBegun(live)) return done<ClaimedService>({ kind: 'claimed' });
  if (!live.asked) {
    await unclaimed(writer, vip, name, fence);
    return done<ClaimedService>({ kind: 'withdrawn' });
  }
  const service = await serviceOf(writer, vip, name, NO_SERVICE);
  const isOurs = isClaimedBy(service, vip);
  // A marked Service gets no other address, whatever type it has become since: otherwise both would wait for each other forever.
  const isServed = (isLoadBalancer(service) && !isOurs) || service.ingress.length > 0;
  if (isServed || (await hasOther(writer, service, ip))) return done<ClaimedService>({ kind: 'loadBalancer' });
  const others = isOurs ? [] : await othersOf(writer, name, vip);
  const rival = markedOf(service, others) ?? begunOf(others);
  if (rival !== null) return done<ClaimedService>({ kind: 'rival', name: rival });
  if (!isOurs) await writer.mark(service, vip.name, fence);
  await writer.report(live, { state: STATES.reassociating, service: name, ip }, fence);
  return done<ClaimedService>({ kind: 'claimed' });
};

/** Another IP is reserved for the Service, for example one left by a VirtualIP that is gone, still to be freed. */
const hasOther = async (writer: MigrationWriter, service: Place, address: string): Promise<boolean> =>
  (await writer.ips()).some((ip) => ip.address !== parseAddress(address) && isOfService(ip, service));

const isBegun = ({ state }: VirtualIPStatus): boolean => state.startsWith('Migrating: ') && state !== STATES.preparing;
const isClaimedBy = ({ annotations }: LiveService, { name }: ObjectRef): boolean => annotations[MIGRATING_ANNOTATION] === name;

/** Unmarks the Service and returns it as it was. */
async function unclaimed(writer: MigrationWriter, vip: ObjectRef, name: string, fence: Fence): Promise<LiveService | null> {
  const service = name === '' ? null : await writer.service({ namespace: vip.namespace, name });
  if (service !== null && isClaimedBy(service, vip)) await writer.mark(service, null, fence);
  return service;
}

/** The other VirtualIPs that expose the same Service. @throws VirtualIPNotFound where the kind is not served */
async function othersOf(writer: MigrationWriter, service: string, { namespace, name }: ObjectRef): Promise<readonly VirtualIP[]> {
  const all = await writer.virtualIPs();
  if (all === null) throw new VirtualIPNotFound(name);
  return all.filter(({ ref, status }) => ref.namespace === namespace && ref.name !== name && status.service === service);
}

/** The VirtualIP that the Service names, if it is still being migrated to it. One that has begun goes on, whatever happened to its annotation. */
const markedOf = ({ annotations }: LiveService, others: readonly VirtualIP[]): string | null =>
  others.find(
    ({ ref, asked, status: { state } }) =>
      ref.name === annotations[MIGRATING_ANNOTATION] && state !== STATES.migrated && (asked || state.startsWith('Migrating: ')),
  )?.ref.name ?? null;

/** A VirtualIP that has begun, even if the Service does not name it: a Service that was deleted and recreated has no mark. */
const begunOf = (others: readonly VirtualIP[]): string | null => others.find(({ status }) => isBegun(status))?.ref.name ?? null;

/** Takes no address from another owner: it is the VirtualIP's, or already the Service's. The Service is marked before it owns an IP that it does not request yet, also in a
 *  migration that another allocator began: the check for unwanted IPs relies on the mark. */
const reassociateIP: MigrationJobBody<'reassociateIP'> = async ({ input, writer, fence }) => {
  const { vip, service: name } = input;
  const address = addressIn(input.address);
  const service = await serviceOf(writer, vip, name, NO_SERVICE);
  const { namespace } = vip;
  const rival = isClaimedBy(service, vip) ? null : markedOf(service, await othersOf(writer, name, vip));
  if (rival !== null) throw new ProviderError('Conflict', `VirtualIP ${rival} is being migrated to the service`);
  if (service.ingress.some(({ ip }) => ip !== address) || (await hasOther(writer, service, address)))
    throw new ProviderError('Conflict', 'the service has another address');
  if (service.annotations[MIGRATING_ANNOTATION] === undefined) await writer.mark(service, vip.name, fence);
  const group = await saying('could not get IPGroup object of IP', async () => {
    const found = groupContaining(await writer.groups(), address);
    if (found === null) throw new ProviderError('NotFound', `IPGroup not found for ${address}`);
    return found;
  });
  const ip = await saying('could not get IP object', async () => {
    const found = await writer.ip(address);
    if (found === null) throw new ProviderError('NotFound', `IP "${address}" not found`);
    return found;
  });
  await saying('could not update IP object', async () => {
    if (isOfService(ip, { namespace, name }) && ip.group === group) return;
    if (!isOfVirtualIP(ip, vip) && !isOfService(ip, { namespace, name }))
      throw new ProviderError('Conflict', `IP "${address}" is of ${ip.owner ? `${ip.owner.namespace}/${ip.owner.name}` : 'nobody'}`);
    await writer.reassociate(ip, group, { namespace, name }, fence);
  });
  return done({ group });
};

const handOverIP: MigrationJobBody<'handOverIP'> = async ({ input, writer, fence }) => {
  await saying('could not remove finalizer for IP object', () => writer.letGo(input.vip, 'ip', fence));
  return done({});
};

const convertService: MigrationJobBody<'convertService'> = async ({ input, writer, fence }) => {
  const service = await serviceOf(writer, input.vip, input.service, NOT_CONVERTED);
  await saying(NOT_CONVERTED, async () => {
    if (isLoadBalancer(service) && (asksFor(service, input.address) || hasIngress(service, input.address))) return;
    if (isLoadBalancer(service) && (service.spec.loadBalancerIP ?? '') !== '')
      throw new ProviderError('Conflict', `the service is of that type, and asks for ${String(service.spec.loadBalancerIP)}`);
    await writer.convert(service, addressIn(input.address), fence);
  });
  return done({});
};

/** Whether the Service gave up the address that it had got, by a change of type, for example: the migration has lost its purpose, and nothing serves the address, not even
 *  the copy. @throws ProviderError Unavailable while the Service requests it and it is not reserved */
async function isGivenUp(writer: MigrationWriter, service: LiveService, vip: ObjectRef, address: string): Promise<boolean> {
  const ip = await writer.ip(addressIn(address));
  if (ip !== null) return !isOfVirtualIP(ip, vip) && !isOfService(ip, { namespace: vip.namespace, name: service.name });
  if (isLoadBalancer(service) && asksFor(service, address))
    throw new ProviderError('Unavailable', `${NO_INGRESS}: ${address} is not reserved for the service yet`);
  return true;
}

const assignIngress: MigrationJobBody<'assignIngress'> = async ({ input, writer, fence }) => {
  const { vip, service: name, address, pinned } = input;
  const service = await serviceOf(writer, vip, name, NO_INGRESS);
  if (await isGivenUp(writer, service, vip, address)) return done({});
  const assigned = await saying(NO_INGRESS, async () => {
    if (!isLoadBalancer(service)) throw new ProviderError('Conflict', 'the service is of type LoadBalancer no more');
    return writer.setIngress(service, addressIn(address), fence);
  });
  // Only after the ingress is set: until then only this field keeps another address from being allocated.
  await saying('could not reset the .spec.loadBalancerIP field in service', () =>
    writer.settle(assigned, pinned || !asksFor(assigned, address), fence),
  );
  return done({});
};

/** Checks once more: if the ingress was removed since, only the copy serves. The copy of a VirtualIP that is already migrated has no use, whatever happened to the Service:
 *  it comes from a create request that took effect late. */
const removeClone: MigrationJobBody<'removeClone'> = async ({ input, writer, fence }) => {
  const { vip, clone } = input;
  if (!isOver(await virtualIPOf(writer, vip))) await servedByService(input, writer);
  await saying('could not delete the cloned service', () => cloneRemoved(writer, vip, clone, fence));
  const left = await writer.service({ namespace: vip.namespace, name: clone });
  if (left !== null && isCloneOf(left, vip))
    throw new ProviderError('Unavailable', `Service ${clone} is being deleted, and a finalizer keeps it`);
  await saying('could not remove finalizer for service', () => writer.letGo(vip, 'clone', fence));
  return done({});
};

/** @throws ProviderError while only the copy serves */
async function servedByService({ vip, service: name, address }: MigrationJobInput<'removeClone'>, writer: MigrationWriter): Promise<void> {
  const service = await serviceOf(writer, vip, name, NO_INGRESS);
  const isServed = isLoadBalancer(service) && hasIngress(service, address);
  if (!isServed && !(await isGivenUp(writer, service, vip, address)))
    throw new ProviderError('Unavailable', `${NO_INGRESS}: ${address} was taken off again`);
}

async function cloneRemoved(writer: MigrationWriter, vip: ObjectRef, name: string, fence: Fence): Promise<void> {
  const clone = await writer.service({ namespace: vip.namespace, name });
  if (clone !== null && isCloneOf(clone, vip)) await writer.deleteClone(clone, fence);
}

/** In order: deletes the copy, frees the IP unless it is the Service's, and removes each finalizer after what it stands for. */
const releaseVirtualIP: MigrationJobBody<'releaseVirtualIP'> = async ({ input, writer, fence }) => {
  const { vip, service: name, clone, address } = input;
  const live = await writer.virtualIP(vip);
  if (live !== null && !live.deleting) throw new ProviderError('Unavailable', `VirtualIP "${vip.name}" is not being deleted`);
  const held = live === null ? input.held : live.finalizers.includes(IP_FINALIZER);
  const service = await unclaimed(writer, vip, name, fence);
  await cloneRemoved(writer, vip, clone, fence);
  if (live?.finalizers.includes(CLONE_FINALIZER)) await writer.letGo(vip, 'clone', fence).catch(unlessGone);
  const own = address === null ? await reservedFor(writer, live) : addressIn(address);
  const freed = own !== null && (await ipReleased(writer, { vip, service, name, held, address: own }, fence));
  if (live?.finalizers.includes(IP_FINALIZER)) await writer.letGo(vip, 'ip', fence).catch(unlessGone);
  return done({ freed });
};

const unlessGone = (error: unknown): void => {
  if (!(error instanceof VirtualIPNotFound)) throw error;
};

/** For a VirtualIP that never reported its address: the reservation may have been made unnoticed. */
async function reservedFor(writer: MigrationWriter, live: LiveVirtualIP | null): Promise<Address | null> {
  if (!live?.finalizers.includes(IP_FINALIZER)) return null;
  return (await writer.ips()).find((ip) => isOfVirtualIP(ip, live.ref))?.address ?? null;
}

interface Releasing {
  readonly vip: ObjectRef;
  readonly service: LiveService | null;
  readonly name: string;
  readonly held: boolean;
  readonly address: Address;
}

/** Frees the IP while it is the VirtualIP's. One already given to the Service is the Service's once the VirtualIP has lost its finalizer; before that, only if the Service
 *  is of type LoadBalancer; and never when the Service is gone: it would never be freed. */
async function ipReleased(writer: MigrationWriter, { vip, service, name, held, address }: Releasing, fence: Fence): Promise<boolean> {
  const ip = await writer.ip(address);
  if (ip === null) return false;
  const isLeft = isOfService(ip, { namespace: vip.namespace, name }) && (service === null || (held && !isLoadBalancer(service)));
  if (!isOfVirtualIP(ip, vip) && !isLeft) return false;
  await writer.free(ip, fence);
  return true;
}

/** Every durable job of VirtualIPs. */
export const migrationJobBodies: MigrationJobBodies = {
  reserveVirtualIP,
  exposeService,
  claimService: unlessOver(orServed(claimService), { kind: 'claimed' }),
  reassociateIP: unlessOver(orServed(reassociateIP), { group: '' }),
  handOverIP: unlessOver(orServed(handOverIP), {}),
  convertService: unlessOver(orServed(convertService), {}),
  assignIngress: unlessOver(orServed(assignIngress), {}),
  removeClone,
  releaseVirtualIP,
};
