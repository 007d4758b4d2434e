import { describe, expect, test } from 'vitest';
import { movedFrom, staged } from '../e2e/served.ts';
import { aways, recordedNode } from '../e2e/store-away.ts';

/** Redis goes for long, and comes back. */
describe('while Redis is away', () => {
  const { served } = staged({ aof: true });

  test('an address moves each time its node fails, by one assign each, and nothing is sent again when it is back', async () => {
    const situation = await served(['a', 'b', 'c'], { flags: ['--leader-elect=false'] });
    const { stage, operator, ip } = situation;
    const nodes = () => stage.assigns(ip).map(({ node }) => node);
    const held = [situation.holder];
    const move = async () => {
      const from = held.at(-1) ?? '';
      await stage.notReady(from);
      held.push(await movedFrom(situation, from));
      await stage.ready(from);
    };
    expect(await recordedNode(stage, ip)).toBe(held[0]);
    await stage.redis.crash();
    await stage.until('it says that it goes on', async () => {
      const { status, text } = await operator.metrics('/readyz');
      return status === 200 && text.startsWith('ok\nredis: goes on in memory');
    });
    await stage.until('its metrics say so', async () => (await operator.metrics()).text.includes('\nroutedip_store_away 1\n'));
    for (let moves = 1; moves <= 4; moves += 1) await move();
    expect(nodes()).toEqual(held);
    await stage.redis.restart();
    await stage.until('nothing is said of Redis any more', async () => (await operator.metrics('/readyz')).text === 'ok\n');
    await stage.until('Redis has what was decided', async () => (await recordedNode(stage, ip)) === held.at(-1));
    await stage.until('its metrics say so', async () => (await operator.metrics()).text.includes('\nroutedip_store_away 0\n'));
    await move();
    await stage.until('Redis has it', async () => (await recordedNode(stage, ip)) === held.at(-1));
    expect(nodes()).toEqual(held);
    await stage.until('it has said that Redis is back', () => operator.log.some(({ msg }) => msg === 'the store is back'));
    expect([aways(operator), operator.log.filter(({ level }) => level === 'error')]).toEqual([1, []]);
  });
});
