import { expect, test } from 'vitest';
import type { Address, Candidate, Leaving, ProviderID } from '../../../machines/model/types.ts';
import type { Member } from '../../../machines/pool/assignment.ts';
import type { PoolContext } from '../../../machines/pool/context.ts';
import { decideGrants } from '../../../machines/pool/grant.ts';
import { hasQuestion } from '../../../machines/pool/node-absence.ts';
import { nodeEvents } from '../../../machines/status/nodes.ts';
import { START } from '../builders.ts';
import { primed } from './world.ts';

const candidate = (index: number): Candidate => ({
  name: `n${index}`,
  providerID: `digitalocean://${index}` as ProviderID,
  region: 'nyc3',
  createdAt: index,
});

/** A pool of so many addresses that serve, each on a node of its own. */
function serving(count: number): PoolContext {
  const { context } = primed({ ips: ['203.0.113.7'] }, ['a']);
  const [pattern] = Object.values(context.members) as [Member];
  const members = Array.from({ length: count }, (_, index): [Address, Member] => {
    const { name, providerID } = candidate(index);
    const node = { name, providerID };
    return [
      `10.0.${index >> 8}.${index % 256}` as Address,
      { ...pattern, rank: index, ready: false, holder: providerID, node, stands: node, confirmed: true, eligible: true, heard: true },
    ];
  });
  return { ...context, members: Object.fromEntries(members), candidates: members.map((_, index) => candidate(index)) };
}

/** How often `run` looks at a field of what `counted` made. */
function looks(run: (counted: <T extends object>(object: T) => T) => unknown): number {
  let count = 0;
  const looked = <T>(what: T): T => {
    count += 1;
    return what;
  };
  run(
    (object) =>
      new Proxy(object, {
        get: (target, name) => looked(Reflect.get(target, name)),
        ownKeys: (target) => looked(Reflect.ownKeys(target)),
      }),
  );
  return count;
}

test('what is told of nodes that are about to go, or absent, grows as the pool does, also where that is all of them', () => {
  const looksAt = (count: number): number =>
    looks((counted) => {
      const before = serving(count);
      const leaving: readonly Leaving[] = before.candidates.map(counted);
      const gone = { since: START, failing: true, askAt: null, asks: 0 };
      const draining = { ...before, leaving, candidates: [] };
      expect(nodeEvents(before, draining)).toHaveLength(count);
      expect(nodeEvents(draining, draining)).toHaveLength(0);
      const absent = leaving.map((node) => ({ ...gone, node }));
      expect(nodeEvents(before, { ...before, absent })).toHaveLength(count);
    });
  expect(looksAt(1000)).toBeLessThanOrEqual(11 * looksAt(100));
});

test('grants are worked out once for all that ask of them in a turn, and anew at another time, or of another pool', () => {
  const context = serving(100);
  const looksFor = (times: number): number =>
    looks((counted) => {
      const pool = { ...context, members: counted(context.members) };
      for (let each = 0; each < times; each += 1) decideGrants(pool, START);
    });
  expect(looksFor(1)).toBeGreaterThan(100);
  expect(looksFor(5)).toBe(looksFor(1));
  const [address, member] = Object.entries(context.members)[0] as [Address, Member];
  const waiting = { ...member, node: null, stands: null, holder: null, ready: true };
  const backOff = { n0: { until: START + 1000, attempts: 1 } };
  const resting = { ...context, members: { ...context.members, [address]: waiting }, backOff };
  expect([context, resting].map((pool) => decideGrants(pool, START).nextAt)).toEqual([null, START + 1000]);
  expect(decideGrants(resting, START + 1000).grants).toMatchObject([{ address, node: { name: 'n0' } }]);
});

test('no address is looked at where no node is to be asked for', () => {
  const context = serving(100);
  expect(looks((counted) => expect(hasQuestion({ ...context, members: counted(context.members) }, START)).toBe(false))).toBe(0);
});
