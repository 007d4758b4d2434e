import { recordSetActor } from '../model/actor-id.ts';
import { isPaused } from './annotations.ts';
import { entries, isPrimed, type Named, type Next, next, type PoolContext } from './context.ts';
import { served } from './node-absence.ts';

/** A pool and its record set: which of its addresses are published. */

/** How long the serving addresses may change before the record set is updated, ms: a shorter failover leaves DNS alone. */
export const PAUSE_MS = 2000;

const namedNow = (context: PoolContext, at: number): Named => {
  const target = context.spec?.records ?? null;
  const owner = target && context.nameOwner;
  const serving = target ? served(context, at).map(({ address }) => address) : [];
  return { target, addresses: serving.sort(), ...(owner && { owner }) };
};

/** The record set should hold something other than what was last sent. What a paused pool publishes stays. */
export const namesDiffer = (context: PoolContext, at: number): boolean => {
  if (isPaused(context)) return false;
  const now = namedNow(context, at);
  if (!context.named) return now.target !== null;
  const { target, addresses, owner } = context.named;
  return JSON.stringify([now.target, now.addresses, now.owner]) !== JSON.stringify([target, addresses, owner]);
};

/** Some addresses have not reported where they are: the others may not be all that serve. */
export const isUnsettled = (context: PoolContext): boolean =>
  !isPrimed(context) ||
  entries(context.members).some(
    ([, { heard, node, confirmed, holder, retiring }]) =>
      !retiring && (!heard || (node !== null && !confirmed && holder === node.providerID)),
  );

/** Sends the record set its wanted state; starts it the first time. */
export function name(context: PoolContext, at: number): Next {
  if (!namesDiffer(context, at)) return next(context);
  const named = namedNow(context, at);
  const id = recordSetActor(context.id);
  const { since } = context;
  const begin = { type: 'spawn', params: { chart: 'dns-record-set', id, input: { id, ref: null, since } } } as const;
  const wanted = { type: 'tell', params: { to: id, event: { type: 'RECORDS_WANTED', ...named, since } } } as const;
  return next({ ...context, named }, [begin, wanted]);
}
