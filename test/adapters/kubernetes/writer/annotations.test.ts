import { describe, expect, test, vi } from 'vitest';
import { JSON_PATCH } from '../../../../adapters/kubernetes/client/connection.ts';
import { at, type Json } from '../../../../simulator/kubernetes/objects.ts';
import { PATIENCE_MS, waitFor } from '../../../support/wait-for.ts';
import { nodeRef } from '../support.ts';
import { FIRST, FIRST_V6, IPV4, IPV6, patchesOf, SECOND, writing } from './writer-support.ts';

describe('the annotation of a node', () => {
  test('is set where an address is and taken from where it was', async () => {
    const { writer, projection, annotation } = await writing();
    writer.project(projection());
    await writer.flush(PATIENCE_MS);
    expect(annotation('a')).toBe(FIRST);
    writer.project(projection({ annotated: { b: FIRST } }));
    await writer.flush(PATIENCE_MS);
    expect(annotation('a')).toBeUndefined();
    expect(annotation('b')).toBe(FIRST);
  });

  test('is written once, and only to the nodes concerned', async () => {
    const { writer, projection, simulator } = await writing();
    for (let round = 0; round < 3; round += 1) {
      writer.project(projection());
      await writer.flush(PATIENCE_MS);
    }
    expect(patchesOf(simulator, '/nodes/a')).toBe(1);
    expect(patchesOf(simulator, '/nodes/b')).toBe(0);
  });

  test('is taken from a node that no longer matches the selector', async () => {
    const { writer, projection, annotation, simulator, source } = await writing();
    writer.project(projection());
    await writer.flush(PATIENCE_MS);
    simulator.store.patch(nodeRef('a'), { metadata: { labels: { color: 'red' } } });
    await waitFor('a is red', () => [...source.nodes()].some(({ node }) => node.name === 'a' && node.labels.color === 'red'));
    writer.project(projection({ annotated: { b: FIRST } }));
    await writer.flush(PATIENCE_MS);
    expect(annotation('a')).toBeUndefined();
  });

  test('is found by the status after a restart, on a node that is not seen', async () => {
    const { writer, newWriter, projection, annotation, source, ref } = await writing();
    writer.project(projection());
    await writer.flush(PATIENCE_MS);
    vi.spyOn(source, 'nodes').mockReturnValue([]);
    await waitFor('the status is seen', () => at(source.object(ref)?.object.status as Json, 'activeIPs') === 1);
    expect(annotation('a')).toBe(FIRST);
    const next = newWriter();
    next.project(projection({ annotated: {} }));
    await next.flush(PATIENCE_MS);
    expect(annotation('a')).toBeUndefined();
  });

  test('that another pool has written meanwhile stays', async () => {
    const { writer, projection, annotation, simulator } = await writing({ watch: false });
    writer.project(projection());
    await writer.flush(PATIENCE_MS);
    simulator.store.patch(nodeRef('a'), { metadata: { annotations: { [IPV4]: '198.51.100.1' } } });
    writer.project(projection({ annotated: {} }));
    await writer.flush(PATIENCE_MS);
    expect(annotation('a')).toBe('198.51.100.1');
  });

  test('that another pool of the same address wants by now is not taken off', async () => {
    const { writer, ref, projection, annotation, simulator } = await writing();
    writer.project(projection());
    await writer.flush(PATIENCE_MS);
    writer.project(projection({ ref: { ...ref, name: 'newer', uid: 'newer' } }));
    await writer.retract(ref, [FIRST]);
    expect([annotation('a'), patchesOf(simulator, '/nodes/a')]).toEqual([FIRST, 1]);
  });

  test('that was on its way off when another pool came to want it is written again', async () => {
    const { meddled, ref, projection, annotation } = await writing();
    const off = Promise.withResolvers<void>();
    const came = Promise.withResolvers<void>();
    const { writer } = meddled(async ({ path, contentType }) => {
      if (path !== '/api/v1/nodes/a' || contentType !== JSON_PATCH) return;
      came.resolve();
      await off.promise;
    });
    writer.project(projection());
    await writer.flush(PATIENCE_MS);
    const retracted = writer.retract(ref, [FIRST]);
    await came.promise;
    writer.project(projection({ ref: { ...ref, name: 'newer', uid: 'newer' } }));
    off.resolve();
    await retracted;
    await waitFor('it is there again', () => annotation('a') === FIRST);
    await writer.flush(PATIENCE_MS);
    expect(annotation('a')).toBe(FIRST);
  });

  test('that another pool has taken off is written again though the watch shows it still', async () => {
    const { writer, ref, projection, annotation, source, fallBehind, catchUp } = await writing();
    writer.project(projection());
    await writer.flush(PATIENCE_MS);
    await waitFor('the watch shows it', () => [...source.nodes()].some(({ ipv4 }) => ipv4 === FIRST));
    fallBehind();
    await writer.retract(ref, [FIRST]);
    expect(annotation('a')).toBeUndefined();
    writer.project(projection({ ref: { ...ref, name: 'newer', uid: 'newer' } }));
    await writer.flush(PATIENCE_MS);
    catchUp();
    expect(annotation('a')).toBe(FIRST);
  });

  test('of a node that two pools want is that of the one that came to want it last, and the other one has it again after that', async () => {
    const { writer, ref, projection, annotation, simulator } = await writing();
    const other = projection({ ref: { ...ref, name: 'other', uid: 'other' }, annotated: { a: SECOND }, addresses: [SECOND] });
    writer.project(projection());
    await writer.flush(PATIENCE_MS);
    for (const each of [other, projection(), other]) {
      writer.project(each);
      await writer.flush(PATIENCE_MS);
      expect([annotation('a'), patchesOf(simulator, '/nodes/a')]).toEqual([SECOND, 2]);
    }
    writer.project({ ...other, annotated: { b: SECOND } });
    await writer.flush(PATIENCE_MS);
    expect([annotation('a'), annotation('b')]).toEqual([FIRST, SECOND]);
  });

  test('stays while only a part of what is known of the pool is shown', async () => {
    const { writer, newWriter, projection, annotation, source, ref } = await writing();
    writer.project(projection());
    await writer.flush(PATIENCE_MS);
    await waitFor('the status is seen', () => at(source.object(ref)?.object.status as Json, 'activeIPs') === 1);
    const next = newWriter();
    next.project(projection({ partial: true, status: { term: 2 }, annotated: {}, addresses: [] }));
    await next.flush(PATIENCE_MS);
    expect(annotation('a')).toBe(FIRST);
  });

  test('that waits for another write of it is left to whoever leads by then', async () => {
    const { meddled, newWriter, ref, projection, annotation, simulator } = await writing();
    const set = Promise.withResolvers<void>();
    const came = Promise.withResolvers<void>();
    const { writer } = meddled(async ({ path }) => {
      if (path !== '/api/v1/nodes/a') return;
      came.resolve();
      await set.promise;
    });
    writer.project(projection());
    await came.promise;
    writer.project(projection({ ref: { ...ref, name: 'newer', uid: 'newer' } }));
    await new Promise(setImmediate);
    writer.forget();
    set.resolve();
    await waitFor('the annotation', () => annotation('a') === FIRST);
    const next = newWriter();
    next.project(projection({ ref: { ...ref, name: 'other', uid: 'other' }, annotated: { b: SECOND }, addresses: [SECOND] }));
    await next.flush(PATIENCE_MS);
    expect([annotation('a'), patchesOf(simulator, '/nodes/a')]).toEqual([FIRST, 1]);
  });

  test('that may not be written is said in an Event, tried again, and holds up nothing else', async () => {
    let allowed = false;
    const { projection, annotation, status, simulator, refusing } = await writing();
    const { writer, log } = refusing(({ method, path }) => !allowed && method === 'PATCH' && path === '/api/v1/nodes/a');
    writer.project(projection({ annotated: { a: FIRST, b: SECOND } }));
    await waitFor('the rest', () => annotation('b') === SECOND && status().activeIPs === 1);
    await waitFor('the Event', () => simulator.store.list('events.k8s.io/v1', 'Event').length === 1);
    expect(simulator.store.list('events.k8s.io/v1', 'Event')[0]).toMatchObject({
      reason: 'Forbidden',
      note: expect.stringContaining('the ServiceAccount may not patch nodes: '),
    });
    await waitFor('the log has it, too', () => log.lines.some((line) => line.includes('may not patch nodes')));
    allowed = true;
    await waitFor('the annotation', () => annotation('a') === FIRST);
  });

  test('of a node that is gone is no concern', async () => {
    const { writer, projection, simulator, log } = await writing({ watch: false });
    writer.project(projection());
    await writer.flush(PATIENCE_MS);
    simulator.store.delete(nodeRef('a'));
    writer.project(projection({ annotated: { b: FIRST } }));
    await writer.flush(PATIENCE_MS);
    expect(log.lines).toEqual([]);
  });

  test('for an IPv6 address is one of its own, beside that for an IPv4 address', async () => {
    const { writer, projection, annotation, ref } = await writing();
    const addresses = [FIRST, FIRST_V6];
    writer.project(projection({ annotated: { a: addresses, b: SECOND }, addresses: [...addresses, SECOND] }));
    await writer.flush(PATIENCE_MS);
    expect([annotation('a'), annotation('a', IPV6)]).toEqual([FIRST, FIRST_V6]);
    expect([annotation('b'), annotation('b', IPV6)]).toEqual([SECOND, undefined]);
    writer.project(projection({ annotated: { a: FIRST, b: [SECOND, FIRST_V6] }, addresses: [...addresses, SECOND] }));
    await writer.flush(PATIENCE_MS);
    expect([annotation('a'), annotation('a', IPV6)]).toEqual([FIRST, undefined]);
    expect([annotation('b'), annotation('b', IPV6)]).toEqual([SECOND, FIRST_V6]);
    await writer.retract(ref, [...addresses, SECOND]);
    await waitFor('no annotation', () => [annotation('a'), annotation('b'), annotation('b', IPV6)].every((each) => each === undefined));
  });

  test('for an IPv6 address is found on a node by its value', async () => {
    const { newWriter, projection, annotation, simulator, source } = await writing();
    simulator.store.patch(nodeRef('a'), { metadata: { annotations: { [IPV6]: FIRST_V6, [IPV4]: '198.51.100.1' } } });
    await waitFor('the annotation is seen', () => [...source.nodes()].some(({ ipv6 }) => ipv6 === FIRST_V6));
    const next = newWriter();
    next.project(projection({ annotated: { b: FIRST_V6 }, addresses: [FIRST_V6] }));
    await next.flush(PATIENCE_MS);
    expect(annotation('a', IPV6)).toBeUndefined();
    expect(annotation('a')).toBe('198.51.100.1');
    expect(annotation('b', IPV6)).toBe(FIRST_V6);
  });

  test('goes with the pool', async () => {
    const { writer, projection, annotation, ref } = await writing();
    writer.project(projection());
    await writer.flush(PATIENCE_MS);
    expect(annotation('a')).toBe(FIRST);
    await writer.retract(ref, [FIRST]);
    await waitFor('no annotation', () => annotation('a') === undefined);
  });
});
