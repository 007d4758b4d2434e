import type { Decision } from '../events.ts';
import type { ReleaseInput } from '../jobs.ts';
import type { AddressContext, AnyAddressEvent } from './context.ts';
import { isRetiring, subjectOf, toPool } from './decisions.ts';

/** What happens at the provider to an address that is no longer wanted. */

type Next = Decision<AddressContext>;

export const retire = (context: AddressContext, event: AnyAddressEvent): Next => ({
  context: { ...context, retiring: event.type === 'RETIRE' ? event.policy : context.retiring },
  effects: [],
});

const isDeleted = ({ retiring, origin }: AddressContext): boolean =>
  retiring === 'DeleteAdopted' || (retiring === 'Delete' && origin === 'Created');

/** It is given back, or the fate of an address of an IPGroup has to be recorded: a job in either case. */
export const mustRelease = (context: AddressContext): boolean =>
  isDeleted(context) || (isRetiring(context) && context.policy.subject?.ipGroup !== undefined);

export const releaseInput = (context: AddressContext): ReleaseInput => ({
  provider: context.provider,
  address: context.address,
  policy: isDeleted(context) ? 'Delete' : 'Retain',
  ...subjectOf(context),
});

export const sayGone = (context: AddressContext): Next => ({
  context,
  effects: [toPool(context, { type: 'GONE', epoch: context.epoch })],
});
