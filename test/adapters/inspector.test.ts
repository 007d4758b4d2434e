import { get } from 'node:http';
import { createWebSocketReceiver, type StatelyInspectionEvent } from '@statelyai/inspect';
import { afterEach, describe, expect, test } from 'vitest';
import type { HeardEvent, Sender, Transition } from '../../actors/ports/observers.ts';
import type { ActorRecord, Json } from '../../actors/ports/records.ts';
import { serveAsset } from '../../adapters/dashboard/assets.ts';
import { chartDefinition } from '../../adapters/dashboard/definition.ts';
import { type InspectorBridge, startInspector } from '../../adapters/inspector/server.ts';
import { accessTo } from '../../adapters/telemetry/access.ts';
import { cellOf } from '../../machines/model/actor-id.ts';
import { sampleMachine } from '../dashboard/sample-machine.ts';
import { waitFor } from '../support/wait-for.ts';

const POOL = 'pool/default/ingress';
const addressOf = (index: number): string => `${POOL}/ip/203.0.113.${index}`;
const SECRET = 'dop_v1_never_shown';

const open: (() => unknown)[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((close) => close()));
});

const record = (chart: string, value: Json, context: { readonly [key: string]: Json } = {}): ActorRecord => ({
  chart,
  chartVersion: 1,
  snapshot: { value, context },
  waiting: {},
  version: 1,
  term: 1,
});

interface Started {
  readonly bridge: InspectorBridge;
  readonly records: Map<string, ActorRecord>;
  leadership: { leading: boolean; term: number };
  readonly turn: (...parts: readonly Part[]) => void;
}

/** Without `heard` the events come from the operator itself. */
type Part = Omit<Transition, 'consumed' | 'heard'> & Partial<Pick<Transition, 'heard'>>;

const OUTSIDE: Sender = { kind: 'outside' };
const heardOf = (types: readonly string[]): HeardEvent[] =>
  types.map((type, index) => ({ order: index + 1, event: { type, at: 5 }, from: OUTSIDE }));

async function start(change: Partial<Parameters<typeof startInspector>[0]> = {}): Promise<Started> {
  const records = new Map([
    [addressOf(1), record('ip', { Unassigned: 'Waiting' }, { address: '203.0.113.1' })],
    [addressOf(2), record('ip', 'Electing')],
    [POOL, record('pool', 'Serving')],
  ]);
  const bind = { host: '127.0.0.1', port: 0 };
  const state = { leadership: { leading: true, term: 1 } };
  const bridge = await startInspector({
    bind,
    access: accessTo(bind, null),
    asset: (path, headers, response) => serveAsset(path, new URL('../../dashboard/', import.meta.url), response, headers),
    viewerUrl: 'https://viewer.example/inspect',
    origins: [],
    machines: { ip: sampleMachine },
    drawing: (id) => (id === 'sample' ? chartDefinition('ip', sampleMachine) : null),
    records: () => [...records].map(([actor, of]) => ({ actor, record: of })),
    parentOf: (actor) => (cellOf(actor) === actor ? null : cellOf(actor)),
    leadership: () => state.leadership,
    hide: (text) => text.replaceAll(SECRET, '[redacted]'),
    ...change,
  });
  open.push(() => bridge.close());
  const turn = (...parts: readonly Part[]): void => {
    for (const { actor, after } of parts) after ? records.set(actor, after) : records.delete(actor);
    const transitions = parts.map((part) => ({ heard: heardOf(part.events), ...part, consumed: [] }));
    bridge.observer.turnSaved({ cell: POOL, term: 1, at: 0, transitions });
  };
  return Object.assign(state, { bridge, records, turn });
}

interface Viewer {
  readonly heard: StatelyInspectionEvent[];
  readonly types: (actor: string) => string[];
}

/** A viewer as the package itself makes them. */
function view(bridge: InspectorBridge, query = ''): Viewer {
  const heard: StatelyInspectionEvent[] = [];
  const { unsubscribe } = createWebSocketReceiver({ server: `${bridge.url.replace('http', 'ws')}/ws${query}` }).subscribe((event) => {
    heard.push(event);
  });
  open.push(unsubscribe);
  return { heard, types: (actor) => heard.filter(({ sessionId }) => sessionId === actor).map(({ type }) => type) };
}

describe('a viewer that connects', () => {
  test('is told what every actor is and where it stands, owners first', async () => {
    const { bridge } = await start();
    const { heard } = view(bridge);
    await waitFor('three actors', () => heard.length === 3);
    expect(heard.map(({ type, sessionId }) => [type, sessionId])).toEqual([
      ['@xstate.actor', POOL],
      ['@xstate.actor', addressOf(1)],
      ['@xstate.actor', addressOf(2)],
    ]);
    expect(heard[1]).toMatchObject({
      name: addressOf(1),
      parentId: POOL,
      snapshot: { status: 'active', value: { Unassigned: 'Waiting' }, context: { address: '203.0.113.1' } },
    });
    const { definition } = heard[1] as { definition: string };
    expect(JSON.parse(definition)).toMatchObject({
      id: 'sample',
      initial: 'Unassigned',
      states: {
        Unassigned: { states: { Finding: { invoke: { src: 'find', onError: [{ guard: 'isMissing' }, { target: '#sample.CoolOff' }] } } } },
      },
    });
  });

  test('hears of turns from then on: the event, then the state that it led to', async () => {
    const { bridge, turn } = await start();
    const { heard, types } = view(bridge);
    await waitFor('the replay', () => heard.length === 3);
    turn({
      actor: addressOf(1),
      chart: 'ip',
      events: ['GRANTED'],
      before: record('ip', { Unassigned: 'Waiting' }),
      after: record('ip', 'Assigning'),
    });
    await waitFor('the turn', () => types(addressOf(1)).length === 3);
    expect(types(addressOf(1))).toEqual(['@xstate.actor', '@xstate.event', '@xstate.snapshot']);
    expect(heard.slice(3)).toMatchObject([
      { type: '@xstate.actor', sessionId: 'operator' },
      { event: { type: 'GRANTED', at: 5 }, sourceId: 'operator' },
      { event: { type: 'GRANTED', at: 5 }, snapshot: { status: 'active', value: 'Assigning' } },
    ]);
  });

  test('is told who sent each event, in the order in which they were heard, whichever cell that was in', async () => {
    const { bridge, turn } = await start();
    const { heard } = view(bridge);
    await waitFor('the replay', () => heard.length === 3);
    const from = (actor: string): Sender => ({ kind: 'actor', actor });
    const serving = record('pool', 'Serving');
    const pool = [
      { order: 1, event: { type: 'CLUSTER_OBSERVED' }, from: OUTSIDE },
      { order: 3, event: { type: 'READY' }, from: from(addressOf(1)) },
    ];
    const address = [
      { order: 2, event: { type: 'NODE_OBSERVED' }, from: from(POOL) },
      { order: 4, event: { type: 'NODE_GRANTED', node: { name: 'web-1' } }, from: from(POOL) },
    ];
    const answers = [
      { order: 1, event: { type: 'OPENED' }, from: from('firewall/digitalocean/edge') },
      { order: 2, event: { type: 'xstate.done.actor.assign' }, from: { kind: 'job' as const, invokeId: 'assign' } },
      { order: 3, event: { type: 'xstate.after.rest' }, from: { kind: 'timer' as const } },
    ];
    const [before, after] = [record('ip', 'Electing'), record('ip', 'Assigning')];
    turn(
      { actor: POOL, chart: 'pool', events: [], heard: pool, before: serving, after: serving },
      { actor: addressOf(1), chart: 'ip', events: [], heard: address, before, after },
    );
    turn({ actor: addressOf(1), chart: 'ip', events: [], heard: answers, before: after, after: before });
    const sent = () => heard.flatMap((message) => (message.type === '@xstate.event' ? [message] : []));
    await waitFor('all events', () => sent().length === 7);
    expect(sent().map(({ sourceId, sessionId, event }) => [sourceId, event.type, sessionId])).toEqual([
      ['operator', 'CLUSTER_OBSERVED', POOL],
      [POOL, 'NODE_OBSERVED', addressOf(1)],
      [addressOf(1), 'READY', POOL],
      [POOL, 'NODE_GRANTED', addressOf(1)],
      ['firewall/digitalocean/edge', 'OPENED', addressOf(1)],
      [`${addressOf(1)}/job/assign`, 'xstate.done.actor.assign', addressOf(1)],
      // As XState has it: a delayed event is one that an actor sends to itself.
      [addressOf(1), 'xstate.after.rest', addressOf(1)],
    ]);
    expect(sent()[3]?.event).toEqual({ type: 'NODE_GRANTED', node: { name: 'web-1' } });
    const job = heard.find(({ sessionId }) => sessionId === `${addressOf(1)}/job/assign`);
    expect(job).toMatchObject({ type: '@xstate.actor', parentId: addressOf(1) });
  });

  test('gets what an event bore, but for what is too long to be read', async () => {
    const { bridge, turn } = await start();
    const { heard } = view(bridge);
    await waitFor('the replay', () => heard.length === 3);
    const event = {
      type: 'CLUSTER_OBSERVED',
      query: 'nodes',
      nodes: Array.from({ length: 500 }, (_, index) => ({ name: `node-${index}` })),
    };
    const serving = record('pool', 'Serving');
    turn({ actor: POOL, chart: 'pool', events: [], heard: [{ order: 1, event, from: OUTSIDE }], before: serving, after: serving });
    await waitFor('the turn', () => heard.length === 6);
    expect(heard[4]).toMatchObject({
      event: { type: 'CLUSTER_OBSERVED', query: 'nodes', nodes: expect.stringMatching(/^\(\d+ kB, not sent\)$/) },
    });
  });

  test('sees the address of a RoutedIP below the RoutedIP, and its record set below a pool', async () => {
    const { bridge, records } = await start();
    records.clear();
    for (const actor of ['rip/default/shop/ip/192.0.2.1', 'rip/default/shop', `${POOL}/dns`, POOL, 'firewall/digitalocean/edge'])
      records.set(actor, record('ip', 'Electing'));
    const { heard } = view(bridge);
    await waitFor('the replay', () => heard.length === 5);
    expect(heard.map((message) => [message.sessionId, 'parentId' in message ? message.parentId : undefined])).toEqual([
      ['firewall/digitalocean/edge', undefined],
      [POOL, undefined],
      ['rip/default/shop', undefined],
      [`${POOL}/dns`, POOL],
      ['rip/default/shop/ip/192.0.2.1', 'rip/default/shop'],
    ]);
  });

  test('hears of a pool and all that is a part of it when it named the pool', async () => {
    const { bridge, records } = await start();
    records.set('rip/default/shop', record('pool', 'Serving'));
    const { heard } = view(bridge, `?actor=${encodeURIComponent(POOL)}`);
    await waitFor('the replay', () => heard.length === 3);
    expect(heard.map(({ sessionId }) => sessionId)).toEqual([POOL, addressOf(1), addressOf(2)]);
  });

  test('learns of actors that come and go', async () => {
    const { bridge, turn } = await start();
    const { heard, types } = view(bridge);
    await waitFor('the replay', () => heard.length === 3);
    turn({ actor: addressOf(9), chart: 'ip', events: ['xstate.init'], before: null, after: record('ip', 'Electing') });
    turn({ actor: addressOf(9), chart: 'ip', events: ['RETIRE'], before: record('ip', 'Electing'), after: null });
    await waitFor('the end', () => types(addressOf(9)).length === 5);
    expect(types(addressOf(9))[0]).toBe('@xstate.actor');
    expect(heard.at(-1)).toMatchObject({ type: '@xstate.snapshot', snapshot: { status: 'done' } });
  });

  test('is told late what was there before it came, however much has happened since', async () => {
    const { bridge, turn } = await start();
    for (let index = 0; index < 300; index += 1) {
      turn({ actor: addressOf(1), chart: 'ip', events: ['NOTED'], before: record('ip', 'Assigning'), after: record('ip', 'Assigning') });
    }
    const { heard } = view(bridge);
    await waitFor('the replay', () => heard.length === 3);
    expect(heard[1]).toMatchObject({ type: '@xstate.actor', snapshot: { value: 'Assigning' } });
    expect(heard[1]).toHaveProperty('definition');
  });

  test('hears only of the actors that it named', async () => {
    const { bridge, turn } = await start();
    const { heard } = view(bridge, `?actor=${encodeURIComponent(addressOf(2))}`);
    await waitFor('the replay', () => heard.length === 1);
    turn({ actor: addressOf(1), chart: 'ip', events: ['GRANTED'], before: record('ip', 'Electing'), after: record('ip', 'Assigning') });
    turn({ actor: addressOf(2), chart: 'ip', events: ['GRANTED'], before: record('ip', 'Electing'), after: record('ip', 'Assigning') });
    await waitFor('the turn', () => heard.length === 4);
    expect(new Set(heard.map(({ sessionId }) => sessionId))).toEqual(new Set([addressOf(2), 'operator']));
  });

  test('is told at most of a hundred actors that it did not name', async () => {
    const many = Array.from({ length: 1000 }, (_, index) => ({ actor: addressOf(index), record: record('ip', 'Electing') }));
    const { bridge, turn } = await start({ records: () => many });
    const { heard } = view(bridge);
    await waitFor('the replay', () => heard.length === 100);
    turn({ actor: addressOf(9999), chart: 'ip', events: ['x'], before: null, after: record('ip', 'Electing') });
    turn({ actor: heard[0]?.sessionId ?? '', chart: 'ip', events: ['x'], before: null, after: record('ip', 'Assigning') });
    await waitFor('the turn of one of them', () => heard.length === 103);
    expect(heard.slice(100).map(({ sessionId }) => sessionId)).toEqual(['operator', heard[0]?.sessionId, heard[0]?.sessionId]);
  });

  test('sees no secret', async () => {
    const { bridge, records, turn } = await start();
    records.set(addressOf(1), record('ip', 'Electing', { failure: { message: `refused ${SECRET}` } }));
    const { heard } = view(bridge);
    await waitFor('the replay', () => heard.length === 3);
    expect(JSON.stringify(heard)).toContain('refused [redacted]');
    const before = record('ip', 'Electing');
    const event = { type: 'FAILED', message: `told ${SECRET}` };
    turn({ actor: addressOf(1), chart: 'ip', events: [], heard: [{ order: 1, event, from: OUTSIDE }], before, after: before });
    await waitFor('the event', () => JSON.stringify(heard).includes('told [redacted]'));
    expect(JSON.stringify(heard)).not.toContain(SECRET);
  });

  test('is told everything again when this process leads again', async () => {
    const { bridge } = await start();
    const { heard } = view(bridge);
    await waitFor('the replay', () => heard.length === 3);
    bridge.observer.reset();
    await waitFor('the second replay', () => heard.length === 6);
    expect(heard.slice(3).every(({ type }) => type === '@xstate.actor')).toBe(true);
  });
});

describe('the page', () => {
  /** All that is told to it, as it comes. */
  const listen = (bridge: InspectorBridge): { readonly type: string; readonly leading?: boolean; readonly sessionId?: string }[] => {
    const told: { readonly type: string }[] = [];
    const socket = new WebSocket(`${bridge.url.replace('http', 'ws')}/ws?page`);
    socket.addEventListener('message', ({ data }) => told.push(JSON.parse(data)));
    open.push(() => socket.close());
    return told;
  };

  test('hears who leads before all else, and everything again when that changes, without being asked', async () => {
    const started = await start();
    const told = listen(started.bridge);
    await waitFor('the replay', () => told.length === 4);
    expect(told[0]).toEqual({ type: 'routedip.leadership', leading: true, term: 1 });
    const replayed = () => told.filter(({ type }) => type === '@xstate.actor').length;
    started.leadership = { leading: false, term: 2 };
    await waitFor('it leads no more', () => told.some(({ leading }) => leading === false));
    started.leadership = { leading: true, term: 3 };
    await waitFor('it leads again', () => replayed() >= 6 && told.at(-1)?.type === '@xstate.actor');
  });

  test('hears something every few seconds although nothing happens, so that it notices a dead connection', async () => {
    const { bridge } = await start();
    const told = listen(bridge);
    await waitFor('two beats', () => told.filter(({ type }) => type === 'routedip.leadership').length === 3);
    expect(told.filter(({ type }) => type === '@xstate.actor').length).toBe(3);
  });

  test('gets the drawing of a machine by its id', async () => {
    const { bridge } = await start();
    expect(await (await fetch(`${bridge.url}/drawings/sample`)).json()).toMatchObject({ name: 'ip', root: { id: 'sample' } });
    expect((await fetch(`${bridge.url}/drawings/other`)).status).toBe(404);
    expect((await fetch(`${bridge.url}/no-such.js`)).status).toBe(404);
  });
});

describe('the bridge', () => {
  /** How an attempt to connect ended. */
  const attempt = (bridge: InspectorBridge, headers: Record<string, string>, query = ''): Promise<number> =>
    new Promise((resolve, reject) => {
      // Not by fetch, which lets nobody choose the Host.
      get(`${bridge.url}/ws${query}`, { headers, agent: false }, ({ statusCode = 0 }) => resolve(statusCode)).on('error', reject);
    });

  test('serves a page with the viewer in a frame, and lets it frame nothing else', async () => {
    const { bridge } = await start({ viewerUrl: 'http://127.0.0.1:9/inspect?a=1&b="x"' });
    const response = await fetch(bridge.url);
    expect(response.headers.get('content-security-policy')).toContain('frame-src http://127.0.0.1:9;');
    const text = await response.text();
    expect(await (await fetch(`${bridge.url}/about`)).json()).toMatchObject({
      viewer: 'http://127.0.0.1:9/inspect?a=1&b="x"',
      leading: true,
    });
    for (const [, path] of text.matchAll(/(?:src|href)="(\/[^"]+)"/g)) expect((await fetch(bridge.url + path)).status, path).toBe(200);
    expect(await (await fetch(`${bridge.url}/actors`)).json()).toHaveLength(3);
  });

  test('refuses pages of other sites', async () => {
    const { bridge } = await start({ access: () => true, origins: ['https://inspect.example'] });
    const { host, port } = new URL(bridge.url);
    for (const stranger of [
      'https://evil.example',
      'http://inspect.example',
      'http://127.0.0.1:1',
      'null',
      `http://${host}.evil.example`,
      'http://viewer.example',
      'https://viewer.example:444',
    ])
      expect(await attempt(bridge, { Origin: stranger }), stranger).toBe(403);
    // As the page of a domain whose name was made to lead here.
    expect(await attempt(bridge, { Origin: `http://evil.example:${port}`, Host: `evil.example:${port}` })).toBe(403);
    for (const known of [bridge.url, 'https://inspect.example']) expect(await attempt(bridge, { Origin: known }), known).not.toBe(403);
    const forwarded = { Origin: 'http://localhost:9000', Host: 'localhost:9000' };
    expect(await attempt(bridge, forwarded)).not.toBe(403);
    // What is let through and is no WebSocket is told so by another code.
    expect(await attempt(bridge, { Origin: 'https://viewer.example' })).not.toBe(403);
  });

  test('asks for the token where there is one, of WebSockets too', async () => {
    const bind = { host: '127.0.0.1', port: 0 };
    const { bridge } = await start({ access: accessTo(bind, 'long') });
    expect((await fetch(bridge.url)).status).toBe(401);
    const outcome = await new Promise((resolve) => {
      const socket = new WebSocket(`${bridge.url.replace('http', 'ws')}/ws`);
      socket.addEventListener('open', () => resolve('open'));
      socket.addEventListener('error', () => resolve('refused'));
    });
    expect(outcome).toBe('refused');
    const { heard } = view(bridge, '?token=long');
    await waitFor('the replay', () => heard.length === 3);
  });

  test('names the address when its port is taken', async () => {
    const { bridge } = await start();
    const { port } = new URL(bridge.url);
    await expect(start({ bind: { host: '127.0.0.1', port: Number(port) } })).rejects.toThrow(
      `inspector: cannot listen on 127.0.0.1:${port}`,
    );
  });
});
