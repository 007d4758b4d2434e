import { restMs } from '../../machines/model/backoff.ts';
import type { ProviderID } from '../../machines/model/types.ts';
import { ProviderError } from '../ports/errors.ts';
import type { JobMessage, JobRequest } from '../ports/job-driver.ts';
import { again, done, type JobBodies, type JobBody, type JobContext, type JobResult } from './job.ts';
import {
  asJson,
  contradiction,
  driverOf,
  type Ended,
  failureOfJob,
  follow,
  isUnable,
  type JobProgress,
  only,
  progressOf,
  unhindered,
} from './kubernetes-job.ts';
import { creationJobs } from './kubernetes-job-create.ts';
import { addressRequest } from './kubernetes-job-request.ts';
import { unlessRetained } from './release.ts';

/** The holder of the address as found by a Job; undefined when it says nothing about that, or its template cannot find. @throws ProviderError */
function holderFound(request: JobRequest, ended: Ended): ProviderID | null | undefined {
  if (ended.kind === 'succeeded') return holderSaid(request, ended.message);
  if (isUnable(ended)) return undefined;
  throw failureOfJob(request, ended);
}

/** It is compared, stored and shown; empty for none. */
const PROVIDER_ID = /^[\x21-\x7e]{0,512}$/;

function holderSaid(request: JobRequest, { address, providerID }: JobMessage): ProviderID | null | undefined {
  const asked = request.env.ROUTEDIP_ADDRESS;
  if (address !== undefined && address !== '' && address !== asked)
    throw contradiction(request, `speaks of ${address} instead of ${asked}`);
  if (providerID !== undefined && !PROVIDER_ID.test(providerID))
    throw contradiction(request, `names what is no provider ID: ${providerID}`);
  if (providerID) return providerID as ProviderID;
  return address === undefined && providerID === undefined ? undefined : null;
}

/** Waits once for `waitMs` under that name, before any request. */
function wait(
  context: JobContext<'find' | 'assign'>,
  name: string,
  waitMs: number,
): { readonly afterMs: number; readonly progress: JobProgressJson } | null {
  const progress = progressOf(context);
  if (waitMs <= 0 || progress.waited.includes(name)) return null;
  return { afterMs: waitMs, progress: asJson({ ...progress, waited: [...progress.waited, name] }) };
}

type JobProgressJson = ReturnType<typeof asJson>;

/** A Job reports where the address is; a template without `find` reports nothing. What was last confirmed does not count then: the machine may have been restarted without
 *  the address. So the address is on no known node, and is assigned once more, whichever node had it. */
const find: JobBody<'find'> = async (context) => {
  const { input, clock, settings } = context;
  const waits = wait(context, 'doubt', restMs(input.notBefore, clock.now(), settings.callDeadlineMs));
  if (waits) return again(waits.afterMs, waits.progress);
  const request = addressRequest(context, 'find', { address: input.address });
  const followed = await follow(context, request, 'find');
  if (followed.kind === 'again') return followed;
  const said = holderFound(request, followed.ended);
  return done({
    address: input.address,
    region: input.subject?.region ?? '',
    providerID: said ?? null,
    locked: false,
    ...(said === undefined && { place: 'Unsaid' }),
  });
};

/** A Job assigns the address, and its success is the confirmation. First determines what an earlier one may have done and, while the store is away, where the address is. */
const assign: JobBody<'assign'> = async (context) => {
  const { input } = context;
  // The same decision has the same Job, whichever command carries it out: the Job shows the outcome of a run that was cut off.
  const attempt = String(input.subject?.attempt ?? 1);
  const request = addressRequest(context, 'assign', { address: input.address, node: input.node, attempt });
  const found = await findsFirst(context, request);
  if (found) return found;
  const followed = await follow(context, request, 'assign');
  if (followed.kind === 'again') return followed;
  if (followed.ended.kind !== 'succeeded') throw failureOfJob(request, followed.ended);
  const said = holderSaid(request, followed.ended.message);
  if (said && said !== input.node.providerID)
    throw contradiction(request, `says that ${input.address} is on ${said}, not on ${input.node.providerID}`);
  return done({ providerID: input.node.providerID });
};

const slotsOf = (context: JobContext<'assign'>): JobProgress['slots'] => progressOf(context).slots;

/** An earlier Job may have done anything, or may have been created with the answer lost. */
const isInDoubt = (context: JobContext<'assign'>): boolean =>
  context.input.inDoubtUntil !== null || slotsOf(context).assign?.unheard === true;

/** Null when the Job of the request may be created, or exists. */
async function findsFirst(context: JobContext<'assign'>, request: JobRequest): Promise<JobResult<'assign'> | null> {
  if (context.rerun && !slotsOf(context).assign?.job) await context.keep(only(context, 'assign', { unheard: true }));
  const { assign: slot, verify: look } = slotsOf(context);
  // A look that has begun is completed.
  const isAsked = context.careful || context.input.looksFirst || isInDoubt(context) || look !== undefined;
  if (!isAsked || slot?.job) return null;
  const there = await driverOf(context).look(request);
  if (!there) return verify(context);
  await context.keep(only(context, 'assign', { job: there.job }));
  return null;
}

/** Null once it is known that no earlier try can interfere with this one, and that the address was not moved by others. */
async function verify(context: JobContext<'assign'>): Promise<JobResult<'assign'> | null> {
  const { input, clock, settings } = context;
  const waits = wait(context, 'doubt', restMs(input.inDoubtUntil, clock.now(), settings.callDeadlineMs));
  if (waits) return again(waits.afterMs, waits.progress);
  const request = addressRequest(context, 'find', { address: input.address });
  const followed = await follow(context, request, 'verify');
  if (followed.kind === 'again') return followed;
  // A template without `find` goes on to assign: what an earlier Job did has ended, or no other one could exist.
  const said = found(context, request, followed.ended);
  if (said === input.node.providerID) return done({ providerID: said });
  if (said && said !== input.holder) {
    throw new ProviderError('Conflict', `assign ${input.address} to ${input.node.name}: it is on ${said} by now`);
  }
  return null;
}

/** A failed look changes nothing: only what was in doubt before still is. @throws ProviderError */
function found(context: JobContext<'assign'>, request: JobRequest, ended: Ended): ProviderID | null | undefined {
  try {
    return holderFound(request, ended);
  } catch (cause) {
    if (!(cause instanceof ProviderError)) throw cause;
    const { kind, message, conditionReason } = cause;
    throw new ProviderError(kind, message, { cause, unknownOutcome: isInDoubt(context), conditionReason });
  }
}

/** An existing Job is followed to its end: what it has undone is not undone again. */
const release: JobBody<'release'> = (context) =>
  unlessRetained(context, async (guarded) => {
    const request = addressRequest(guarded, 'delete', { address: guarded.input.address });
    const followed = await follow(guarded, request, 'delete');
    if (followed.kind === 'again') return followed;
    if (followed.ended.kind !== 'succeeded') throw failureOfJob(request, followed.ended);
    // Until then the Job that created the address may be the only evidence of it.
    await unhindered(driverOf(guarded).conclude(request.subject, guarded.input.address));
    return done({ deleted: true });
  });

/** What the Jobs of a class do in place of a provider's verbs for addresses. */
export const addressJobs: Partial<JobBodies> = {
  find,
  assign,
  release,
  ...creationJobs,
  // Jobs cannot list: each address has to look for itself.
  verifyAll: async () => done({ addresses: [] }),
};
