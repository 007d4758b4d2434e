import { Retained } from '../ports/errors.ts';
import { isNotFound } from './address-reader.ts';
import { done, type JobBody, read, write } from './job.ts';

type Release = JobBody<'release'>;

/** Deletes with `remove`, if that was decided. If the class says by now that the address stays, that counts until the very moment of the call. */
export async function unlessRetained(context: Parameters<Release>[0], remove: Release): ReturnType<Release> {
  const { input, fence, retains } = context;
  if (input.policy === 'Retain') return done({ deleted: false });
  const assertFresh = (): void => {
    fence.assertFresh();
    if (retains?.(input.address)) throw new Retained(`${input.address} is not deleted: its class says Retain by now`);
  };
  try {
    return await remove({ ...context, fence: { ...fence, assertFresh } });
  } catch (error) {
    if (error instanceof Retained) return done({ deleted: false });
    throw error;
  }
}

/** DeleteRoutedIP. An address that is no longer to be deleted may be gone by an earlier call whose outcome was lost. */
export const release: Release = async (context) => {
  const { input, provider } = context;
  const released = await unlessRetained(context, async (guarded) => {
    await provider.deleteRoutedIP(input.address, write(guarded, 'failover'));
    return done({ deleted: true });
  });
  if (input.policy === 'Retain' || (released.kind === 'done' && released.output.deleted)) return released;
  try {
    await provider.findRoutedIP(input.address, read(context, 'verify'));
    return released;
  } catch (error) {
    if (isNotFound(error)) return done({ deleted: true });
    throw error;
  }
};
