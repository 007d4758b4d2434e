import { describe, expect, test } from 'vitest';
import { Unreachable } from '../../actors/ports/errors.ts';
import { JOBS_ONLY, jobsOnly } from '../../adapters/accounts/jobs-only.ts';
import { JobsWorld, KEY, OLD, YOUNG } from '../actors/kubernetes-jobs/world.ts';
import { MINUTE, RoutedWorld, SECOND } from '../actors/routedip/world.ts';
import { node, type OperatorProcess } from '../support/world.ts';

const FAILS = () => new Unreachable('create Job: 500 failed calling webhook "jobs.kb.io": connection refused', { isAnswered: true });

/** Processes whose API server fails what they ask about Jobs with what `failure` says, as long as it says so. */
async function failing(world: JobsWorld, failure: () => false | Error): Promise<OperatorProcess> {
  world.begins = ({ providers }) => {
    const driver = world.jobs.driver();
    const { run } = driver;
    const meddled = {
      ...driver,
      run: (...asked: Parameters<typeof run>) => {
        const error = failure();
        return error ? Promise.reject(error) : run.call(driver, ...asked);
      },
      look: driver.look.bind(driver),
      clear: driver.clear.bind(driver),
      conclude: driver.conclude.bind(driver),
      addresses: driver.addresses,
      firewalls: driver.firewalls,
    };
    providers.set(KEY, { facts: { ...JOBS_ONLY, missing: null }, provider: jobsOnly(KEY, meddled) });
  };
  return world.start();
}

function prepared(options = {}) {
  const world = new JobsWorld(options);
  world.jobClass();
  world.setNode(OLD, YOUNG);
  world.setWeb('shop', ['old', 'young']);
  return { world, ref: world.setRoutedIP('shop') };
}

/** A world in which no intent to create an address can be written until `recovers`. */
function failingIntents() {
  const world = new RoutedWorld();
  world.setClass({});
  world.setNode(node('b'));
  world.setWeb('shop', ['b']);
  let isFailing = true;
  world.begins = ({ cluster }) => {
    const { recordIntent } = cluster;
    cluster.recordIntent = (...asked) => (isFailing ? Promise.reject(FAILS()) : recordIntent(...asked));
  };
  const recovers = (): void => {
    isFailing = false;
  };
  return { world, recovers };
}

const allOf = (world: RoutedWorld, ref: Parameters<RoutedWorld['status']>[0]) =>
  JSON.stringify(world.cluster.conditions(ref).map(({ type, status, reason, message }) => [type, status, reason, message]));

describe('errors of the API server', () => {
  test('have nobody forget why a Job does not begin', async () => {
    const { world, ref } = prepared();
    world.jobs.script('create', { kind: 'stuck', reason: 'FailedCreate', why: 'violates PodSecurity', forMs: 60 * MINUTE });
    let isFailing = false;
    await failing(world, () => isFailing && FAILS());
    await world.clock.advance(20 * SECOND);
    expect(allOf(world, ref)).toContain('violates PodSecurity');
    isFailing = true;
    await world.clock.advance(20 * SECOND);
    expect(allOf(world, ref)).toContain('APIServerError');
    isFailing = false;
    await world.clock.advance(MINUTE);
    expect(allOf(world, ref)).not.toContain('APIServerError');
    expect(allOf(world, ref)).toContain('violates PodSecurity');
  });

  test('are told no more once they are over, although the process that met them has died', async () => {
    const { world, ref } = prepared({ jobs: { takesMs: 60 * MINUTE, deadlineMs: 90 * MINUTE } });
    let isFailing = false;
    const leader = await failing(world, () => isFailing && new Unreachable('create Job: connection refused'));
    const follower = await failing(world, () => isFailing && FAILS());
    await world.clock.advance(5 * SECOND);
    // The same means once more: from now on the follower is the first to take the job.
    const { facts, provider } = leader.providers.all[KEY] ?? {};
    if (facts && provider) leader.providers.set(KEY, { facts, provider: { ...provider } });
    await world.clock.advance(MINUTE);
    isFailing = true;
    await world.clock.advance(MINUTE);
    expect(allOf(world, ref)).toContain('APIServerError');
    follower.kill();
    isFailing = false;
    await world.clock.advance(10 * MINUTE);
    expect(leader.supervisor.leading).toBe(true);
    expect(allOf(world, ref)).not.toContain('APIServerError');
  });

  test('are told no more once the server answers, although the provider asks for patience then', async () => {
    const { world, recovers } = failingIntents();
    const ref = world.setRoutedIP('shop');
    await world.start();
    await world.clock.advance(20 * SECOND);
    expect(allOf(world, ref)).toContain('APIServerError');
    recovers();
    world.provider.faults.always('listRoutedIPs', { kind: 'refuse', error: 'RateLimited', retryAfterMs: 10 * MINUTE });
    await world.clock.advance(5 * MINUTE);
    expect(allOf(world, ref)).not.toContain('APIServerError');
  });

  test('delay no assign by more than a second beyond their end while there is no store', async () => {
    const world = new RoutedWorld({ fleeting: true });
    world.setClass({});
    world.setNode(node('a'), node('b'));
    world.setWeb('shop', ['a', 'b']);
    let isFailing = false;
    world.begins = ({ cluster }) => {
      const { written } = cluster;
      cluster.written = (ref) => (isFailing ? Promise.reject(FAILS()) : written(ref));
    };
    const ref = world.setRoutedIP('shop');
    await world.start();
    await world.stable(ref, undefined, 2 * MINUTE);
    await world.clock.advance(20 * SECOND);
    const from = String(world.statusOf(ref).assignedNode);
    isFailing = true;
    world.setNode(node(from, { ready: false }));
    await world.clock.advance(21 * SECOND);
    isFailing = false;
    expect(await world.clock.runUntil(() => world.statusOf(ref).assignedNode === (from === 'a' ? 'b' : 'a'), MINUTE)).toBeLessThan(
      3 * SECOND,
    );
  });

  test('that last for little more than a second are no Event of each RoutedIP', async () => {
    const { world, recovers } = failingIntents();
    await world.start();
    await world.clock.advance(SECOND);
    const ref = world.setRoutedIP('shop');
    await world.clock.advance(1_200);
    recovers();
    await world.stable(ref);
    expect(world.eventsOf(ref)).not.toContain('APIServerError');
  });
});
