import { familyOf } from '../../machines/model/address.ts';
import type { Address, ObjectRef } from '../../machines/model/types.ts';
import { ProviderError } from '../ports/errors.ts';
import type { Json } from '../ports/records.ts';
import { isLimited, isNotFound } from './address-reader.ts';
import { done, type JobContext, type JobResult, read } from './job.ts';
import { takeOff } from './unassign.ts';

/** A full node may hold an address that its pool gave up: taking it off makes room. */

export interface Vacating {
  readonly address: Address;
  /** The progress of its unassign; null before that has begun. */
  readonly progress: Json;
}

/** The address to take off the node; null for none. @throws ProviderError */
export async function inTheWay(context: JobContext<'assign'>): Promise<Vacating | null> {
  const { input, provider, careful } = context;
  const { address: successor, node, vacates = [] } = input;
  if (vacates.length === 0 || careful) return null;
  const all = await provider.listRoutedIPs({ ...read(context, 'failover'), family: familyOf(successor) });
  for (const { address, providerID } of all) {
    const isThere = providerID === node.providerID && vacates.includes(address);
    if (isThere && (await context.makesRoom?.(successor, address))) return { address, progress: null };
  }
  return null;
}

/** One try of its unassign, unless the address is wanted by now. @throws ProviderError NodeInUse | RateLimited | Unauthorized */
export async function vacate(
  context: JobContext<'assign'>,
  { address, progress }: Vacating,
  keep: (vacating: Vacating) => Promise<void>,
): Promise<JobResult<'unassign'>> {
  const { provider, node } = context.input;
  const input = { provider, address, holder: node.providerID };
  try {
    return await takeOff({ ...context, input, progress, keep: (kept) => keep({ address, progress: kept }) }, () =>
      announce(context, address),
    );
  } catch (error) {
    if (!(error instanceof ProviderError) || isLimited(error)) throw error;
    if (isNotFound(error)) return done({ providerID: null });
    throw stays(context, address, error);
  }
}

/** Announced before the call is sent, since its outcome may be lost. @throws ProviderError NodeInUse when the address is wanted by now | Unreachable */
async function announce(context: JobContext<'assign'>, address: Address): Promise<void> {
  const { writer, input } = context;
  const message = `${address} leaves ${input.node.name} to make room for ${input.address}: no object lists it any more`;
  const owner = await ownerOf(context, address);
  await writer.announce(owner, { type: 'Normal', reason: 'Unassigning', action: 'Unassign', message });
  await ownerOf(context, address);
}

async function ownerOf({ makesRoom, input }: JobContext<'assign'>, address: Address): Promise<ObjectRef> {
  const owner = await makesRoom?.(input.address, address);
  if (!owner) throw new ProviderError('NodeInUse', `another object wants it again, or nobody wants ${input.address} any longer`);
  return owner;
}

/** An error about the other address says nothing about the one that is assigned. */
function stays({ input: { address, node } }: JobContext<'assign'>, other: Address, cause: ProviderError): ProviderError {
  const what = cause.unknownOutcome ? 'may be on it still' : 'is on it, and is not taken off';
  const text = `assign ${address} to ${node.name}: ${other} ${what}: ${cause.message}`;
  return new ProviderError(cause.kind === 'Unauthorized' ? cause.kind : 'NodeInUse', text, { cause });
}
