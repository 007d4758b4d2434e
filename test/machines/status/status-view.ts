import type { AddressContext } from '../../../machines/address/context.ts';
import type { Address } from '../../../machines/model/types.ts';
import { type PoolContext, poolContext } from '../../../machines/pool/context.ts';
import type { AddressView, PoolView } from '../../../machines/pool/view.ts';
import { checkPoolSpec } from '../../../machines/spec/pool.ts';
import { A, addressContextOf, B, node, PROVIDER, providerIDOf, refOf, registry, START, serving } from '../builders.ts';
import { poolInput, QUERY, spec } from '../pool/world.ts';

/** One address as its record shows it. */
export const shown = (state: string, change: Partial<AddressContext> = {}): AddressView => ({ state, context: addressContextOf(change) });
export const stable = (address: Address, on: string): AddressView =>
  shown('Stable', { address, elected: refOf(on), assigned: refOf(on), holder: providerIDOf(on), eligible: true, epoch: 1 });
export const specOf = (change: Readonly<Record<string, unknown>> = {}) => checkPoolSpec(spec(change).spec, registry()).spec;

/** A pool that serves A on a and B on b, in its third generation. */
export const view = (
  change: Partial<PoolContext> = {},
  addresses: PoolView['addresses'] = { [A]: stable(A, 'a'), [B]: stable(B, 'b') },
  state = 'Serving',
): PoolView => ({
  state,
  recordSet: null,
  context: {
    ...poolContext(poolInput()),
    generation: 3,
    spec: specOf(),
    query: QUERY,
    provided: {},
    provider: PROVIDER,
    candidates: ['a', 'b'].map((name) => node(name).candidate),
    members: { [A]: serving('a'), [B]: serving('b') },
    ...change,
  },
  addresses,
  term: 4,
  at: START,
});
