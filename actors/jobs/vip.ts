import type { VipJobName } from '../../machines/jobs.ts';
import { isPromised, mayNeed } from '../../machines/migration/pending-owner.ts';
import { parseAddress } from '../../machines/model/address.ts';
import type { ObjectRef } from '../../machines/model/types.ts';
import { asOwner, isOwnedBy, type ReservedIP, type VipService } from '../../machines/vip/objects.ts';
import { ProviderError } from '../ports/errors.ts';
import type { LegacyKinds } from '../ports/migration.ts';
import type { VipWriter } from '../ports/vip.ts';
import { done, type JobContext, type JobResult } from './job.ts';

/** What the jobs of Services receive: the cluster alone, and no provider. */
export interface VipJobContext<N extends VipJobName> extends Pick<JobContext<N>, 'input' | 'fence'> {
  readonly vips: VipWriter;
  /** Absent where VirtualIPs are not handled. */
  readonly virtualIPs?: LegacyKinds;
}

export type VipJobBody<N extends VipJobName> = (context: VipJobContext<N>) => Promise<JobResult<N>>;

/** Unlike the jobs of a provider, one may write several times: each write is checked by the API server against the stored object, and repeating it is harmless. */
export const vipJobBodies: { readonly [N in VipJobName]: VipJobBody<N> } = {
  reserveVip: async ({ input: { service, address, group }, vips, fence }) => {
    await vips.guard(service, fence);
    return done(await vips.reserve(address, group, service, fence));
  },

  publishVip: async (context) => {
    const { service, address, seen, repairs } = context.input;
    if (address === null) await requireUsurped(context);
    const changed = await context.vips.publish(service, address, context.fence);
    return done({ uid: service.uid, address, seen, changed, ...(repairs && { repairs }) });
  },

  freeVips: async (context) => {
    const { service } = context.input;
    const found = await context.vips.look(service);
    // The request is based on an older Service, or on one that is gone: its reason to free anything is out of date.
    if (found?.ref.uid !== service.uid) throw new ProviderError('NotFound', `Service ${placeOf(service)} is gone`);
    const [promised] = await promisedOf(context, found);
    if (promised)
      throw new ProviderError('Conflict', `${promised.address} is of a VirtualIP that is being migrated to Service ${placeOf(service)}`);
    return done({ freed: await freeAll(context, found) });
  },

  releaseVip: async (context) => {
    const { service, isThere } = context.input;
    const found = await ownerNow(context);
    if (!isThere && isNeeded(found, service)) return done({ kept: true, freed: [] });
    if (isWanting(found, service)) throw new ProviderError('Conflict', `Service ${placeOf(service)} wants an address again`);
    const promised = await promisedOf(context, found);
    if (!isThere && promised.length > 0) return done({ kept: true, freed: [] });
    const ips = context.input.ips.filter((ip) => !promised.includes(ip));
    const freed = await freeAll({ ...context, input: { ...context.input, ips } }, found);
    const { vips, fence } = context;
    if (found?.contended !== undefined && isSame(found, service)) await unlessGone(vips.contend(found.ref, null, fence));
    if (isThere) await vips.unguard(service, fence);
    return done({ kept: false, freed });
  },

  markVip: async ({ input: { service, message, letsGo }, vips, fence }) => {
    await vips.contend(service, message, fence);
    if (letsGo) await vips.unguard(service, fence);
    return done({ uid: service.uid, message, letsGo });
  },

  lookVip: async (context) => done({ wanting: isNeeded(await ownerNow(context), context.input.service) }),
};

/** The owner that the IPs are reserved for, as the API server has it; null for a VirtualIP that names another address. @throws ProviderError Unavailable for a VirtualIP
 *  while VirtualIPs cannot be read */
async function ownerNow({ input, vips, virtualIPs }: VipJobContext<'lookVip' | 'releaseVip'>): Promise<VipService | null> {
  const { service, ips = [] } = input;
  if (service.kind !== 'VirtualIP') return vips.look(service);
  const all = (await virtualIPs?.writer.virtualIPs()) ?? null;
  if (all === null) throw new ProviderError('Unavailable', `VirtualIPs are not served: nobody knows whether ${placeOf(service)} is there`);
  const found = all.find((vip) => placeOf(vip.ref) === placeOf(service) && ips.some((ip) => mayNeed(vip, ip)));
  return found ? asOwner({ ref: found.ref, createdAt: 0, deleting: found.deleting }) : null;
}

type Freeing = VipJobContext<'freeVips'> | VipJobContext<'releaseVip'>;

/** IPs that stay, whatever happens to the Service: a VirtualIP's copy of it still serves them. Read from the API server, not from a cache. */
async function promisedOf({ input: { ips }, virtualIPs }: Freeing, found: VipService | null): Promise<readonly ReservedIP[]> {
  if (virtualIPs === undefined || ips.length === 0) return [];
  // A kind that is not served now may be again: the mark on the Service says as much as can be known.
  const all = await virtualIPs.writer.virtualIPs().catch((error: unknown) => {
    if (error instanceof ProviderError && error.kind === 'Unauthorized') return null;
    throw error;
  });
  return ips.filter((ip) => isPromised(ip, found?.migrating ?? null, all));
}

/** The address that the Service lists is removed only while it has another owner: an IP that a VirtualIP has just given to the Service may still be seen as the
 *  VirtualIP's. @throws ProviderError Conflict when it is the Service's own */
async function requireUsurped({ input: { service }, vips, virtualIPs }: VipJobContext<'publishVip'>): Promise<void> {
  if (virtualIPs === undefined) return;
  for (const { ip } of (await vips.look(service))?.ingress ?? []) {
    const address = parseAddress(ip ?? '');
    const live = address && (await virtualIPs.writer.ip(address));
    if (live && isOwnedBy(live, service)) throw new ProviderError('Conflict', `${address} is of Service ${placeOf(service)} by now`);
  }
}

/** An address that a Service still lists must not go to another owner. */
async function freeAll({ input: { service, ips, clears }, vips, fence }: Freeing, found: VipService | null): Promise<readonly string[]> {
  const isFormer = found !== null && !isSame(found, service);
  const ours = ips.filter((ip) => !(isFormer && isOwnedBy(ip, found.ref)));
  // If a Service with our finalizer wants no address of ours, all that it lists is what we wrote, unless our condition says that another controller serves it.
  const isLeft = found?.guarded && found.contended === undefined && !isWanting(found, service);
  const listed = isFormer ? undefined : found?.ingress.find(({ ip }) => isLeft || ours.some(({ address }) => address === ip));
  if (found && listed) {
    if (!clears) throw new ProviderError('Conflict', `Service ${placeOf(service)} lists ${listed.ip} still`);
    await unlessGone(vips.publish(found.ref, null, fence));
  }
  for (const ip of ours) await vips.free(ip, fence);
  return ours.map(({ uid }) => uid);
}

const isSame = ({ ref }: VipService, { uid }: ObjectRef): boolean => uid === '' || ref.uid === uid;
const isWanting = (found: VipService | null, service: ObjectRef): boolean =>
  found !== null && isSame(found, service) && found.wanting && !found.deleting;
/** It has something of ours, or wants it. */
const isNeeded = (found: VipService | null, service: ObjectRef): boolean =>
  isWanting(found, service) || (found !== null && isSame(found, service) && found.guarded);
const placeOf = ({ namespace, name }: ObjectRef): string => `${namespace}/${name}`;

async function unlessGone(written: Promise<unknown>): Promise<void> {
  try {
    await written;
  } catch (error) {
    if (!(error instanceof ProviderError && error.kind === 'NotFound')) throw error;
  }
}
