import { restMs } from '../../machines/model/backoff.ts';
import type { RoutedIPSubject } from '../../machines/model/firewall-policy.ts';
import type { ObjectRef } from '../../machines/model/types.ts';
import { ProviderError } from '../ports/errors.ts';
import type { GroupAddresses } from '../ports/vip.ts';
import { again, done, type JobBodies, type JobBody, type JobContext } from './job.ts';
import { asJson, progressOf } from './kubernetes-job.ts';
import { addressJobs } from './kubernetes-job-addresses.ts';

/** Jobs of a class assign addresses that are reserved in an IPGroup. The reservation is an object that names its owner: after a crash it is found by that, and no other one
 *  is requested. Requests without a group are done by Jobs alone. */

type Body<N extends 'create' | 'reconcileCreate' | 'release' | 'publish'> = JobBody<N>;

const byJob = addressJobs as Required<Pick<JobBodies, 'create' | 'reconcileCreate' | 'release' | 'publish'>>;

const groupsOf = ({ groups }: Pick<JobContext<'create'>, 'groups'>, group: string): GroupAddresses => {
  if (groups === null)
    throw new ProviderError('Unsupported', `nothing is reserved in IPGroup ${group}: the operator runs without the controller vip`);
  return groups;
};

const create: Body<'create'> = async (context) => {
  const { input, fence } = context;
  const { offer, owner, subject } = input;
  if (offer === undefined) return byJob.create(context);
  const groups = groupsOf(context, subject?.ipGroup ?? '');
  const [held] = await groups.held(owner);
  if (held) return done({ address: held.address });
  if (offer === null)
    throw new ProviderError('Conflict', `reserve for RoutedIP ${owner.namespace}/${owner.name}: nothing is offered any more`);
  const { address } = await groups.hold(offer, owner, subject?.reclaimPolicy ?? 'Retain', fence);
  return done({ address });
};

/** Looks for a reservation once the request can no longer take effect; then for a Job, which a class without a group may have had. */
const reconcileCreate: Body<'reconcileCreate'> = async (context) => {
  const { input, clock, settings } = context;
  if (input.offer === undefined) return byJob.reconcileCreate(context);
  const progress = progressOf(context);
  const waitMs = progress.waited.includes('doubt') ? 0 : restMs(input.inDoubtUntil, clock.now(), settings.callDeadlineMs);
  if (waitMs > 0) return again(waitMs, asJson({ ...progress, waited: ['doubt'] }));
  const [held] = (await context.groups?.held(input.owner)) ?? [];
  return held ? done({ found: 'one', address: held.address }) : byJob.reconcileCreate(context);
};

const ownerOf = ({ namespace, name, uid }: RoutedIPSubject): ObjectRef => ({ kind: 'RoutedIP', namespace, name, uid });

/** The Job undoes what it did for the address before another owner can have it. Without means to free it, the address stays reserved until an operator that has them finds
 *  that its owner is gone. */
const release: Body<'release'> = async (context) => {
  const { input, groups, fence } = context;
  const { subject } = input;
  const released = await byJob.release(context);
  if (released.kind === 'again' || subject?.ipGroup === undefined || groups === null) return released;
  for (const ip of await groups.held(ownerOf(subject))) await (released.output.deleted ? groups.free(ip, fence) : groups.keep(ip, fence));
  return released;
};

export const groupJobs: Partial<JobBodies> = { create, reconcileCreate, release };
