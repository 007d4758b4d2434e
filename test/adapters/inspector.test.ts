import { createWebSocketReceiver, type StatelyInspectionEvent } from '@statelyai/inspect';
import { afterEach, describe, expect, test } from 'vitest';
import type { Transition } from '../../actors/ports/observers.ts';
import type { ActorRecord, Json } from '../../actors/ports.ts';
import { type InspectorBridge, startInspector } from '../../adapters/inspector/server.ts';
import { accessTo } from '../../adapters/telemetry/access.ts';
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
  readonly turn: (...parts: readonly Part[]) => void;
}

type Part = Omit<Transition, 'consumed'>;

async function start(change: Partial<Parameters<typeof startInspector>[0]> = {}): Promise<Started> {
  const records = new Map([
    [addressOf(1), record('ip', { Unassigned: 'Waiting' }, { address: '203.0.113.1' })],
    [addressOf(2), record('ip', 'Electing')],
    [POOL, record('pool', 'Serving')],
  ]);
  const bind = { host: '127.0.0.1', port: 0 };
  const bridge = await startInspector({
    bind,
    access: accessTo(bind, null),
    pageFolder: new URL('../../dashboard/', import.meta.url),
    viewerUrl: 'https://viewer.example/inspect',
    machines: { ip: sampleMachine },
    records: () => [...records].map(([actor, of]) => ({ actor, record: of })),
    hide: (text) => text.replaceAll(SECRET, '[redacted]'),
    ...change,
  });
  open.push(() => bridge.close());
  const turn = (...parts: readonly Part[]): void => {
    for (const { actor, after } of parts) after ? records.set(actor, after) : records.delete(actor);
    bridge.observer.turnSaved({ cell: POOL, term: 1, at: 0, transitions: parts.map((part) => ({ ...part, consumed: [] })) });
  };
  return { bridge, records, turn };
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
      { event: { type: 'GRANTED' } },
      { event: { type: 'GRANTED' }, snapshot: { status: 'active', value: 'Assigning' } },
    ]);
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
    await waitFor('the turn', () => heard.length === 3);
    expect(new Set(heard.map(({ sessionId }) => sessionId))).toEqual(new Set([addressOf(2)]));
  });

  test('is told at most of a hundred actors that it did not name', async () => {
    const many = Array.from({ length: 1000 }, (_, index) => ({ actor: addressOf(index), record: record('ip', 'Electing') }));
    const { bridge, turn } = await start({ records: () => many });
    const { heard } = view(bridge);
    await waitFor('the replay', () => heard.length === 100);
    turn({ actor: addressOf(9999), chart: 'ip', events: ['x'], before: null, after: record('ip', 'Electing') });
    turn({ actor: heard[0]?.sessionId ?? '', chart: 'ip', events: ['x'], before: null, after: record('ip', 'Assigning') });
    await waitFor('the turn of one of them', () => heard.length === 102);
    expect(heard.slice(100).every(({ sessionId }) => sessionId === heard[0]?.sessionId)).toBe(true);
  });

  test('sees no secret', async () => {
    const { bridge, records } = await start();
    records.set(addressOf(1), record('ip', 'Electing', { failure: { message: `refused ${SECRET}` } }));
    const { heard } = view(bridge);
    await waitFor('the replay', () => heard.length === 3);
    expect(JSON.stringify(heard)).toContain('refused [redacted]');
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

describe('the bridge', () => {
  /** How an attempt to connect ended. */
  const attempt = (bridge: InspectorBridge, headers: Record<string, string>, query = ''): Promise<number> =>
    fetch(`${bridge.url}/ws${query}`, { headers }).then(({ status }) => status);

  test('serves a page with the viewer in a frame, and lets it frame nothing else', async () => {
    const { bridge } = await start({ viewerUrl: 'http://127.0.0.1:9/inspect?a=1&b="x"' });
    const response = await fetch(bridge.url);
    expect(response.headers.get('content-security-policy')).toContain('frame-src http://127.0.0.1:9;');
    const text = await response.text();
    expect(text).toContain('href="http://127.0.0.1:9/inspect?a=1&#38;b=&#34;x&#34;"');
    for (const [, path] of text.matchAll(/(?:src|href)="(\/[^"]+)"/g)) expect((await fetch(bridge.url + path)).status, path).toBe(200);
    expect(await (await fetch(`${bridge.url}/actors`)).json()).toHaveLength(3);
  });

  test('refuses pages of other sites', async () => {
    const { bridge } = await start();
    expect(await attempt(bridge, { Origin: 'https://evil.example' })).toBe(403);
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
