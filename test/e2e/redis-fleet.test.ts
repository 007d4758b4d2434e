import { describe, expect, test } from 'vitest';
import { serveByFleet } from './fleet.ts';
import { movedFrom, staged } from './served.ts';
import { aways, recordedNode } from './store-away.ts';

// About Redis alone, so played against the simulator alone.
describe('while Redis comes and goes, with two replicas', () => {
  const { stage } = staged({ aof: true });

  test('an address moves all the while, each time by one assign', async () => {
    const situation = await serveByFleet(stage(), 2);
    const { fleet, ip } = situation;
    const away = async () =>
      (await Promise.all(fleet.replicas.map((each) => each.figure('routedip_store_away')))).reduce((sum, n) => sum + n, 0);
    const held = [situation.holder];
    const move = async (meanwhile: () => Promise<unknown> = async () => undefined) => {
      const from = held.at(-1) ?? '';
      await stage().notReady(from);
      await meanwhile();
      held.push(await movedFrom(situation, from));
      await stage().ready(from);
    };
    for (let times = 1; times <= 4; times += 1) {
      await stage().redis.freeze();
      // Whoever leads: on a machine that is busy for longer than a Lease lasts the leader makes room.
      await stage().until('it goes on', async () => (await away()) === 1);
      await stage().until('it has said so', () => fleet.replicas.reduce((sum, { operator }) => sum + aways(operator), 0) >= times);
      await move();
      // In the middle of the next one Redis answers again.
      await move(() => stage().redis.thaw());
      await stage().until('it is gone back to', async () => (await away()) === 0);
    }
    await stage().until('Redis has what was decided', async () => (await recordedNode(stage(), ip)) === held.at(-1));
    expect(
      stage()
        .assigns(ip)
        .map(({ node }) => node),
    ).toEqual(held);
    expect(held).toHaveLength(9);
    await fleet.leader();
    for (const { operator } of fleet.replicas) expect(operator.log.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
