import { parseAddress } from '../../machines/model/address.ts';
import { restMs } from '../../machines/model/backoff.ts';
import type { Address } from '../../machines/model/types.ts';
import { ProviderError } from '../ports/errors.ts';
import type { JobRequest } from '../ports/job-driver.ts';
import { announce } from './announce.ts';
import { requireFirewall } from './create.ts';
import { again, done, type JobBodies, type JobBody, type JobContext, type JobResult, passFence } from './job.ts';
import {
  asJson,
  awaits,
  contradiction,
  driverOf,
  type Ended,
  failureOfJob,
  follow,
  isUnable,
  look,
  progressOf,
  unhindered,
} from './kubernetes-job.ts';
import { addressRequest } from './kubernetes-job-request.ts';

/** A Job that creates is kept until its result is in a status or nothing was done: no Job means that nothing was created. */

/** Existing addresses cannot be listed. The intent is recorded anyway: its time names the Job, so that any process finds the same one. */
const intendCreate: JobBody<'intendCreate'> = async (context) => {
  const { input, writer, clock, term } = context;
  await requireFirewall(context);
  const intent = { provider: input.provider, knownAddresses: [], listedAt: clock.now() };
  await passFence(context);
  await writer.recordIntent(input.owner, { ...intent, region: input.region, term });
  return done(intent);
};

/** One intent has one Job, in any process and after any loss. A status keeps whole seconds. */
const requestOf = (context: JobContext<'create'> | JobContext<'reconcileCreate'>): JobRequest =>
  addressRequest(context, 'create', { attempt: String(Math.floor(context.input.intent.listedAt / 1000)) });

/** A Job creates one address and reports which. The outcome of one that was cut off is left to `reconcileCreate`. */
const create: JobBody<'create'> = async (context) => {
  const request = requestOf(context);
  const followed = await look(context, request, 'create');
  if (followed.kind === 'again') return followed;
  const outcome = outcomeOf(request, followed.ended);
  if (outcome instanceof ProviderError && !outcome.unknownOutcome) await clear(context, followed.ended.job);
  if (outcome instanceof ProviderError) throw outcome;
  return done({ address: outcome });
};

/** @throws Fenced */
async function clear(context: JobContext<'create'> | JobContext<'reconcileCreate'>, job: string): Promise<void> {
  await passFence(context);
  await unhindered(driverOf(context).clear(job));
}

/** The address; or why there is none, with an unknown outcome when one may have been created anyway. */
function outcomeOf(request: JobRequest, ended: Ended): Address | ProviderError {
  if (ended.kind !== 'succeeded') return failureOfJob(request, ended);
  const told = ended.message.address ?? '';
  return parseAddress(told) ?? contradiction(request, told === '' ? 'does not say which address it made' : `"${told}" is no address`);
}

/** Checks the Job of the intent and, when that is inconclusive, runs a Job to find out what was created for the RoutedIP: `find` without an address. Never creates another
 *  address before it is known that there is none. A user is needed only where the template says that it cannot determine this. */
const reconcileCreate: JobBody<'reconcileCreate'> = async (context) => {
  const request = requestOf(context);
  const state = await driverOf(context).look(request);
  if (state === null) return absent(context);
  if (state.kind === 'running' || state.kind === 'busy') return awaits(request, state, progressOf(context));
  const outcome = outcomeOf(request, state);
  if (!(outcome instanceof ProviderError)) return done({ found: 'one', address: outcome });
  return outcome.unknownOutcome ? await ask(context, state.job, outcome) : await none(context, state.job);
};

/** A process that is gone by now may have requested the Job just before. */
function absent(context: JobContext<'reconcileCreate'>): JobResult<'reconcileCreate'> {
  const { input, clock, settings } = context;
  const progress = progressOf(context);
  const waitMs = progress.waited.includes('doubt') ? 0 : restMs(input.inDoubtUntil, clock.now(), settings.callDeadlineMs);
  return waitMs > 0 ? again(waitMs, asJson({ ...progress, waited: ['doubt'] })) : done({ found: 'none' });
}

/** Nothing was created, and the Job is not needed as evidence of that. */
async function none(context: JobContext<'reconcileCreate'>, job: string): Promise<JobResult<'reconcileCreate'>> {
  await clear(context, job);
  return done({ found: 'none' });
}

async function ask(context: JobContext<'reconcileCreate'>, job: string, outcome: ProviderError): Promise<JobResult<'reconcileCreate'>> {
  const request = addressRequest(context, 'find', {});
  const followed = await follow(context, request, 'find');
  if (followed.kind === 'again') return followed;
  const { ended } = followed;
  if (ended.kind !== 'succeeded' && !isUnable(ended)) throw failureOfJob(request, ended);
  const told = ended.kind === 'succeeded' ? ended.message.address : undefined;
  const address = parseAddress(told ?? '');
  if (address !== null) return done({ found: 'one', address });
  if (told === '') return none(context, job);
  const { namespace, name } = context.input.owner;
  const text = `an address may have been made for ${namespace}/${name}, and no Job tells which: name it in spec.routedIP (${outcome.message})`;
  throw new ProviderError('Conflict', text, { unknownOutcome: true, conditionReason: 'RoutedIPJobFailed', cause: outcome });
}

/** Binds the RoutedIP to the address in its status; its spec is never written. */
const publish: JobBody<'publish'> = async (context) => {
  const { input, writer } = context;
  await passFence(context);
  await writer.bindAddress(input.owner, input.address, 'Created');
  await unhindered(driverOf(context).conclude(input.owner.uid));
  return done({ ips: [input.address], generation: Number.MAX_SAFE_INTEGER });
};

export const creationJobs: Partial<JobBodies> = {
  intendCreate,
  create,
  reconcileCreate,
  publish,
  announce: async (context) => {
    const told = await announce(context);
    await passFence(context);
    await unhindered(driverOf(context).conclude(context.input.owner.uid));
    return told;
  },
};
