import { describe, expect, test } from 'vitest';
import type { Address } from '../../../machines/model/types.ts';
import { node, World } from '../../support/world.ts';
import { SECOND, VipWorld } from '../vip/world.ts';

const LOAD_MS = 2 * SECOND;

/** From now on processes take their time over each cell that they read. */
function readSlowly(world: World): void {
  const connect = world.store.connect.bind(world.store);
  world.store.connect = () => {
    const store = connect();
    const { load } = store;
    store.load = async (cell) => {
      await new Promise<void>((resolve) => world.clock.after(LOAD_MS, resolve));
      return load(cell);
    };
    return store;
  };
}

const warnings = ({ log }: World): readonly string[] => log.flatMap(({ level, message }) => (/warn|error/.test(level) ? message : []));

describe('what is told while a new leader reads the records', () => {
  test('of Services begins nothing anew: none is told twice, and it leads after one try', async () => {
    const w = new VipWorld({ vips: { callMs: 10 }, settings: { resyncEveryMs: 5 * SECOND } });
    w.k8s.setGroup('g', { segment: '1.1.1.0/29', excludedIPs: [] });
    for (let index = 1; index <= 12; index += 1) w.k8s.setService({ name: `s${index}` });
    const first = await w.start();
    await w.clock.runUntil(
      () => w.k8s.services().filter(({ ingress }) => ingress.length > 0).length === 8 && w.told('s9').length > 0,
      30 * SECOND,
    );
    await w.clock.advance(15 * SECOND);
    const [term, writes] = [first.supervisor.term, w.k8s.writes.length];
    first.kill();
    readSlowly(w);
    const second = await w.start();
    w.log.length = 0;
    await w.clock.advance(10 * SECOND);
    expect(second.supervisor.records().size).toBe(0);
    w.k8s.setService({ name: 'late' });
    await w.clock.runUntil(() => w.told('late').length > 0, 5 * 60 * SECOND);
    await w.clock.advance(30 * SECOND);
    // That it takes so long is told; nothing else is.
    expect([second.supervisor.term, w.k8s.writes.length, warnings(w)]).toEqual([term + 1, writes, ['objects are not served']]);
  });

  test('of pools begins nothing anew: what was edited meanwhile holds, no address moves, and it leads after one try', async () => {
    const w = new World({ settings: { resyncEveryMs: 5 * SECOND } });
    w.nodes(node('a'), node('b'), node('c'), node('d'));
    const [one, two, three] = ['203.0.113.207' as Address, '203.0.113.208' as Address, '203.0.113.209' as Address];
    w.address(one, 'a');
    w.address(two, 'b');
    w.address(three, 'c');
    const web = w.pool('web', { ips: [one] });
    const api = w.pool('api', { ips: [two] });
    const former = await w.start();
    await w.untilStates(web, { [one]: 'active' });
    await w.untilStates(api, { [two]: 'active' });
    await w.clock.advance(15 * SECOND);
    const { term } = former.supervisor;
    former.kill();
    readSlowly(w);
    const next = await w.start();
    w.log.length = 0;
    await w.clock.runUntil(() => next.supervisor.leading, 60 * SECOND);
    expect(next.supervisor.records().size).toBe(0);
    w.pool('web', { ips: [one, three] });
    await w.untilStates(web, { [one]: 'active', [three]: 'active' });
    await w.clock.advance(30 * SECOND);
    expect([next.supervisor.term, w.assigns().length, warnings(w)]).toEqual([term + 1, 0, []]);
  });
});
