import { describe, expect, test } from 'vitest';
import { Refused } from '../../../../actors/ports/errors.ts';
import { refusal } from '../../../../adapters/kubernetes/client/api-error.ts';
import { backoff } from '../../../../adapters/kubernetes/client/backoff.ts';
import { withinLimits } from '../../../../adapters/kubernetes/client/within-limits.ts';
import { Lane } from '../../../../adapters/kubernetes/writer/work-queue.ts';
import { virtualClock } from '../../../../adapters/memory/clock.ts';
import { at } from '../../../../simulator/kubernetes/objects.ts';
import { PATIENCE_MS, waitFor } from '../../../support/wait-for.ts';
import { FINALIZER, isPatchOfRoutedIP, routing } from '../source/routedips-support.ts';
import { FIRST, writing } from './writer-support.ts';

const WHY = 'FloatingIPPool.flipop.digitalocean.com "pool" is invalid: spec.region: Too long: may not be more than 253 bytes';

/** A writer on a server that refuses each status of the pool, as one of before Kubernetes 1.30 does of an object that breaks a limit, until `isMended`. */
const refusedOf = async () => {
  const world = await writing();
  const path = '/apis/flipop.digitalocean.com/v1alpha1/namespaces/default/floatingippools/pool/status';
  const state = { isMended: false, why: WHY, tries: 0 };
  const meddled = world.meddled((request) => {
    if (request.path !== path || request.method !== 'PATCH') return;
    state.tries += 1;
    if (!state.isMended) throw refusal({ verb: 'patch', path }, 422, state.why);
  });
  const events = () =>
    world.simulator.store
      .list('events.k8s.io/v1', 'Event')
      .flatMap((event) => (event.reason === 'WriteRefused' ? [String(event.note)] : []));
  const lines = () => meddled.log.lines.filter((line) => line.startsWith('warn status not written'));
  return { ...world, ...meddled, state, events, lines };
};

test('a status that the server answers with an error is told of by one Event when that lasts, and written when the server works again', async () => {
  const world = await writing();
  const path = '/apis/flipop.digitalocean.com/v1alpha1/namespaces/default/floatingippools/pool/status';
  let isMended = false;
  let tries = 0;
  const { writer } = world.meddled((request) => {
    if (request.path !== path || request.method !== 'PATCH') return;
    tries += 1;
    if (!isMended) throw refusal({ verb: 'patch', path }, 500, 'failed calling webhook "x.example.com": connection refused');
  });
  const told = () => world.simulator.store.list('events.k8s.io/v1', 'Event').filter(({ reason }) => reason === 'APIServerError');
  writer.project(world.projection());
  await waitFor('the Event', () => told().length === 1);
  expect(told()[0]?.note).toContain(
    'its status cannot be written; all else goes on: the API server answers with an error: patch floatingippools/status',
  );
  const triesBefore = tries;
  await waitFor('further tries', () => tries > triesBefore + 1);
  isMended = true;
  await waitFor('it is written', () => writer.shownGeneration(world.ref) !== null);
  expect(told()).toHaveLength(1);
});

test.each(['guard', 'unguard', 'retract'] as const)(
  'a finalizer that the server answers with an error is told of by one Event, and for as long as it lasts (%s)',
  async (verb) => {
    const world = await routing({ finalizers: verb === 'guard' ? [] : [FINALIZER] });
    let isMended = false;
    const { writer } = world.meddled((request) => {
      if (!isMended && isPatchOfRoutedIP(request))
        throw refusal({ verb: 'patch', path: request.path }, 500, 'failed calling webhook "x.example.com": connection refused');
    });
    // Whoever guards tries again.
    const again = async (): Promise<unknown> => (verb === 'retract' ? null : writer[verb](world.ref).catch(() => null));
    const done = verb === 'retract' ? writer.retract(world.ref, []) : null;
    const told = () => world.simulator.store.list('events.k8s.io/v1', 'Event').filter(({ reason }) => reason === 'APIServerError');
    await again();
    expect(writer.guardTrouble(world.ref)).toBeNull();
    await waitFor('the Event', async () => {
      await again();
      return told().length === 1;
    });
    expect(told()[0]?.note).toContain('its finalizer cannot be written; all else goes on: the API server answers with an error: ');
    const message = expect.stringMatching(/^the API server answers with an error: .* webhook "x\.example\.com"/);
    expect(writer.guardTrouble(world.ref)).toEqual({ reason: 'APIServerError', message });
    await again();
    isMended = true;
    await again();
    await done;
    expect([world.finalizers(), writer.guardTrouble(world.ref)]).toEqual([verb === 'guard' ? [FINALIZER] : [], null]);
    expect(told()).toHaveLength(1);
  },
);

describe('a status that the server refuses for what the object is', () => {
  test('is told of once in the log, by an Event and to probes, and all else of the object goes on', async () => {
    const { writer, projection, annotation, state, events, lines, ref } = await refusedOf();
    writer.project(projection());
    await waitFor('the Event', () => events().length === 1);
    await waitFor('the annotation', () => annotation('a') === FIRST);
    await waitFor('another try', () => state.tries === 2);
    expect(events()[0]).toBe(
      `its status cannot be written; all else goes on. Change what the API server names: patch floatingippools/status in namespace default: 422 ${WHY}`,
    );
    expect(lines()).toHaveLength(1);
    expect(writer.refused()).toBe(
      `the status of 1 cannot be written, such as that of FloatingIPPool default/pool: patch floatingippools/status in namespace default: 422 ${WHY}`,
    );
    expect(writer.shownGeneration(ref)).toBeNull();
  });

  test('is not tried for each new status, nor by jobs that wait for it, but at once when the object has changed', async () => {
    const { writer, projection, state, status, ref } = await refusedOf();
    writer.project(projection());
    await waitFor('it was refused', () => writer.refused() !== null);
    for (let round = 1; round <= 20; round++) {
      writer.project(projection({ status: { ips: {}, activeIPs: round } }));
      await expect(writer.written(ref)).rejects.toThrow(Refused);
    }
    expect(state.tries).toBe(1);
    state.isMended = true;
    writer.project(projection({ generation: 2 }));
    await waitFor('it is written', () => writer.refused() === null);
    expect([status().observedGeneration, writer.shownGeneration(ref)]).toEqual([2, 2]);
  });

  test('is told of anew when something else is refused, in a line that stays short', async () => {
    const { writer, projection, state, events, lines } = await refusedOf();
    writer.project(projection());
    await waitFor('it was refused', () => events().length === 1);
    state.why = `spec.region: Invalid value: "${'€'.repeat(100_000)}": should be at most 253 chars long`;
    writer.project(projection({ generation: 2 }));
    await waitFor('another Event', () => events().length === 2);
    expect(lines()).toHaveLength(2);
    expect(lines()[1]?.length).toBeLessThan(1_500);
    expect(events()[1]).toMatch(/spec\.region: Invalid value: "€+…€+": should be at most 253 chars long$/);
  });
});

test('what is refused for what it is, is tried after 1, 2, 4 s and so on, at the slowest every five minutes', async () => {
  const clock = virtualClock();
  const tries: number[] = [];
  const lane = new Lane({
    clock,
    pace: { intervalMs: 50, burst: 4, impatienceMs: 1_000 },
    backoff: backoff({ firstMs: 250, factor: 2, maxMs: 30_000 }, () => 1),
    run: async () => {
      tries.push(clock.monotonic());
      throw refusal({ verb: 'patch', path: '/api/v1/nodes/a' }, 422, 'invalid');
    },
    failed: () => undefined,
  });
  lane.request();
  await clock.advance(60 * 60_000);
  lane.stop();
  const pauses = tries.slice(1).map((time, index) => (time - (tries[index] ?? 0)) / 1_000);
  expect(pauses.slice(0, 11)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
  expect(tries.length).toBeLessThan(24);
});

describe('a status of the largest clusters', () => {
  const names = Array.from({ length: 12_000 }, (_, index) => `node-${index}`);

  test('is written with what fits: texts are cut, and lists that people read end', async () => {
    const { writer, projection, status } = await writing();
    const ips = { [FIRST]: { state: 'error', error: '€'.repeat(2_000), machineState: 'CoolOff' } };
    writer.project(projection({ status: { ips, activeIPs: 0, assignableNodes: names, nodeErrors: [], error: 'x'.repeat(40_000) } }));
    await writer.flush(PATIENCE_MS);
    expect(at(status(), 'assignableNodes')).toEqual(names.slice(0, 10_000));
    expect(Buffer.byteLength(String(at(status(), 'error')))).toBeLessThanOrEqual(32_768);
    expect(at(status(), 'ips', FIRST)).toMatchObject({ state: 'error', error: expect.stringMatching(/^€{150,170}…$/) });
  });

  test('keeps all that a rebuild goes by, and what is within the limits as it is', () => {
    const { previousNodes } = { previousNodes: names };
    expect(withinLimits('RoutedIP', { previousNodes, error: 'short' })).toEqual({ previousNodes, error: 'short' });
    expect(withinLimits('ClusterRoutedIPClass', { routedIPs: names }).routedIPs).toHaveLength(10_000);
  });
});
