import type { Operator } from '../support/operator.ts';
import type { Stage } from './stage.ts';

/** How often an operator has said that it goes on in memory. */
export const aways = ({ log }: Operator): number => log.filter(({ msg }) => msg === 'goes on without the store').length;

/** Where the address is by what Redis has of it; null for nowhere. */
export async function recordedNode({ redis }: Stage, ip: string): Promise<string | null> {
  const keys = (await redis.command('KEYS', '*:cell:pool/default/ingress:records')) as readonly string[];
  const text = keys[0] === undefined ? null : await redis.command('HGET', keys[0], `pool/default/ingress/ip/${ip}`);
  if (typeof text !== 'string') return null;
  const record = JSON.parse(text) as { readonly snapshot: { readonly context: { readonly assigned: { readonly name: string } | null } } };
  return record.snapshot.context.assigned?.name ?? null;
}
