import { backoffMs } from '../model/backoff.ts';
import type { PoolSpec } from '../spec/pool.ts';
import { listed, type Next, next, type PoolContext, type PoolSettings } from './context.ts';
import { spare } from './creation.ts';

/** A tool that applies manifests removes from `spec.ips` what the operator has added there. The addresses keep serving; they are added again, with increasing back-off. */

/** Records that the spec has lost addresses that were added to it, or that they have been kept. */
export function withReverts(context: PoolContext, spec: PoolSpec, generation: number): PoolContext {
  if (spec.exposes) return context;
  const { created, acquiring, reverts = 0 } = context;
  const lost = created.filter((address) => !spec.ips.includes(address));
  const isShort = spec.ips.length < spec.desired;
  const hadThem = lost.some((address) => context.spec?.ips.includes(address) || acquiring.published.includes(address));
  if (isShort && hadThem && generation >= acquiring.publishedIn) return { ...context, reverts: reverts + 1 };
  // A spec may be observed before the outcome of writing it arrives.
  const isOwn = generation <= acquiring.publishedIn || acquiring.unpublished !== null;
  const isKept = !isOwn && (!isShort || lost.length === 0);
  return isKept && reverts > 0 ? { ...context, reverts: 0 } : context;
}

/** The first revert may be manual: it is repaired at once. */
const tries = ({ reverts = 0 }: PoolContext): number => reverts - 1;

/** The address to add serves meanwhile. */
function mayWait(context: PoolContext): boolean {
  const address = spare(context);
  return tries(context) > 0 && address !== null && context.members[address]?.confirmed === true;
}

const isWaiting = ({ acquiring }: PoolContext): boolean => acquiring.failure?.reason === 'SpecReverted';

export const mustWait = (context: PoolContext): boolean => mayWait(context) && !isWaiting(context);

export const waitsNoMore = (context: PoolContext): boolean => isWaiting(context) && !mayWait(context);

/** Waits until the addresses are added again. */
export const waitAfterRevert =
  ({ backoff }: PoolSettings) =>
  (context: PoolContext, at: number): Next => {
    const failure = {
      kind: 'Conflict',
      reason: 'SpecReverted',
      message: textOf(context),
      retryAfterMs: null,
      unknownOutcome: false,
    } as const;
    const attempts = tries(context);
    return next({ ...context, acquiring: { ...context.acquiring, failure, attempts, until: at + backoffMs(backoff, failure, attempts) } });
  };

const textOf = (context: PoolContext): string =>
  `${spare(context)} was added to spec.ips, and somebody has taken it out again: it serves on, and is added again later. Leave spec.ips to the operator, or list all ${listed(context).length} addresses there`;
