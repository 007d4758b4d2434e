import { done, type JobBody, read } from './body.ts';

/** Writes the address into the owner's spec. One that may be gone is read first: what the provider does not know must not stand there again.
 *  @throws ProviderError NotFound */
export const publish: JobBody<'publish'> = async (context) => {
  const { input, provider, writer } = context;
  if (input.mayBeGone) await provider.findRoutedIP(input.address, read(context, 'create'));
  return done(await writer.appendAddress(input.owner, input.address));
};
