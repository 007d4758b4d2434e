import type { ProviderJobName } from '../../machines/jobs.ts';
import type { Provider } from '../ports/provider.ts';
import { announce } from './announce.ts';
import { assign } from './assign.ts';
import { done, type JobBodies, type JobBody, read, write } from './body.ts';
import { groupJobs } from './by-group.ts';
import { addressJobs } from './by-job-addresses.ts';
import { firewallJobs } from './by-job-firewall.ts';
import { create, intendCreate, reconcileCreate } from './create.ts';
import { elect } from './elect.ts';
import { find } from './find.ts';
import { findNodes } from './find-nodes.ts';
import { findFirewall, openFirewall, prune } from './firewall.ts';
import { publish } from './publish.ts';
import { ensureRecords } from './records.ts';

/** Every durable job that is a provider's, as its API does it. */
export const jobBodies: JobBodies = {
  find,
  elect,
  findNodes,
  assign,
  intendCreate,
  create,
  reconcileCreate,
  findFirewall,
  openFirewall,
  prune,
  ensureRecords,
  publish,
  announce,
  release: async (context) => {
    if (context.input.policy === 'Retain') return done({ deleted: false });
    await context.provider.deleteRoutedIP(context.input.address, write(context, 'failover'));
    return done({ deleted: true });
  },
  verifyAll: async (context) => done({ addresses: await context.provider.listRoutedIPs(read(context, 'verify')) }),
};

/** How the job is done at this provider: by its API, or by Jobs where they stand in for it; addresses of an IPGroup are reserved there. */
export const bodyOf = <N extends ProviderJobName>(job: N, { jobs }: Pick<Provider, 'jobs'>): JobBody<N> => {
  const standIn =
    (jobs?.addresses ? { ...addressJobs, ...groupJobs }[job] : undefined) ?? (jobs?.firewalls ? firewallJobs[job] : undefined);
  return (standIn ?? jobBodies[job]) as JobBody<N>;
};
