import { describe, expect } from 'vitest';
import { Unreachable } from '../../../actors/ports/errors.ts';
import { test } from '../../support/sound.ts';
import { node, type World } from '../../support/world.ts';

const MINUTE = 60_000;
const A = '203.0.113.207';

const pool = (world: World) => {
  world.nodes(node('a'));
  world.address(A, 'a');
  return world.pool('ingress', { ips: [A] });
};

describe('a process is beyond help', () => {
  test('when it takes the records over without an end or an error', async ({ open }) => {
    const world = open();
    pool(world);
    const { connect } = world.store;
    world.store.connect = () => ({ ...connect(), openTerm: () => new Promise(() => undefined) });
    const { supervisor } = await world.start();
    await world.clock.advance(5 * MINUTE);
    expect([supervisor.leading, supervisor.stuck()]).toEqual([false, null]);
    await world.clock.advance(MINUTE);
    expect(supervisor.stuck()).toMatch(/^leads, but for \d min the records were neither taken over/);
  });

  test('when nobody looks after its Lease any more', async ({ open }) => {
    const world = open();
    pool(world);
    const { supervisor, lease } = await world.start();
    await world.clock.runUntil(() => supervisor.leading, MINUTE);
    lease.end();
    await world.clock.advance(5 * MINUTE - 5_000);
    expect(supervisor.stuck()).toBeNull();
    await world.clock.advance(MINUTE);
    expect(supervisor.stuck()).toMatch(/^the Lease was neither renewed nor looked at for \d min/);
  });
});

describe('a process can go on', () => {
  test('while the store is away, however long', async ({ open }) => {
    const world = open();
    pool(world);
    world.store.goDown();
    const { supervisor } = await world.start();
    await world.clock.advance(60 * MINUTE);
    expect([supervisor.stuck(), supervisor.hindrances().store]).toEqual([null, expect.stringContaining('switched off')]);
    world.store.comeBack();
    await world.clock.runUntil(() => supervisor.leading, MINUTE);
    world.store.goDown();
    await world.clock.advance(60 * MINUTE);
    expect(supervisor.stuck()).toBeNull();
  });

  test('while the API server is away for it, and while another one leads', async ({ open }) => {
    const world = open();
    pool(world);
    const first = await world.start();
    await world.clock.runUntil(() => first.supervisor.leading, MINUTE);
    first.lease.cut();
    const second = await world.start();
    await world.clock.advance(60 * MINUTE);
    expect([first, second].map(({ supervisor }) => [supervisor.leading, supervisor.stuck()])).toEqual([
      [false, null],
      [true, null],
    ]);
  });

  test('when it has given up to lead in the middle of a failing takeover', async ({ open }) => {
    const world = open();
    pool(world);
    const { connect } = world.store;
    world.store.connect = () => ({ ...connect(), openTerm: () => Promise.reject(new Unreachable('no answer')) });
    const { supervisor, lease } = await world.start();
    await world.clock.advance(10_000);
    expect(supervisor.hindrances().leadership).toContain('has not taken the records over yet: no answer');
    lease.cut();
    await world.clock.advance(60 * MINUTE);
    expect(supervisor.stuck()).toBeNull();
  });
});
