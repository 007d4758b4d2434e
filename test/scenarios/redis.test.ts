import { describe, expect, test } from 'vitest';
import { movedFrom, staged } from '../e2e/served.ts';

const SLOW_ASSIGN = { match: { method: 'POST', path: '/reserved_ips/[^/]+/actions$' }, kind: 'slowAction', ms: 2000 } as const;

/** What may happen to Redis in the middle of a failover. */
describe('a failover ends on a spare node by one assign when Redis', () => {
  const { served, stage: current } = staged({ aof: true });

  const midFailover = async () => {
    const situation = await served();
    const { stage, ip, holder } = situation;
    stage.cloud.faults.add(SLOW_ASSIGN);
    await stage.notReady(holder);
    await stage.until('the assign was received', () => stage.assigns(ip).length === 2);
    return situation;
  };

  test('is killed in the middle of it and started again', async () => {
    const situation = await midFailover();
    const { stage, ip, holder } = situation;
    await stage.redis.crash();
    await stage.until('the operator says so', async () => (await situation.operator.metrics('/readyz')).text.includes('redis: '));
    await stage.redis.restart();
    await movedFrom(situation, holder);
    expect(stage.assigns(ip)).toHaveLength(2);
  });

  test('is emptied while its job runs', async () => {
    const situation = await midFailover();
    const { stage, ip, holder } = situation;
    await stage.redis.flushAll();
    await movedFrom(situation, holder);
    expect(stage.assigns(ip)).toHaveLength(2);
  });

  test('stands still for some seconds', async () => {
    const situation = await midFailover();
    const { stage, ip, holder } = situation;
    await stage.redis.freeze();
    await stage.until('the operator says so', async () => (await situation.operator.metrics('/readyz')).text.includes('redis: '));
    await stage.redis.thaw();
    await movedFrom(situation, holder);
    expect(stage.assigns(ip)).toHaveLength(2);
  });

  test('is emptied while no operator runs: it finds everything where it is, and creates and moves nothing', async () => {
    const { stage, operator, ip, holder } = await served();
    await stage.editPool('ingress', { desiredIPs: 2 });
    await stage.until('two are active', async () => (await stage.getPool('ingress')).status?.activeIPs === 2);
    const term = (await stage.getPool('ingress')).status?.term ?? 0;
    const writes = stage.cloud.calls.select({ writes: true }).length;
    expect(await operator.stop()).toBe(0);
    await stage.redis.flushAll();
    const next = await stage.start();
    await stage.until('the next one leads', () => next.log.some(({ msg }) => msg === 'leads'));
    await stage.until('the next one has written the status', async () => ((await stage.getPool('ingress')).status?.term ?? 0) > term);
    await stage.until('two are active', async () => (await stage.getPool('ingress')).status?.activeIPs === 2);
    expect(stage.heldBy(ip)).toBe(holder);
    expect(stage.cloud.calls.select({ writes: true }).length).toBe(writes);
    expect(stage.cloud.state.reservedIPs.size).toBe(2);
  });

  test('would drop keys: it is refused, with what to change', async () => {
    const stage = current();
    await stage.redis.configSet('maxmemory-policy', 'allkeys-lru');
    const operator = await stage.start();
    await stage.until('it says so', () => operator.log.some((line) => JSON.stringify(line).includes('noeviction')));
    expect((await operator.metrics('/readyz')).status).toBe(503);
    await stage.redis.configSet('maxmemory-policy', 'noeviction');
    await operator.ready();
  });
});
