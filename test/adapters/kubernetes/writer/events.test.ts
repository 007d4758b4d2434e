import { describe, expect, test } from 'vitest';
import type { ClusterEvent } from '../../../../actors/ports/cluster.ts';
import { refusal, ServerUnreachable } from '../../../../adapters/kubernetes/client/api-error.ts';
import type { Connection, Request } from '../../../../adapters/kubernetes/client/connection.ts';
import { EventWriter } from '../../../../adapters/kubernetes/writer/event-writer.ts';
import { virtualClock } from '../../../../adapters/memory/clock.ts';
import type { ObjectRef } from '../../../../machines/model/types.ts';
import { recordedLog } from '../support.ts';

const POOL: ObjectRef = { kind: 'FloatingIPPool', namespace: 'web', name: 'pool', uid: 'u' };
const EVENT: ClusterEvent = { type: 'Warning', reason: 'AssignFailed', message: 'assign failed', action: 'Assign' };
const NEW_API = '/apis/events.k8s.io/v1';

/** A reporter to a server that answers what `answer` does not refuse, and the requests that it took. */
const reporting = (answer: (request: Request) => unknown = () => ({})) => {
  const clock = virtualClock();
  const taken: Request[] = [];
  const log = recordedLog();
  const connection: Connection = {
    send: async (request) => {
      const answered = answer(request);
      taken.push(request);
      return answered;
    },
    list: () => Promise.reject(new Error('nobody lists Events')),
    watch: () => () => undefined,
    close: async () => undefined,
  };
  const backoff = { firstMs: 100, factor: 2, maxMs: 1_000 };
  const events = new EventWriter({ connection, clock, random: () => 1, log, instance: 'me', backoff });
  return { clock, taken, log, events };
};

const nameOf = (request: Request | undefined): unknown => (request?.body as { metadata: { name: string } } | undefined)?.metadata.name;
const noteOf = (request: Request | undefined): unknown => (request?.body as { note: string } | undefined)?.note;

describe('Events', () => {
  test('that repeat are counted once a minute in the first one', async () => {
    const { clock, taken, events } = reporting();
    for (let minute = 0; minute < 3; minute += 1) {
      for (let count = 0; count < 5; count += 1) events.report(POOL, EVENT);
      await clock.advance(60_000);
    }
    expect(taken.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'PATCH']);
    expect(taken[1]?.path).toBe(`${NEW_API}/namespaces/web/events/${nameOf(taken[0])}`);
    expect(taken[1]?.body).toEqual({ series: { count: 10, lastObservedTime: '2026-01-01T00:01:00.000000Z' } });
    expect(taken[2]?.body).toMatchObject({ series: { count: 15 } });
  });

  test('that come again after a quiet time are new ones', async () => {
    const { clock, taken, events } = reporting();
    events.report(POOL, EVENT);
    await clock.advance(11 * 60_000);
    events.report(POOL, EVENT);
    await clock.settle();
    expect(taken.map(({ method }) => method)).toEqual(['POST', 'POST']);
  });

  test('go to the core API of a server that has no newer one', async () => {
    const { clock, taken, events } = reporting(({ path }) => {
      if (path.startsWith(NEW_API)) throw refusal({ verb: 'create', path }, 404, 'page not found');
      return {};
    });
    events.report(POOL, EVENT);
    events.report(POOL, { ...EVENT, message: 'another' });
    await clock.settle();
    expect(taken.map(({ path }) => path)).toEqual(['/api/v1/namespaces/web/events', '/api/v1/namespaces/web/events']);
    expect(taken[0]?.body).toMatchObject({
      kind: 'Event',
      involvedObject: { kind: 'FloatingIPPool', name: 'pool', namespace: 'web', uid: 'u' },
      source: { component: 'routedip-operator' },
      message: 'assign failed',
      count: 1,
    });
  });

  test('that differ beyond what is told of them are the same one, and no more of them is remembered', async () => {
    const { clock, taken, events } = reporting();
    for (let time = 0; time < 5; time += 1) events.report(POOL, { ...EVENT, message: `${'x'.repeat(30_000)} ${time}` });
    await clock.settle();
    expect(taken).toHaveLength(1);
  });

  test('of a namespace that is gone are dropped, and hold up no others', async () => {
    const { clock, taken, events, log } = reporting(({ method, path }) => {
      if (method === 'POST' && path.includes('/web/')) throw refusal({ verb: 'create', path }, 404, 'namespaces "web" not found');
      return {};
    });
    events.report(POOL, EVENT);
    events.report({ ...POOL, namespace: 'db', uid: 'v' }, EVENT);
    await clock.settle();
    expect(taken.filter(({ method }) => method === 'POST').map(({ path }) => path)).toEqual([`${NEW_API}/namespaces/db/events`]);
    expect(log.lines).toEqual([expect.stringContaining('an event was refused')]);
  });

  test('wait while the server is away, in their order', async () => {
    let away = true;
    const { clock, taken, events } = reporting(() => {
      if (away) throw new ServerUnreachable('away');
      return {};
    });
    events.report(POOL, EVENT);
    events.report(POOL, { ...EVENT, message: 'another' });
    await clock.advance(5_000);
    expect(taken).toEqual([]);
    away = false;
    await clock.advance(1_000);
    expect(taken.map(noteOf)).toEqual(['assign failed', 'another']);
  });

  test.each([
    ['letters', 'x'.repeat(5_000), 1_024],
    ['characters of three bytes', '節'.repeat(5_000), 1_023],
    ['characters of four bytes', `a${'😀'.repeat(5_000)}`, 1_024],
    ['as many bytes as it may have', `aa${'節'.repeat(340)}bb`, 1_024],
  ])('have a text of at most 1,024 bytes, of whole characters: %s', async (_of, message, bytes) => {
    const { clock, taken, events } = reporting();
    events.report(POOL, { ...EVENT, message });
    await clock.settle();
    const note = String(noteOf(taken[0]));
    expect(Buffer.byteLength(note)).toBe(bytes);
    expect(note).not.toContain('\ufffd');
    if (note.length < message.length) expect(note).toBe(`${message.slice(0, note.length - 1)}…`);
  });

  test.each([
    ['of letters', 'n'.repeat(253)],
    ['that would be cut at a dot or a dash', `${'n'.repeat(220)}${'.-'.repeat(16)}n`],
  ])('about an object of the longest name there is have names that a server takes, each its own: %s', async (_name, name) => {
    const { clock, taken, events } = reporting();
    const about = { ...POOL, name };
    events.report(about, EVENT);
    events.report(about, { ...EVENT, message: 'another' });
    await clock.settle();
    await events.announce(about, EVENT);
    await events.announce({ ...about, name: `${name.slice(0, -1)}m`, uid: 'another' }, EVENT);
    const names = taken.map((request) => String(nameOf(request)));
    expect(new Set(names).size).toBe(4);
    for (const each of names) {
      expect(each.length).toBeLessThanOrEqual(253);
      expect(each).toMatch(/^nn[a-z0-9]*(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/);
    }
  });
});

describe('an Event that must not be missed', () => {
  test('is written before anybody goes on, and is there once however often it is told', async () => {
    const names = new Set<unknown>();
    const { taken, events } = reporting((request) => {
      const { method, path } = request;
      if (names.has(nameOf(request))) throw refusal({ verb: method, path }, 409, 'exists already');
      names.add(nameOf(request));
    });
    expect(await events.announce(POOL, EVENT)).toBe('written');
    expect(taken).toMatchObject([{ path: `${NEW_API}/namespaces/web/events`, body: { note: EVENT.message, regarding: { uid: 'u' } } }]);
    expect(await events.announce(POOL, EVENT)).toBe('known');
    expect(await events.announce({ ...POOL, uid: 'another' }, EVENT)).toBe('written');
    expect(taken).toHaveLength(2);
  });

  test('is not sent again within the hour that servers keep it, whoever wrote it, and is after that', async () => {
    let isKept = true;
    let asked = 0;
    const { clock, taken, events } = reporting((request) => {
      asked += 1;
      if (isKept) throw refusal({ verb: request.method, path: request.path }, 409, 'exists already');
    });
    expect([await events.announce(POOL, EVENT), await events.announce(POOL, EVENT)]).toEqual(['known', 'known']);
    expect(asked).toBe(1);
    isKept = false;
    await clock.advance(59 * 60_000);
    expect([await events.announce(POOL, EVENT), asked]).toEqual(['known', 1]);
    await clock.advance(60_000);
    expect([await events.announce(POOL, EVENT), taken.length]).toEqual(['written', 1]);
  });

  test('waits for a server that cannot be reached: whoever tells it has to tell it again', async () => {
    const { events } = reporting(() => {
      throw new ServerUnreachable('no answer');
    });
    await expect(events.announce(POOL, EVENT)).rejects.toThrow(ServerUnreachable);
  });

  test('is dropped with a line in the log when the namespace takes no more, as one that is being deleted', async () => {
    const { log, events } = reporting(({ method, path }) => {
      throw refusal({ verb: method, path }, 403, 'the namespace is being terminated');
    });
    await events.announce(POOL, EVENT);
    expect(log.lines).toEqual([
      expect.stringMatching(/^warn an event was refused .*"object":"FloatingIPPool web\/[^"]+","reason":"AssignFailed"/),
    ]);
  });
});
