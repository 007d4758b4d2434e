import type { VipJobName } from '../../machines/jobs.ts';
import { ProviderError } from '../errors.ts';
import type { VipWriter } from '../ports/vip.ts';
import { done, type JobContext, type JobResult } from './body.ts';

/** What the jobs of Services are given: the cluster alone, and no provider. */
export interface VipJobContext<N extends VipJobName> extends Pick<JobContext<N>, 'input' | 'fence'> {
  readonly vips: VipWriter;
}

export type VipJobBody<N extends VipJobName> = (context: VipJobContext<N>) => Promise<JobResult<N>>;

/** Unlike the jobs of a provider, one may write several times: each write is checked by the API server against what stands there, and repeating it is harmless. */
export const vipJobBodies: { readonly [N in VipJobName]: VipJobBody<N> } = {
  reserveVip: async ({ input: { service, address, group }, vips, fence }) => {
    await vips.guard(service, fence);
    return done(await vips.reserve(address, group, service, fence));
  },

  publishVip: async ({ input: { service, address }, vips, fence }) => done({ changed: await vips.publish(service, address, fence) }),

  freeVips: async ({ input: { ips }, vips, fence }) => {
    const freed: string[] = [];
    for (const ip of ips) {
      await vips.free(ip, fence);
      freed.push(ip.uid);
    }
    return done({ freed });
  },

  releaseVip: async ({ input: { service, ips, isThere, clears }, vips, fence }) => {
    if (!isThere && (await wantsAddress(vips, service))) return done({ kept: true });
    // Nobody is to get an address that another Service still lists.
    if (isThere && clears) await unlessGone(vips.publish(service, null, fence));
    for (const ip of ips) await vips.free(ip, fence);
    if (isThere) await vips.unguard(service, fence);
    return done({ kept: false });
  },

  lookVip: async ({ input: { service }, vips }) => done({ wanting: await wantsAddress(vips, service) }),
};

const wantsAddress = async (vips: VipWriter, service: { readonly namespace: string; readonly name: string }): Promise<boolean> => {
  const found = await vips.look(service);
  return found !== null && (found.guarded || (found.wanting && !found.deleting));
};

async function unlessGone(written: Promise<unknown>): Promise<void> {
  try {
    await written;
  } catch (error) {
    if (!(error instanceof ProviderError && error.kind === 'NotFound')) throw error;
  }
}
