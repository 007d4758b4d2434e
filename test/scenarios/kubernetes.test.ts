import { describe, expect, test } from 'vitest';
import { movedFrom, staged } from '../e2e/served.ts';

/** What an API server may do to the operator's watches. */
describe('the operator', () => {
  const { served, target, stage: current } = staged();

  test('goes on after an outage of the API server, and moves nothing because of it', async () => {
    const situation = await served();
    const { stage, ip, holder, operator } = situation;
    const said = operator.log.length;
    await target().outage();
    await stage.until('it is noticed', () => operator.log.slice(said).some(({ level }) => level === 'warn'));
    await target().endOutage();
    await stage.notReady(holder);
    await movedFrom(situation, holder);
    expect(stage.assigns(ip)).toHaveLength(2);
  });

  test('finds a node that was deleted and a pod that went while its watches were cut', async () => {
    const situation = await served();
    const { stage, holder } = situation;
    await target().outage();
    if (target().simulator) target().simulator?.store.delete({ apiVersion: 'v1', kind: 'Node', name: holder });
    await target().endOutage();
    if (target().cluster) await stage.deleteNode(holder);
    await movedFrom(situation, holder);
  });

  test('removes its annotations and leaves the addresses where they are when a pool is deleted', async () => {
    const { stage, ip, holder } = await served();
    expect(await stage.annotation(holder)).toBe(ip);
    await stage.deletePool('ingress');
    await stage.until('the annotation is gone', async () => (await stage.annotation(holder)) === null);
    expect(stage.heldBy(ip)).toBe(holder);
    expect(stage.assigns(ip)).toHaveLength(1);
  });

  test('tells of the address that it was creating for a pool when that was deleted, and how to be rid of it', async () => {
    const stage = current();
    await stage.nodes('a');
    // So much longer than it takes to delete the pool meanwhile that a busy machine does it, too.
    const operator = await stage.start({ flags: ['--call-deadline=8s'] });
    const slow = stage.cloud.faults.add({ kind: 'latency', ms: 6_000, match: { method: 'POST', path: '/reserved_ips$' } });
    await stage.pool('brief', { desiredIPs: 1 });
    await stage.until('the call was received', () => slow.hits === 1);
    const records = async () => (await stage.redis.command('KEYS', '*:cell:pool/*')) as string[];
    expect(await records()).not.toEqual([]);
    await stage.deletePool('brief');
    const events = async () =>
      (await stage.target.client.list('events.k8s.io/v1', 'Event', { namespace: 'default' })).filter(
        ({ reason, regarding }) => reason === 'AddressLeft' && (regarding as { name?: string } | undefined)?.name === 'brief',
      );
    await stage.until('it is told', async () => (await events()).length > 0);
    const [left = ''] = stage.cloud.state.reservedIPs.keys();
    expect(stage.cloud.state.reservedIPs.size).toBe(1);
    expect(stage.heldBy(left)).toBeNull();
    expect(await events()).toMatchObject([{ type: 'Warning', note: expect.stringContaining(`doctl compute reserved-ip delete ${left}`) }]);
    await stage.until('the log has it, too', () => operator.log.some(({ msg }) => msg === 'announces'));
    expect(operator.log.find(({ msg }) => msg === 'announces')).toMatchObject({
      object: 'FloatingIPPool default/brief',
      message: expect.stringContaining(left),
    });
    await stage.until('the records are gone', async () => (await records()).length === 0);
  });
});
