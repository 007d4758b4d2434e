import { parseAddress } from '../../machines/address.ts';
import type { Address } from '../../machines/types.ts';
import { ProviderError } from '../errors.ts';
import type { JobRequest } from '../ports/job-driver.ts';
import { again, done, type JobBody, type JobContext } from './body.ts';
import { contradiction, driverOf, type Ended, failureOfJob, follow } from './by-job.ts';
import { addressRequest } from './job-request.ts';

/** Nobody can list what exists. The intent is recorded all the same: its time names the Job, so that whoever goes on finds the same one. */
export const intendCreate: JobBody<'intendCreate'> = async ({ input, writer, clock }) => {
  const intent = { knownAddresses: [], listedAt: clock.now() };
  await writer.recordIntent(input.owner, { ...intent, region: input.region });
  return done(intent);
};

/** One intent has one Job, on whatever process and after whatever loss. A status keeps whole seconds. */
const requestOf = (context: JobContext<'create'> | JobContext<'reconcileCreate'>): JobRequest =>
  addressRequest(context, 'create', { attempt: String(Math.floor(context.input.intent.listedAt / 1000)) });

/** A Job makes one address and says which. What became of one that was cut off is for `reconcileCreate` to find out. */
export const create: JobBody<'create'> = async (context) => {
  const request = requestOf(context);
  const followed = await follow(context, request, 'create');
  if (followed.kind === 'again') return followed;
  return done({ address: made(request, followed.ended) });
};

/** @throws ProviderError with an unknown outcome when an address may have been made all the same */
function made(request: JobRequest, ended: Ended): Address {
  if (ended.kind !== 'succeeded') throw failureOfJob(request, ended);
  const told = ended.message.address ?? '';
  const address = parseAddress(told);
  if (address === null) throw contradiction(request, told === '' ? 'does not say which address it made' : `"${told}" is no address`);
  return address;
}

/** Looks at the Job of the intent, and when that does not tell, asks by a Job what was made for the RoutedIP: `find` without an address. Never makes another
 *  address before it is known that there is none. */
export const reconcileCreate: JobBody<'reconcileCreate'> = async (context) => {
  const state = await driverOf(context).look(requestOf(context));
  if (state?.kind === 'running' || state?.kind === 'busy') return again(LOOK_MS, context.progress);
  const told = state && outcomeOf(requestOf(context), state);
  return told ? done(told) : await ask(context);
};

const LOOK_MS = 500;

type Finding = { readonly found: 'one'; readonly address: Address } | { readonly found: 'none' };

/** Null when the Job does not tell. */
function outcomeOf(request: JobRequest, ended: Ended): Finding | null {
  try {
    return { found: 'one', address: made(request, ended) };
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return error.unknownOutcome ? null : { found: 'none' };
  }
}

async function ask(context: JobContext<'reconcileCreate'>) {
  const request = addressRequest(context, 'find', {});
  const followed = await follow(context, request, 'find');
  if (followed.kind === 'again') return followed;
  const { ended } = followed;
  const told = ended.kind === 'succeeded' ? ended.message.address : undefined;
  const address = parseAddress(told ?? '');
  if (address !== null) return done({ found: 'one', address } as const);
  if (told === '') return done({ found: 'none' } as const);
  throw new ProviderError(
    'Conflict',
    `an address may have been made for ${context.input.owner.namespace}/${context.input.owner.name}, and no Job tells which: name it in spec.routedIP${ended.kind === 'failed' ? ` (${ended.text})` : ''}`,
    { unknownOutcome: true, conditionReason: 'RoutedIPJobFailed' },
  );
}
