import type { ObjectRef } from '../../../machines/model/types.ts';
import { node, type OperatorProcess, type World } from '../../support/world.ts';

export const FOUR = '203.0.113.7';
export const SIX = '2001:db8::6';
export const SEVEN = '2001:db8::7';
export const facts = { ipv6: true };

/** Both families on one node: the pools `four` and `six`, active on node a; b is spare. */
export async function bothOn(
  world: World,
): Promise<{ readonly four: ObjectRef; readonly six: ObjectRef; readonly first: OperatorProcess }> {
  world.nodes(node('a'), node('b'));
  for (const address of [FOUR, SIX]) world.address(address, 'a');
  const refs = { four: world.pool('four', { ips: [FOUR] }), six: world.pool('six', { ips: [SIX] }) };
  const first = await world.start();
  await world.untilStates(refs.four, { [FOUR]: 'active' });
  await world.untilStates(refs.six, { [SIX]: 'active' });
  return { ...refs, first };
}
