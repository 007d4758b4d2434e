import { createServer, type Server } from 'node:http';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { HeardEvent, Sender } from '../../actors/ports/observers.ts';
import type { ActorRecord, Json } from '../../actors/ports/records.ts';
import { serveAsset } from '../../adapters/dashboard/assets.ts';
import { chartDefinition } from '../../adapters/dashboard/definition.ts';
import { type InspectorBridge, startInspector } from '../../adapters/inspector/server.ts';
import { accessTo } from '../../adapters/telemetry/access.ts';
import { cellOf } from '../../machines/model/actor-id.ts';
import { launchChromium } from './chromium.ts';
import { sampleMachine } from './sample-machine.ts';

/** A viewer served from this machine. It asks for messages late, as the real one does once it is loaded, and lists what it is told. */
const VIEWER = `<!doctype html><ol></ol><script>
  addEventListener('message', ({ data }) => {
    const line = document.createElement('li');
    line.textContent = [data.type, data.sourceId ?? data.parentId ?? '-', data.sessionId, JSON.stringify(data.snapshot?.value ?? data.event)].join(' ');
    document.querySelector('ol').append(line);
  });
  setTimeout(() => parent.postMessage({ type: '@statelyai.connected' }, '*'), 300);
</script>`;

const SHOP = 'rip/default/shop';
const ADDRESS = `${SHOP}/ip/192.0.2.1`;
const FIREWALL = 'firewall/digitalocean/edge';

const record = (value: Json): ActorRecord => ({
  chart: 'ip',
  chartVersion: 1,
  snapshot: { value, context: {} },
  waiting: {},
  version: 1,
  term: 1,
});

/** Closed after each test, last first. */
const open: (() => unknown)[] = [];
let browser: Browser;
let page: Page;
let complaints: string[];
let viewer: { readonly port: number; readonly asked: string[]; readonly listen: () => Promise<void> };
let records: Map<string, ActorRecord>;
let leadership: { leading: boolean; term: number; leader: string | null; reach: string | null; observes?: true };

beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser?.close());

beforeEach(async () => {
  records = new Map([
    [SHOP, record('Electing')],
    [ADDRESS, record({ Unassigned: 'Waiting' })],
    [FIREWALL, record('Electing')],
  ]);
  leadership = { leading: true, term: 7, leader: 'pod-a', reach: null };
  viewer = await fakeViewer();
  page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  complaints = [];
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
});
afterEach(async () => {
  await page.close();
  for (const close of open.splice(0).reverse()) await close();
});

/** A port for the viewer, at which nobody listens yet. */
async function fakeViewer(): Promise<typeof viewer> {
  const asked: string[] = [];
  const server: Server = createServer(({ url = '' }, response) => {
    asked.push(url);
    response.setHeader('Content-Type', 'text/html').end(VIEWER);
  });
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const close = () => new Promise((resolve) => server.close(resolve));
  await listen(0);
  const { port } = server.address() as { port: number };
  await close();
  return {
    port,
    asked,
    listen: async () => {
      await listen(port);
      open.push(() => {
        server.closeAllConnections();
        return close();
      });
    },
  };
}

async function start(token: string | null = null, host = '127.0.0.1', port = 0): Promise<InspectorBridge> {
  const bind = { host, port };
  const bridge = await startInspector({
    bind,
    access: accessTo(bind, token),
    asset: (path, headers, response) => serveAsset(path, new URL('../../dashboard/', import.meta.url), response, headers),
    viewerUrl: `http://127.0.0.1:${viewer.port}/inspect`,
    origins: [],
    machines: { ip: sampleMachine },
    drawing: () => chartDefinition('ip', sampleMachine),
    records: () => (leadership.leading ? [...records].map(([actor, of]) => ({ actor, record: of })) : []),
    parentOf: (actor) => (cellOf(actor) === actor ? null : cellOf(actor)),
    leadership: () => leadership,
    hide: (text) => text,
  });
  open.push(() => bridge.close());
  return bridge;
}

/** The actor hears these events in one turn, and is then in that state. */
function turn(bridge: InspectorBridge, actor: string, to: Json, ...events: readonly (readonly [string, Sender])[]): void {
  const before = records.get(actor) ?? null;
  const after = record(to);
  records.set(actor, after);
  const heard: HeardEvent[] = events.map(([type, from], index) => ({ order: index + 1, event: { type, node: { name: 'web-1' } }, from }));
  const transition = { actor, chart: 'ip', events: events.map(([type]) => type), heard, consumed: [], before, after };
  bridge.observer.turnSaved({ cell: SHOP, term: 1, at: 0, transitions: [transition] });
}

const says = async (selector: string, text: string | RegExp): Promise<void> => {
  await page.locator(selector).filter({ hasText: text, visible: true }).first().waitFor();
};
const granted: readonly [string, Sender] = ['GRANTED', { kind: 'actor', actor: SHOP }];

describe('with a viewer that answers', () => {
  beforeEach(() => viewer.listen());

  test('everything goes to it, what was there before it was ready included, with parents and senders', async () => {
    const bridge = await start();
    await page.goto(bridge.url);
    const heard = page.frameLocator('#viewer').locator('li');
    await heard.nth(2).waitFor();
    expect(await heard.allTextContents()).toEqual([
      `@xstate.actor - ${FIREWALL} "Electing"`,
      `@xstate.actor - ${SHOP} "Electing"`,
      `@xstate.actor ${SHOP} ${ADDRESS} {"Unassigned":"Waiting"}`,
    ]);
    await says('#status', /^Connected to the operator. Drawn by 127.0.0.1:\d+, which gets the state of the actors.$/);
    expect(await page.locator('#own').isVisible()).toBe(false);

    turn(bridge, ADDRESS, 'Assigning', granted);
    await heard.nth(4).waitFor();
    expect((await heard.allTextContents()).slice(3)).toEqual([
      `@xstate.event ${SHOP} ${ADDRESS} {"type":"GRANTED","node":{"name":"web-1"}}`,
      `@xstate.snapshot - ${ADDRESS} "Assigning"`,
    ]);
    expect(await page.locator('#actor option').allTextContents()).toEqual(['the first hundred', SHOP, ADDRESS, FIREWALL]);
    expect(complaints).toEqual([]);
  });

  test('the reader may choose our own chart, and then nothing is asked of the viewer, now and later', async () => {
    const bridge = await start();
    await page.goto(bridge.url);
    await page.frameLocator('#viewer').locator('li').first().waitFor();
    await page.click('#show-own');
    await says('#status', 'Drawn by this page: nothing is sent elsewhere.');
    await page.locator('.state.leaf.live').first().waitFor();
    expect(await page.frameLocator('#viewer').locator('li').count()).toBe(0);
    const { length } = viewer.asked;
    await page.reload();
    await says('#status', 'Drawn by this page: nothing is sent elsewhere.');
    await page.locator('.state.leaf.live').first().waitFor();
    expect(viewer.asked.length).toBe(length);

    await page.click('#show-viewer');
    await page.frameLocator('#viewer').locator('li').nth(2).waitFor();
    expect(complaints).toEqual([]);
  });
});

describe('with a viewer that does not answer', () => {
  /** The page is opened and has waited for the viewer. */
  async function opened(): Promise<InspectorBridge> {
    const bridge = await start();
    await page.clock.install();
    await page.goto(bridge.url);
    await says('#status', /^Connected to the operator. Waiting for the viewer at 127.0.0.1:\d+…$/);
    await page.clock.fastForward(8_000);
    await says('#status', /^Connected to the operator. The viewer at 127.0.0.1:\d+ does not answer: this page draws the charts itself.$/);
    return bridge;
  }

  test('the page says so, and shows the actors by what they are a part of, with the chart of one of them', async () => {
    await opened();
    const names = await page.locator('.branch .mono').allTextContents();
    expect(names).toEqual(['RoutedIP default/shop', '192.0.2.1', 'firewall digitalocean/edge']);
    expect(await page.locator('#actors li').evaluateAll((items) => items.map(({ className }) => className))).toEqual([
      'level-0',
      'level-1',
      'level-0',
    ]);
    await page.click(`[data-actor="${ADDRESS}"]`);
    await page.waitForSelector('[data-id="sample.Unassigned.Waiting"].live');
    await says('#title', '192.0.2.1');
    expect(await page.locator('#viewer').isVisible()).toBe(false);
  });

  test('it shows who sends what to whom, what that leads to, and what an event bore when it is pressed', async () => {
    const bridge = await opened();
    await page.click(`[data-actor="${ADDRESS}"]`);
    turn(bridge, ADDRESS, 'Assigning', ['NOTED', { kind: 'outside' }], granted);
    turn(bridge, FIREWALL, 'Stable', ['CLAIM', { kind: 'actor', actor: ADDRESS }]);
    turn(bridge, ADDRESS, 'CoolOff', ['xstate.error.actor.assign', { kind: 'job', invokeId: 'assign' }]);
    turn(bridge, ADDRESS, 'Assigning', ['xstate.after.coolOff.sample.CoolOff', { kind: 'timer' }]);
    turn(bridge, SHOP, 'Electing', ['NOTED', { kind: 'outside' }]);
    await says('.sent', 'after coolOff');
    const lines = () =>
      page.locator('.sent').evaluateAll((all) =>
        all.map(({ children }) =>
          [...children]
            .slice(1)
            .map(({ textContent }) => textContent)
            .join(' ')
            .trim(),
        ),
      );
    expect(await lines()).toEqual([
      '192.0.2.1 → itself after coolOff CoolOff → Assigning',
      'job assign → 192.0.2.1 assign failed Assigning → CoolOff',
      '192.0.2.1 → firewall digitalocean/edge CLAIM Electing → Stable',
      'RoutedIP default/shop → 192.0.2.1 GRANTED Unassigned.Waiting → Assigning',
      'operator → 192.0.2.1 NOTED',
    ]);
    await page.waitForSelector('[data-id="sample.Assigning"].live');
    await page.waitForSelector('.edge.last[data-id="sample.CoolOff → sample.Assigning"]');
    await page.click('#of-all');
    expect(await lines()).toContain('operator → RoutedIP default/shop NOTED');
    await page.click('.sent >> nth=0');
    await says('#events .tree', 'web-1');
    expect(complaints).toEqual([]);
  });

  test('neither the focus nor what is open is lost to events that arrive', async () => {
    const bridge = await opened();
    turn(bridge, ADDRESS, 'Assigning', granted);
    await page.click('#of-all');
    await page.click('.sent >> nth=0');
    await says('#events .tree', 'web-1');
    await page.focus(`[data-actor="${FIREWALL}"]`);
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('data-actor'));
    turn(bridge, ADDRESS, 'Stable', ['NOTED', { kind: 'outside' }]);
    turn(bridge, FIREWALL, 'Stable', ['CLAIM', { kind: 'actor', actor: ADDRESS }]);
    await page.locator('.sent').nth(2).waitFor();
    await says(`[data-actor="${FIREWALL}"]`, 'Stable');
    expect(await focused()).toBe(FIREWALL);
    await says('#events .tree', 'web-1');
    expect(await page.locator('.sent b').allTextContents()).toEqual(['CLAIM', 'NOTED', 'GRANTED']);
    await page.keyboard.press('Enter');
    await says('#title', 'firewall digitalocean/edge');
    expect(await focused()).toBe(FIREWALL);
  });

  test('it is asked for again, and shown once it answers', async () => {
    await opened();
    await viewer.listen();
    await page.clock.fastForward(30_000);
    await page.frameLocator('#viewer').locator('li').nth(2).waitFor();
    await says('#status', /Drawn by 127.0.0.1/);
    expect(await page.locator('#own').isVisible()).toBe(false);
  });

  test('nobody is taken away from our own chart who is busy there: it says that the viewer answers now', async () => {
    await opened();
    await page.click(`[data-actor="${FIREWALL}"]`);
    await viewer.listen();
    await page.clock.fastForward(30_000);
    await says('#status', /The viewer at 127.0.0.1:\d+ answers now./);
    expect(await page.locator('#own').isVisible()).toBe(true);
    await page.click('#show-viewer');
    await page.frameLocator('#viewer').locator('li').nth(2).waitFor();
  });
});

test('an operator that only observes says so above everything', async () => {
  const bridge = await start();
  await page.goto(bridge.url);
  await page.locator('#actor option').nth(1).waitFor({ state: 'attached' });
  expect(await page.locator('#observes').isHidden()).toBe(true);
  leadership = { ...leadership, observes: true };
  await page.reload();
  await says('#observes', 'Only observes: nothing is changed at any provider or in the cluster.');
});

describe('a replica that does not lead', () => {
  test('says who does and how to get there, and goes on by itself once it leads, and the other way round', async () => {
    const following = { leading: false, term: 0, leader: 'pod-b_1', reach: 'kubectl -n routedip-operator port-forward pod/pod-b 8082' };
    leadership = following;
    await viewer.listen();
    const bridge = await start();
    await page.goto(bridge.url);
    await says('#status', 'Connected to a replica that does not lead.');
    await says('#follower', 'This replica is not the leader');
    await says('#follower', 'The leader is pod-b_1.');
    await says('#command', /^kubectl -n routedip-operator port-forward pod\/pod-b 8082$/);
    for (const view of ['#viewer', '#own']) expect(await page.locator(view).isVisible()).toBe(false);
    expect(viewer.asked).toEqual([]);
    await page.click('#show-own');
    leadership = { leading: true, term: 8, leader: 'pod-a_1', reach: null };
    await page.locator('.branch').nth(2).waitFor();
    expect(await page.locator('#follower').isVisible()).toBe(false);
    await says('#status', 'Connected to the operator.');
    leadership = following;
    await says('#follower', 'The leader is pod-b_1.');
    await page.waitForFunction(() => document.querySelectorAll('.branch').length === 0);
    expect(await page.locator('#own').isVisible()).toBe(false);
    expect(complaints).toEqual([]);
  });
});

describe('on another interface than loopback', () => {
  test('the page asks for the token, and works once it was given, its WebSocket too', async () => {
    const bridge = await start('long-word', '0.0.0.0');
    const { port } = new URL(bridge.url);
    const url = `http://127.0.0.1:${port}`;
    expect((await page.goto(url))?.status()).toBe(401);
    await page.goto(`${url}/?token=long-word`);
    expect(page.url()).toBe(`${url}/`);
    await page.click('#show-own');
    await page.locator('.branch').nth(2).waitFor();
    await says('#status', 'Connected to the operator.');
  });

  test('is not served at all without one', async () => {
    await expect(start(null, '0.0.0.0')).rejects.toThrow('is reachable from other machines: set a token');
  });
});

test('the connection is said to be lost when it is, and comes back by itself', async () => {
  const bridge = await start();
  await page.goto(bridge.url);
  await page.click('#show-own');
  await says('#status', 'Connected to the operator.');
  await bridge.close();
  await says('#status', 'No connection to the operator. Trying again…');
  expect(await page.locator('.branch').count()).toBe(3);
  records.delete(FIREWALL);
  await start(null, '127.0.0.1', Number(new URL(bridge.url).port));
  await says('#status', 'Connected to the operator.');
  await page.waitForFunction(() => document.querySelectorAll('.branch').length === 2);
});
