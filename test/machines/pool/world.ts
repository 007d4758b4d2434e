import type { MachineEvent } from '../../../actors/runtime/step.ts';
import { addressActor } from '../../../machines/model/actor-id.ts';
import { queryOf } from '../../../machines/model/matching.ts';
import type { Address, ErrorKind, NodeRef, ObservedAddress, ObservedNode } from '../../../machines/model/types.ts';
import type { PoolContext, PoolInput } from '../../../machines/pool/context.ts';
import { A, B, node, observed, POOL, PROVIDER, registry, START } from '../builders.ts';
import { Driven } from '../drive.ts';

export const poolInput = (change: Partial<PoolInput> = {}): PoolInput => ({
  id: POOL,
  ref: { kind: 'FloatingIPPool', namespace: 'default', name: 'ingress', uid: 'uid-ingress' },
  since: 0,
  ...change,
});

export const QUERY = queryOf({ nodeLabel: 'pool=work' });

/** A spec that lists A and B; as observed, in its first generation. */
export const spec = (change: Readonly<Record<string, unknown>> = {}, fact: Readonly<Record<string, unknown>> = {}) => ({
  spec: { provider: PROVIDER, region: 'nyc3', ips: [A, B], match: { nodeLabel: 'pool=work' }, ...change },
  generation: 1,
  registry: registry(),
  conflicts: {},
  ...fact,
});

export const cluster = (...nodes: readonly ObservedNode[]) => ({ query: QUERY, nodes, serving: null });
export const named = (...names: readonly string[]) => cluster(...names.map(node));
export const provided = (...addresses: readonly ObservedAddress[]) => ({ addresses });

export const ready = (address: Address, holder: string | null = null) => {
  const { providerID, region } = observed(address, holder);
  return { address, holder: providerID, region };
};
export const assigned = (address: Address, ref: NodeRef, moved = true) => ({ address, node: ref, moved });
export const failed = (address: Address, kind: ErrorKind, returned: NodeRef | null, holder: string | null = null) => ({
  address,
  kind,
  returned,
  holder: observed(address, holder).providerID,
});

/** The pool, after it heard its spec, its nodes and what the provider has. */
export function primed(
  specChange: Readonly<Record<string, unknown>> = {},
  names: readonly string[] = ['a', 'b'],
  addresses: readonly ObservedAddress[] = [observed(A), observed(B)],
): Driven<PoolContext> {
  return new Driven<PoolContext>('pool', poolInput())
    .send('SPEC_OBSERVED', spec(specChange))
    .send('CLUSTER_OBSERVED', named(...names))
    .send('PROVIDER_OBSERVED', provided(...addresses));
}

/** Who was granted what by the last event, as text. */
export const grantsIn = ({ last }: Driven<PoolContext>): readonly string[] =>
  last.effects.flatMap((effect) => {
    if (effect.type !== 'tell' || effect.params.event.type !== 'NODE_GRANTED') return [];
    const { node: chosen } = effect.params.event as unknown as { node: NodeRef };
    return [`${effect.params.to.slice(addressActor(POOL, '' as Address).length)} → ${chosen.name}`];
  });

/** What the last event told each address, as text; grants by their node. */
export const toldIn = ({ last }: Driven<PoolContext>): readonly string[] =>
  last.effects.flatMap((effect) => {
    if (effect.type === 'claim') return [];
    const address = effect.type === 'spawn' ? effect.params.id : effect.params.to;
    return [`${effect.type === 'spawn' ? 'spawn' : effect.params.event.type} ${address.slice(addressActor(POOL, '' as Address).length)}`];
  });

/** Both addresses wait, then each is confirmed where it was granted. */
export const serving = (specChange: Readonly<Record<string, unknown>> = {}, names: readonly string[] = ['a', 'b']): Driven<PoolContext> => {
  const pool = primed(specChange, names).send('READY', ready(A)).send('READY', ready(B));
  for (const [address, { node: held }] of Object.entries(pool.context.members)) {
    if (held) pool.send('ASSIGNED', assigned(address as Address, held));
  }
  return pool;
};

export const event = (type: string, fields: Readonly<Record<string, unknown>> = {}, at = START): MachineEvent => ({ ...fields, type, at });
