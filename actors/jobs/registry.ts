import type { ProviderJobName, Verification } from '../../machines/jobs.ts';
import { PartialList, ProviderError } from '../ports/errors.ts';
import type { Provider } from '../ports/provider.ts';
import { announce } from './announce.ts';
import { assign } from './assign.ts';
import { create, intendCreate, reconcileCreate } from './create.ts';
import { find } from './find.ts';
import { findNodes } from './find-nodes.ts';
import { findFirewall, openFirewall, prune } from './firewall.ts';
import { groupJobs } from './ip-group.ts';
import { done, type JobBodies, type JobBody, passFence, read } from './job.ts';
import { addressJobs } from './kubernetes-job-addresses.ts';
import { firewallJobs } from './kubernetes-job-firewall.ts';
import { ensureRecords } from './records.ts';
import { release } from './release.ts';
import { unassign } from './unassign.ts';

/** Marks the node as a holder, in one try. The mark keeps Pods away, it does not make the address serve: a failover does not wait for a mark that cannot be set, and a
 *  missing one is set with the marks of all holders. */
const elect: JobBody<'elect'> = async (context) => {
  const { input, writer } = context;
  await passFence(context);
  const marked = await writer.markHolder(input.node.name, input.effect).then(
    () => true,
    () => false,
  );
  return done({ marked });
};

/** A RoutedIP's spec is its user's: the address is in its status, and never in a spec that is yet to be observed. */
const BOUND_FOR_GOOD = Number.MAX_SAFE_INTEGER;

/** Writes the address into the owner's spec, or the status of a RoutedIP. An address that may be gone is read first: one that the provider does not know must not be
 *  written again. One that came from a list is not taken from an object that has got it since. @throws ProviderError NotFound | Conflict */
const publish: JobBody<'publish'> = async (context) => {
  const { input, provider, writer } = context;
  if (input.mayBeGone) await provider.findRoutedIP(input.address, read(context, 'intend'));
  if (input.mayBeOthers && (await context.named?.())?.has(input.address))
    throw new ProviderError('Conflict', `publish ${input.address}: another object has it by now`);
  await passFence(context);
  if (input.owner.kind === 'RoutedIP') {
    await writer.bindAddress(input.owner, input.address, 'Created');
    return done({ ips: [input.address], generation: BOUND_FOR_GOOD });
  }
  return done(await writer.appendAddress(input.owner, input.address));
};

/** The addresses of a partial list. @throws any other error */
export function shownAtLeast(error: unknown): Verification {
  if (error instanceof PartialList) return { addresses: error.addresses, isPartial: true };
  throw error;
}

/** Every durable job of a provider, done through its API. */
export const jobBodies: JobBodies = {
  find,
  elect,
  findNodes,
  assign,
  unassign,
  intendCreate,
  create,
  reconcileCreate,
  findFirewall,
  openFirewall,
  prune,
  ensureRecords,
  publish,
  announce,
  release,
  verifyAll: async (context) => {
    const list = context.provider.listRoutedIPs({ ...read(context, 'verify'), family: context.input.family ?? 4 });
    return done(await list.then((addresses) => ({ addresses }), shownAtLeast));
  },
};

/** How the job is done at this provider: through its API, or by Jobs where they replace it; addresses of an IPGroup are reserved there. */
export const bodyOf = <N extends ProviderJobName>(job: N, { jobs }: Pick<Provider, 'jobs'>): JobBody<N> => {
  const standIn =
    (jobs?.addresses ? { ...addressJobs, ...groupJobs }[job] : undefined) ?? (jobs?.firewalls ? firewallJobs[job] : undefined);
  return (standIn ?? jobBodies[job]) as JobBody<N>;
};
