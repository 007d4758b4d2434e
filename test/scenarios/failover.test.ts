import { describe, expect, test } from 'vitest';
import { staged } from '../e2e/served.ts';
import { MORTAL_FLAGS } from '../support/operator.ts';

/** A pool as its users know it, from the manifest to the provider's call log. */
describe('a pool', () => {
  const { stage: current } = staged();

  test('assigns its addresses, and moves the one of a node that turns NotReady to a spare node by one assign', async () => {
    const stage = current();
    await stage.nodes('a', 'b', 'c');
    const [one, two] = [stage.cloud.addReservedIP({ region: 'nyc3' }).ip, stage.cloud.addReservedIP({ region: 'nyc3' }).ip];
    const operator = await stage.start();
    await stage.pool('ingress', { ips: [one, two] });
    await stage.until('both are active', async () => (await stage.getPool('ingress')).status?.activeIPs === 2);
    const failing = (await stage.activeOn('ingress', one)) ?? '';
    // The status and the Node are written in no order.
    await stage.until('the node is annotated', async () => (await stage.annotation(failing)) === one);

    await stage.notReady(failing);
    await stage.until('it is active elsewhere', async () => ![null, failing].includes(await stage.activeOn('ingress', one)));
    const now = (await stage.activeOn('ingress', one)) ?? '';
    expect(stage.heldBy(one)).toBe(now);
    await stage.until(
      'the annotation has moved',
      async () => (await stage.annotation(now)) === one && (await stage.annotation(failing)) === null,
    );
    expect(stage.assigns(one)).toEqual([
      { address: one, node: failing },
      { address: one, node: now },
    ]);
    expect(stage.assigns(two)).toHaveLength(1);
    expect(operator.log.filter(({ level }) => level === 'error')).toEqual([]);
    expect(operator.noise).toEqual([]);
    expect(await operator.stop()).toBe(0);
  });

  test('creates the addresses that it lacks and writes them into spec.ips before it uses them', async () => {
    const stage = current();
    await stage.nodes('a', 'b');
    await stage.start();
    await stage.pool('ingress', { desiredIPs: 2 });
    await stage.until('both are active', async () => (await stage.getPool('ingress')).status?.activeIPs === 2);
    const { spec } = await stage.getPool('ingress');
    expect([...(spec.ips ?? [])].sort()).toEqual([...stage.cloud.state.reservedIPs.keys()].sort());
    expect(stage.cloud.state.reservedIPs.size).toBe(2);
  });

  test('finds its addresses where they are after a restart, and writes nothing to the provider', async () => {
    const stage = current();
    await stage.nodes('a', 'b');
    const { ip } = stage.cloud.addReservedIP({ region: 'nyc3' });
    const first = await stage.start();
    await stage.pool('ingress', { ips: [ip] });
    await stage.until('it is active', async () => (await stage.activeOn('ingress', ip)) !== null);
    const holder = stage.heldBy(ip);
    expect(await first.stop()).toBe(0);
    const second = await stage.start();
    await second.ready();
    await stage.notReady(holder === 'a' ? 'b' : 'a');
    await stage.until('the second one leads', () => second.log.some(({ msg }) => msg === 'leads'));
    // What it finds wrong in the beginning would be put right by then.
    await stage.until('it shows that the spare node failed', async () => {
      const { status } = await stage.getPool('ingress');
      return status?.assignableNodes?.length === 0 && status.activeIPs === 1;
    });
    expect(stage.heldBy(ip)).toBe(holder);
    expect(stage.assigns()).toHaveLength(1);
  });

  test('fails over after its operator was killed in the middle of an assignment', async () => {
    const stage = current();
    await stage.nodes('a', 'b', 'c');
    const { ip } = stage.cloud.addReservedIP({ region: 'nyc3' });
    const first = await stage.start({ flags: MORTAL_FLAGS });
    await stage.pool('ingress', { ips: [ip] });
    await stage.until('it is active', async () => (await stage.activeOn('ingress', ip)) !== null);
    const holder = stage.heldBy(ip) ?? '';
    const fault = stage.cloud.faults.add({ match: { method: 'POST', path: '/actions$' }, kind: 'slowAction', ms: 1500 });
    await stage.notReady(holder);
    await stage.until('the assign was received', () => stage.assigns(ip).length === 2);
    first.kill('SIGKILL');
    await first.exited;
    fault.remove();
    await stage.start({ flags: MORTAL_FLAGS });
    await stage.until('it is active elsewhere', async () => ![null, holder].includes(await stage.activeOn('ingress', ip)));
    expect(fault.hits).toBe(1);
    expect(stage.assigns(ip)).toHaveLength(2);
  });
});
