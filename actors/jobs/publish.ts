import { done, type JobBody, read } from './body.ts';

/** A RoutedIP's spec is its user's: the address stands in its status, and never in a spec that is still to be observed. */
const BOUND_FOR_GOOD = Number.MAX_SAFE_INTEGER;

/** Writes the address into the owner's spec, or the status of a RoutedIP. One that may be gone is read first: what the provider does not know must not stand there again.
 *  @throws ProviderError NotFound */
export const publish: JobBody<'publish'> = async (context) => {
  const { input, provider, writer } = context;
  if (input.mayBeGone) await provider.findRoutedIP(input.address, read(context, 'create'));
  if (input.owner.kind === 'RoutedIP') {
    await writer.bindAddress(input.owner, input.address, 'Created');
    return done({ ips: [input.address], generation: BOUND_FOR_GOOD });
  }
  return done(await writer.appendAddress(input.owner, input.address));
};
