import { expect } from 'vitest';
import { isStopped } from '../support/processes.ts';
import type { Fleeted, Replica } from './fleet.ts';
import { movedFrom } from './served.ts';

/** Moves the address once by failing its node, which is back afterwards; by one assign. */
export async function move(situation: Fleeted): Promise<void> {
  const { stage, ip } = situation;
  const from = stage.heldBy(ip) ?? '';
  const before = stage.assigns(ip).length;
  await stage.notReady(from);
  const to = await movedFrom(situation, from);
  expect(stage.assigns(ip).slice(before)).toEqual([{ address: ip, node: to }]);
  await stage.ready(from);
}

/** Moves the address until something is so; answers how often. */
export async function moveUntil(situation: Fleeted, holds: () => boolean | Promise<boolean>): Promise<number> {
  for (let moves = 0; moves < 40; moves += 1) {
    if (await holds()) return moves;
    await move(situation);
  }
  throw new Error('40 moves were not enough');
}

/** Fails the node of the address until it is this replica that sends the assign, and is stopped there by its stroke. Resolves with the node that the
 *  address was on. */
export async function standsStillIn(situation: Fleeted, replica: Replica): Promise<string> {
  const { stage, ip } = situation;
  const stopped = () => isStopped(replica.operator.pid);
  for (let moves = 0; moves < 40; moves += 1) {
    const from = stage.heldBy(ip) ?? '';
    const own = replica.assigns();
    await stage.notReady(from);
    await stage.until('the replica stands still, or another one has moved the address', async () => {
      const now = await stage.activeOn('ingress', ip);
      return stopped() || (now !== null && now !== from);
    });
    if (stopped()) {
      expect(replica.assigns()).toBe(own + 1);
      return from;
    }
    await stage.ready(from);
  }
  throw new Error('40 moves were not enough');
}

/** Leaves all jobs to the others: this one does not see the queues until its Redis is mended. */
export async function cutOffFromRedis({ stage }: Fleeted, replica: Replica): Promise<void> {
  replica.redis.cut();
  await stage.until('the replica says that it has no Redis', async () => !(await replica.isReady()));
}

/** Resolves once the pool is shown as it is under a term, by its leader. */
export async function shown({ stage, ip }: Fleeted, term: number): Promise<void> {
  await stage.until(`the status is of term ${term}`, async () => {
    const { status } = await stage.getPool('ingress');
    return status?.term === term && status.ips?.[ip]?.state === 'active';
  });
}

/** Resolves once the pool is shown as it is under a later term than that: a machine that is busy may have another leader in between. Answers which. */
export async function shownAfter({ stage, ip }: Fleeted, term: number): Promise<number> {
  const found = { term };
  await stage.until(`the status is of a term after ${term}`, async () => {
    const { status } = await stage.getPool('ingress');
    found.term = status?.term ?? 0;
    return found.term > term && status?.ips?.[ip]?.state === 'active';
  });
  return found.term;
}

/** Resolves once a former leader is a replica like the others. */
export async function follows({ stage }: Fleeted, former: Replica): Promise<void> {
  await stage.until('the former leader follows', async () => !(await former.leads()) && (await former.isReady()));
  await stage.until('it has said so', () => former.operator.log.some(({ msg }) => msg === 'leads no longer'));
  expect(former.operator.log.filter(({ level }) => level === 'error')).toEqual([]);
}

/** The present leader stops, and the former one takes its place: it has missed nothing. */
export async function takesTurns(situation: Fleeted, present: Replica, former: Replica): Promise<void> {
  expect(await present.operator.stop()).toBe(0);
  expect(await situation.fleet.leader()).toBe(former);
  await move(situation);
}
