import { describe, expect, test } from 'vitest';
import { PENDING } from '../../../support/pending.ts';
import { PATIENCE_MS, waitFor } from '../../../support/wait-for.ts';
import { FIRST, SECOND } from '../writer/writer-support.ts';
import { FINALIZER, FOREIGN, isPatchOfRoutedIP, ripRef, routedIPObject, routing } from './routedips-support.ts';

describe('the finalizer of a RoutedIP', () => {
  test('stands beside those of others when the promise resolves, and is written once', async () => {
    const { writer, ref, finalizers, patches } = await routing({ finalizers: [FOREIGN] });
    await writer.guard(ref);
    expect(finalizers()).toEqual([FOREIGN, FINALIZER]);
    await writer.guard(ref);
    expect(patches()).toBe(1);
  });

  test('is alone in being taken off', async () => {
    const { writer, ref, finalizers, patches } = await routing({ finalizers: [FINALIZER, FOREIGN] });
    await writer.unguard(ref);
    expect(finalizers()).toEqual([FOREIGN]);
    await writer.unguard(ref);
    expect(patches()).toBe(1);
  });

  test('keeps a deleted RoutedIP until it is taken off', async () => {
    const { writer, ref, exists, simulator } = await routing();
    await writer.guard(ref);
    simulator.store.delete(ripRef);
    expect(exists()).toBe(true);
    await writer.unguard(ref);
    expect(exists()).toBe(false);
  });

  test.each([
    ['is put on', 'guard', [], [FINALIZER]],
    ['is taken off', 'unguard', [FINALIZER], []],
  ] as const)('%s beside what somebody else writes at the same moment', async (_what, method, before, after) => {
    const { meddled, ref, finalizers, setFinalizers, patches } = await routing({ finalizers: before });
    let count = 0;
    const { writer } = meddled((request) => {
      if (isPatchOfRoutedIP(request) && count < 3) setFinalizers([...before, `example.com/other-${++count}`]);
    });
    await writer[method](ref);
    expect(count).toBe(3);
    expect(patches()).toBe(4);
    expect(finalizers()).toEqual(['example.com/other-3', ...after]);
  });

  test('is given up when somebody else writes all the time', async () => {
    const { meddled, ref, finalizers, setFinalizers, patches } = await routing();
    let count = 0;
    const { writer } = meddled((request) => {
      if (isPatchOfRoutedIP(request)) setFinalizers([`example.com/other-${++count}`]);
    });
    await expect(writer.guard(ref)).rejects.toMatchObject({ name: 'ServerUnreachable' });
    expect(patches()).toBe(6);
    expect(finalizers()).toEqual(['example.com/other-6']);
  });

  test('is no concern of a RoutedIP that is gone, or is another one of its name', async () => {
    const { writer, ref, finalizers, simulator, patches } = await routing();
    simulator.store.delete(ripRef);
    await writer.guard(ref);
    await writer.unguard(ref);
    simulator.store.create(routedIPObject([FINALIZER]));
    await writer.unguard(ref);
    expect(finalizers()).toEqual([FINALIZER]);
    expect(patches()).toBe(0);
  });

  test('is not put on what is being deleted: the server would refuse it', async () => {
    const { writer, ref, finalizers, simulator } = await routing({ finalizers: [FOREIGN] });
    simulator.store.delete(ripRef);
    await writer.guard(ref);
    expect(finalizers()).toEqual([FOREIGN]);
  });

  test('fails when the server is away or refuses, and works when it is back', async () => {
    const { writer, refusing, ref, finalizers, simulator } = await routing();
    simulator.faults.outage('reset');
    await expect(writer.guard(ref)).rejects.toMatchObject({ name: 'ServerUnreachable' });
    await expect(writer.unguard(ref)).rejects.toMatchObject({ name: 'ServerUnreachable' });
    simulator.faults.endOutage();
    await expect(refusing(isPatchOfRoutedIP).writer.guard(ref)).rejects.toMatchObject({ kind: 'Forbidden' });
    expect(finalizers()).toEqual([]);
    await writer.guard(ref);
    expect(finalizers()).toEqual([FINALIZER]);
  });
});

describe('a RoutedIP of which nothing is known yet', () => {
  test('keeps its status when conditions alone are shown', async () => {
    const { writer, status, projection } = await routing();
    const remembered = { state: 'Stable', routedIP: FIRST, addressOrigin: 'Created', assignedNode: 'a', term: 3 };
    writer.project(projection({ status: remembered }));
    await writer.flush(PATIENCE_MS);
    const degraded = { type: 'Degraded', status: 'True', reason: 'Forbidden', message: 'may not list services' } as const;
    writer.project(projection({ partial: true, status: { term: 4 }, conditions: [degraded] }));
    await writer.flush(PATIENCE_MS);
    expect(status()).toMatchObject({ ...remembered, term: 4, conditions: [degraded, ...PENDING.conditions] });
    writer.project(projection({ status: { state: 'Unassigned', term: 4 } }));
    await writer.flush(PATIENCE_MS);
    expect(status()).not.toHaveProperty('assignedNode');
  });

  test('is not Ready since it was written, not since the time with which its definition begins', async () => {
    const { writer, status, projection } = await routing();
    const unknown = { type: 'Ready', status: 'Unknown', reason: 'ProviderUnread', message: 'no answer' } as const;
    writer.project(projection({ partial: true, unserved: true, status: {}, conditions: [unknown] }));
    await writer.flush(PATIENCE_MS);
    const { conditions } = status() as unknown as { readonly conditions: readonly { readonly lastTransitionTime: string }[] };
    const [ready] = conditions;
    expect(ready).toMatchObject(unknown);
    expect(ready?.lastTransitionTime.startsWith('1970-')).toBe(false);
  });

  test('keeps the generation that its status is about, and says of which one the condition is', async () => {
    const { writer, ref, status, projection } = await routing();
    const idle = { type: 'Progressing', status: 'False', reason: 'Idle', message: 'nothing is under way' } as const;
    writer.project(projection({ generation: 3, conditions: [idle] }));
    expect(writer.shownGeneration(ref)).toBeNull();
    await writer.flush(PATIENCE_MS);
    expect(writer.shownGeneration(ref)).toBe(3);
    const unknown = { type: 'Ready', status: 'Unknown', reason: 'ProviderUnread', message: 'no answer' } as const;
    writer.project(projection({ generation: 4, partial: true, unserved: true, status: {}, conditions: [unknown] }));
    await writer.flush(PATIENCE_MS);
    const conditions = [
      { ...unknown, observedGeneration: 4 },
      { ...idle, observedGeneration: 3 },
    ];
    expect(status()).toMatchObject({ state: 'Unassigned', observedGeneration: 3, conditions });
    expect(writer.shownGeneration(ref)).toBe(3);
    writer.project(projection({ generation: 4, partial: true, status: {}, conditions: [idle] }));
    await writer.flush(PATIENCE_MS);
    expect(writer.shownGeneration(ref), 'all conditions are about it').toBe(4);
  });

  test('is shown no generation while the server does not take it', async () => {
    const { writer, ref, projection, simulator } = await routing();
    simulator.faults.outage('503');
    writer.project(projection({ generation: 3 }));
    await writer.flush(300);
    expect(writer.shownGeneration(ref)).toBeNull();
    simulator.faults.endOutage();
    await writer.flush(PATIENCE_MS);
    expect(writer.shownGeneration(ref)).toBe(3);
  });
});

describe('the address of a RoutedIP', () => {
  test('stands in the status with where it is from when the promise resolves, beside what stood there', async () => {
    const { writer, ref, status, projection } = await routing();
    writer.project(projection());
    await writer.flush(PATIENCE_MS);
    await writer.bindAddress(ref, FIRST, 'Created');
    expect(status()).toMatchObject({ state: 'Unassigned', routedIP: FIRST, addressOrigin: 'Created' });
    await writer.bindAddress(ref, SECOND, 'Found');
    expect(status()).toMatchObject({ routedIP: SECOND, addressOrigin: 'Found' });
  });

  test('is not swept away by a projection that was made before it, and goes with one that was made after another had it', async () => {
    const { writer, ref, status, projection } = await routing();
    await writer.bindAddress(ref, FIRST, 'Created');
    writer.project(projection({ status: { state: 'CoolOff' } }));
    await writer.flush(PATIENCE_MS);
    expect(status()).toMatchObject({ state: 'CoolOff', routedIP: FIRST, addressOrigin: 'Created' });
    writer.project(projection({ status: { state: 'Electing', routedIP: FIRST, addressOrigin: 'Created' } }));
    writer.project(projection({ status: { state: 'Unassigned' } }));
    await writer.flush(PATIENCE_MS);
    expect(status()).not.toHaveProperty('routedIP');
    expect(status()).not.toHaveProperty('addressOrigin');
  });

  test('that another replica has bound is kept, too', async () => {
    const { writer, newWriter, ref, status, projection } = await routing();
    writer.project(projection());
    await writer.flush(PATIENCE_MS);
    await newWriter().bindAddress(ref, FIRST, 'Created');
    writer.project(projection({ status: { state: 'CoolOff' } }));
    await writer.flush(PATIENCE_MS);
    expect(status()).toMatchObject({ state: 'CoolOff', routedIP: FIRST, addressOrigin: 'Created' });
  });

  test('fails when the server is away or the RoutedIP is gone', async () => {
    const { writer, ref, simulator } = await routing();
    simulator.faults.outage('reset');
    await expect(writer.bindAddress(ref, FIRST, 'Created')).rejects.toMatchObject({ name: 'ServerUnreachable' });
    simulator.faults.endOutage();
    simulator.store.delete(ripRef);
    await expect(writer.bindAddress(ref, FIRST, 'Created')).rejects.toMatchObject({ kind: 'NotFound' });
  });
});

describe('a RoutedIP that is released', () => {
  test('goes when nothing is left of it on the nodes: the finalizer comes off last', async () => {
    const { meddled, ref, projection, annotation, exists, simulator } = await routing({ finalizers: [FINALIZER] });
    const order: string[] = [];
    const { writer } = meddled((request) => {
      if (request.method === 'PATCH') order.push(isPatchOfRoutedIP(request) ? 'finalizer' : request.path);
    });
    writer.project(projection({ annotated: { a: FIRST } }));
    await writer.flush(PATIENCE_MS);
    expect(annotation('a')).toBe(FIRST);
    order.length = 0;
    simulator.store.delete(ripRef);
    await writer.retract(ref, [FIRST]);
    expect(order).toEqual(['/api/v1/nodes/a', 'finalizer']);
    expect(annotation('a')).toBeUndefined();
    expect(exists()).toBe(false);
    await writer.retract(ref, [FIRST]);
  });

  test('goes after the mark of its node: nobody would look for that after the last one', async () => {
    const { meddled, ref, exists, simulator } = await routing({ finalizers: [FINALIZER] });
    const order: string[] = [];
    const { writer } = meddled((request) => {
      if (request.method === 'PATCH') order.push(isPatchOfRoutedIP(request) ? 'finalizer' : request.path);
    });
    await writer.markHolder('a', 'PreferNoSchedule');
    simulator.store.delete(ripRef);
    order.length = 0;
    writer.markHolders({}, true);
    await writer.retract(ref, []);
    expect(order).toEqual(['/api/v1/nodes/a', 'finalizer']);
    expect(exists()).toBe(false);
  });

  test('does not wait for a mark that the cluster does not let us take off', async () => {
    const { refusing, ref, exists, simulator } = await routing({ finalizers: [FINALIZER] });
    let allowed = true;
    const { writer } = refusing((request) => !allowed && request.path === '/api/v1/nodes/a');
    await writer.markHolder('a', 'PreferNoSchedule');
    simulator.store.delete(ripRef);
    allowed = false;
    writer.markHolders({}, true);
    await writer.retract(ref, []);
    expect(exists()).toBe(false);
  });

  test('stays for the finalizers of others', async () => {
    const { writer, ref, finalizers, simulator } = await routing({ finalizers: [FINALIZER, FOREIGN] });
    simulator.store.delete(ripRef);
    await writer.retract(ref, []);
    expect(finalizers()).toEqual([FOREIGN]);
  });

  test('goes when the server is back, and meanwhile others are written', async () => {
    const { writer, ref, exists, simulator, log } = await routing({ finalizers: [FINALIZER] });
    simulator.store.delete(ripRef);
    simulator.faults.outage('503');
    const retracted = writer.retract(ref, []);
    await waitFor('some tries', () => log.lines.filter((line) => line.includes('finalizer not written')).length > 1);
    expect(exists()).toBe(true);
    simulator.faults.endOutage();
    await retracted;
    expect(exists()).toBe(false);
  });

  test('is said to stay when the cluster does not let us take the finalizer off', async () => {
    let allowed = false;
    const { refusing, ref, exists, simulator } = await routing({ finalizers: [FINALIZER] });
    simulator.store.delete(ripRef);
    const { writer } = refusing((request) => !allowed && isPatchOfRoutedIP(request));
    const retracted = writer.retract(ref, []);
    const events = () => simulator.store.list('events.k8s.io/v1', 'Event', { namespace: 'default' });
    await waitFor('the Event', () => events().length > 0);
    expect(events()).toMatchObject([
      { reason: 'Forbidden', action: 'Release', regarding: { kind: 'RoutedIP', name: 'web', apiVersion: 'routedip.io/v1alpha1' } },
    ]);
    expect(exists()).toBe(true);
    allowed = true;
    await retracted;
    expect(exists()).toBe(false);
  });

  test('keeps its finalizer when this process leads no more before it is off, for the next one to take off', async () => {
    const { meddled, newWriter, ref, exists, finalizers, simulator } = await routing({ finalizers: [FINALIZER] });
    simulator.store.delete(ripRef);
    let asked = 0;
    const { writer } = meddled(({ method, path }) => {
      if (method !== 'GET' || !path.endsWith('/routedips/web')) return;
      asked += 1;
      // Deposed while it is being read.
      queueMicrotask(() => writer.forget());
    });
    let resolved = false;
    void writer.retract(ref, []).then(() => {
      resolved = true;
    });
    await waitFor('it was read', () => asked === 1);
    await writer.announce(ref, { type: 'Normal', reason: 'Retained', message: 'm', action: 'Release' });
    await writer.announce(ref, { type: 'Normal', reason: 'Retained', message: 'n', action: 'Release' });
    expect([resolved, exists(), finalizers()]).toEqual([false, true, [FINALIZER]]);
    await newWriter().retract(ref, []);
    expect(exists()).toBe(false);
  });

  test('keeps its finalizer when it is shown again meanwhile', async () => {
    const { writer, ref, projection, finalizers, status } = await routing({ finalizers: [FINALIZER] });
    const retracted = writer.retract(ref, []);
    writer.project(projection());
    await retracted;
    await writer.flush(PATIENCE_MS);
    expect(status()).toMatchObject({ state: 'Unassigned' });
    expect(finalizers()).toEqual([FINALIZER]);
  });
});
