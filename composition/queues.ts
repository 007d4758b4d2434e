import type { Queues } from '../actors/ports/queues.ts';
import { labelOf } from '../machines/model/provider-key.ts';

type Counts = Readonly<Record<string, number>>;

/** Number of jobs in the queues, by state: accounts of one cloud count together, so that the number of names stays bounded. */
export async function countQueues(queues: Queues, names: readonly string[]): Promise<Readonly<Record<string, Counts>>> {
  const counted = await Promise.all(names.map(async (name) => [labelOf(name), await queues.queue(name).counts()] as const));
  const byCloud: Record<string, Counts> = {};
  for (const [name, counts] of counted) byCloud[name] = byCloud[name] ? sum(byCloud[name], counts) : counts;
  return byCloud;
}

const sum = (one: Counts, other: Counts): Counts =>
  Object.fromEntries(
    [...new Set([...Object.keys(one), ...Object.keys(other)])].map((state) => [state, (one[state] ?? 0) + (other[state] ?? 0)]),
  );
