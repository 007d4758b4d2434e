import { familyOf } from '../../machines/address.ts';
import type { Address } from '../../machines/types.ts';
import { ProviderError } from '../errors.ts';
import type { Json } from '../ports.ts';
import { done, type JobContext, type JobResult, read } from './body.ts';
import { isLimited, isNotFound } from './reader.ts';
import { isSent, unassign } from './unassign.ts';

/** A node that is full may hold an address that its pool gave up: that makes room. */

export interface Vacating {
  readonly address: Address;
  /** Of its unassign; null before that has begun. */
  readonly progress: Json;
}

/** Which address is to be taken off the node; null for none. @throws ProviderError */
export async function inTheWay(context: JobContext<'assign'>): Promise<Vacating | null> {
  const { input, provider, careful } = context;
  const { vacates = [], node } = input;
  const listed = vacates.length === 0 || careful ? null : ((await context.listed?.()) ?? null);
  if (listed === null) return null;
  const free = new Set<Address>(vacates.filter((address) => !listed.has(address) && familyOf(address) === familyOf(input.address)));
  if (free.size === 0) return null;
  const all = await provider.listRoutedIPs({ ...read(context, 'failover'), family: familyOf(input.address) });
  const there = all.find(({ address, providerID }) => providerID === node.providerID && free.has(address));
  return there ? { address: there.address, progress: null } : null;
}

/** One try of its unassign, unless somebody lists the address by now. @throws ProviderError NodeInUse | RateLimited | Unauthorized */
export async function vacate(
  context: JobContext<'assign'>,
  { address, progress }: Vacating,
  keep: (vacating: Vacating) => Promise<void>,
): Promise<JobResult<'unassign'>> {
  const { provider, node } = context.input;
  try {
    if (!isSent(progress) && ((await context.listed?.())?.has(address) ?? true)) throw new ProviderError('NodeInUse', 'it is listed again');
    const input = { provider, address, holder: node.providerID };
    return await unassign({ ...context, input, progress, keep: (kept) => keep({ address, progress: kept }) });
  } catch (error) {
    if (!(error instanceof ProviderError) || isLimited(error)) throw error;
    if (isNotFound(error)) return done({ providerID: null });
    throw stays(context, address, error);
  }
}

/** What was said of it says nothing of the address that is assigned. */
function stays({ input: { address, node } }: JobContext<'assign'>, other: Address, cause: ProviderError): ProviderError {
  const text = `assign ${address} to ${node.name}: ${other} is on it, and is not taken off: ${cause.message}`;
  return new ProviderError(cause.kind === 'Unauthorized' ? cause.kind : 'NodeInUse', text, { cause });
}
