import { describe, expect, onTestFinished, test } from 'vitest';
import { fleetOn } from '../e2e/fleet.ts';
import { vipStage } from '../e2e/vip-objects.ts';
import { VipWatch } from '../e2e/vip-watch.ts';
import { MORTAL_FLAGS } from '../support/operator.ts';

const FLAGS = { flags: ['--controllers=vip', '--debug', ...MORTAL_FLAGS] };
const NONE_LEFT = 'PoolExhausted: no IP could be allocated';
const DEADLINE_MS = 120_000;

/** `SECOND` come after the first kill. */
const [ADDRESSES, FIRST, SECOND] = [100, 60, 140];
/** A leader is killed when so many list an address. */
const KILLS = [20, 75] as const;

/** Many Services that want few addresses, with several replicas of which those that lead are killed. */
describe('more Services than addresses', () => {
  const { vips: current, target } = vipStage();
  const all = FIRST + SECOND;

  test('share what there is while two leaders are killed; no address has two owners, none is lost, who waits longest is next, and in the end all are served', {
    timeout: 600_000,
  }, async () => {
    const vips = current();
    const watch = new VipWatch(target());
    onTestFinished(() => watch.close());
    await watch.start();
    const rest = ADDRESSES - 32;
    await vips.group('race-a', '10.1.0.0/27');
    await vips.group('race-b', '10.2.0.0/24', [`10.2.0.${rest}-10.2.0.255`]);
    const fleet = fleetOn(vips.stage);
    onTestFinished(() => fleet.close());
    for (const _ of [1, 2, 3]) await fleet.start(FLAGS);
    const allServe = () => fleet.replicas.every(({ operator }) => operator.log.some(({ msg }) => msg === 'serves metrics and probes'));
    const until = async (what: string, holds: () => boolean | Promise<boolean>): Promise<void> => {
      try {
        await vips.until(what, holds, DEADLINE_MS);
      } catch (cause) {
        throw new Error(`${what}: ${await watch.standing()}`, { cause });
      }
    };
    const create = (from: number, count: number) =>
      Promise.all(Array.from({ length: count }, (_, index) => vips.service(`shop-${String(from + index).padStart(3, '0')}`)));

    const waves = [
      { from: 0, count: FIRST, killAt: KILLS[0] },
      { from: FIRST, count: SECOND, killAt: KILLS[1] },
    ];
    for (const { from, count, killAt } of waves) {
      await vips.until('all replicas can be asked', allServe);
      const leader = await fleet.leader();
      const reached = watch.whenListed(killAt).then((listed) => {
        leader.operator.kill('SIGKILL');
        return listed;
      });
      await create(from, count);
      // Not all that it had to do is done.
      expect(await reached).toBeLessThan(Math.min(ADDRESSES, from + count));
      expect([await leader.operator.exited, leader.operator.signal()]).toEqual([null, 'SIGKILL']);
      await fleet.start(FLAGS);
    }
    await until('all addresses are listed', () => watch.listed.size === ADDRESSES);
    const inUse = () => [...watch.listed].map(([name, address]) => `${address} default/${name}`).sort();
    const reserved = () => [...watch.reserved].map(([address, owner]) => `${address} ${owner}`).sort();
    await until('only what is listed is reserved', () => reserved().join() === inUse().join());
    const waiting = watch.waiting();
    expect(waiting).toHaveLength(all - ADDRESSES);
    const told = async () => {
      const said = await vips.told();
      return waiting.map((name) => (said.get(name) ?? []).join());
    };
    await until('all that wait are told so', async () => !(await told()).includes(''));
    expect(new Set(await told())).toEqual(new Set([NONE_LEFT]));

    const [half, holders] = [ADDRESSES / 2, [...watch.listed.keys()]];
    for (const left of [half, 0]) {
      const going = holders.splice(0, half);
      await Promise.all(going.map((name) => vips.remove(name)));
      const remaining = ADDRESSES + left;
      await until('they are gone and others are served', () => watch.services.size === remaining && watch.listed.size === ADDRESSES);
      expect(waiting.filter((name) => watch.listed.has(name))).toEqual(waiting.slice(0, ADDRESSES - left));
      await until('only what is listed is reserved', () => reserved().join() === inUse().join());
    }
    expect(watch.waiting()).toEqual([]);

    await Promise.all([...watch.services.keys()].map((name) => vips.remove(name)));
    await until('nothing is left', () => watch.services.size + watch.reserved.size === 0);
    expect(watch.violations).toEqual([]);
    for (const { operator } of fleet.replicas) expect(operator.log.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
