import { describe, expect, test } from 'vitest';
import type { Charts } from '../../actors/charts.ts';
import type { JobName } from '../../machines/jobs.ts';
import type { Address } from '../../machines/types.ts';
import { node, World } from '../support/world.ts';

const A = '203.0.113.207';
const B = '203.0.113.208';

/** Handling throws when an address asks for this job for the n-th time. */
function throwsAt(nth: number, job: JobName): (charts: Charts) => Charts {
  let asked = 0;
  return (charts) => {
    const { ip } = charts;
    if (!ip) throw new Error('there is no chart of an address');
    const spoilt: typeof ip = {
      ...ip,
      job: (name, input) => {
        if (name === job) asked += 1;
        if (name === job && asked === nth) throw new Error('a defect');
        return ip.job(name, input);
      },
    };
    return { ...charts, ip: spoilt };
  };
}

const setAside = (world: World) =>
  world.log.flatMap(({ message, fields }) => (message.startsWith('an event was set aside') ? [fields] : []));

describe('an event whose handling throws', () => {
  test('holds up neither the address nor the rest of its pool: what it said is told again', async () => {
    const world = new World({ spoil: throwsAt(1, 'assign') });
    world.nodes(node('a'), node('b'));
    world.address(A);
    world.address(B);
    const ref = world.pool('ingress', { ips: [A, B] });
    await world.start();
    await world.untilStates(ref, { [A]: 'active', [B]: 'active' }, 300_000);
    expect(setAside(world)).toEqual([expect.objectContaining({ event: 'CLUSTER_OBSERVED', error: 'Error: a defect' })]);
    expect(world.invariants.violations).toEqual([]);
    expect(world.assigns()).toHaveLength(2);
  });

  test('is missed when it was an outcome: its job is issued again', async () => {
    const world = new World({ spoil: throwsAt(2, 'assign') });
    world.nodes(node('a'), node('b'));
    world.address(A);
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    const holder = world.holderOf(A);
    world.provider.cloud.moveByHand(A as Address, null);
    await world.untilOn(A, holder, 20 * 60_000);
    await world.untilStates(ref, { [A]: 'active' });
    expect(setAside(world)).toEqual([expect.objectContaining({ event: 'xstate.done.actor.find', error: 'Error: a defect' })]);
    expect(world.invariants.violations).toEqual([]);
    expect(world.assigns()).toHaveLength(2);
  });
});

describe('a pool whose turns cannot be saved', () => {
  test('is tried again by itself, under the same term, while the others are served', async () => {
    const world = new World();
    world.nodes(node('a'), node('b'), node('c'));
    world.address(A);
    world.address(B);
    const [bad, good] = [world.pool('bad', { ips: [A] }), world.pool('good', { ips: [B] })];
    let failing = false;
    let tried = 0;
    const { connect } = world.store;
    world.store.connect = () => {
      const store = connect();
      const save: typeof store.save = async (write) => {
        if (!failing || write.cell !== 'pool/default/bad') return store.save(write);
        tried += 1;
        throw new Error('a reply that only a defect explains');
      };
      return { ...store, save };
    };
    const { supervisor } = await world.start();
    await world.untilStates(bad, { [A]: 'active' });
    await world.untilStates(good, { [B]: 'active' });
    const term = supervisor.term;
    failing = true;
    const [failed, moved] = [world.holderOf(A) ?? '', world.holderOf(B) ?? ''];
    world.cluster.setNode(node(failed, { ready: false }), node(moved, { ready: false }));
    await world.clock.runUntil(() => ![failed, moved].includes(world.holderOf(B) ?? moved), 10_000);
    await world.clock.advance(10 * 60_000);
    expect(supervisor.term).toBe(term);
    expect(world.states(good)).toEqual({ [B]: 'active' });
    expect(tried).toBeGreaterThan(3);
    expect(tried).toBeLessThan(60);

    failing = false;
    world.cluster.setNode(node(failed), node(moved));
    await world.untilStates(bad, { [A]: 'active' }, 60_000);
    await world.clock.runUntil(() => ![null, moved].includes(world.holderOf(A)), 60_000);
    expect(supervisor.term).toBe(term);
    expect(world.invariants.violations).toEqual([]);
  });
});
