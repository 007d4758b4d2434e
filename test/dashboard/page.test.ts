import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait-for.ts';
import { launchChromium } from './chromium.ts';
import { addressActor, addressAt, startWorld, type World } from './world.ts';

const ADDRESSES = 1000;

let browser: Browser;
let world: World;
let page: Page;
/** Whatever the browser complained about, and whatever it asked of others than the dashboard. */
let complaints: string[];

beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser?.close());

beforeEach(async () => {
  world = await startWorld();
  for (let index = 0; index < ADDRESSES; index += 1) {
    const pool = index % 10 === 3 ? 'edge/public' : 'default/ingress';
    world.put('ip', addressActor(index, pool), {
      to: { Stable: { Address: 'Held', Records: 'Clean' } },
      context: { address: addressAt(index), assigned: { name: `node-${index}`, providerID: `digitalocean://${index}` } },
    });
  }
  complaints = [];
  page = await browser.newPage({ viewport: { width: 1500, height: 950 } });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('request', (request) => request.url().startsWith(world.url) || complaints.push(`asked for ${request.url()}`));
});

afterEach(async () => {
  await page.close();
  await world.dashboard.close();
});

const first = addressActor(0);
const show = async (actor = first): Promise<void> => {
  await page.goto(`${world.url}/#${encodeURIComponent(actor)}`);
  await page.waitForSelector('.state.leaf.live');
};
// biome-ignore lint/performance/useDomNodeTextContent: what counts is what a person sees, line by line
const textOf = (selector: string): Promise<string> => page.locator(selector).innerText();
/** The list is painted with the next frame, the right half when its answers have come. */
const shows = (selector: string, text: string | RegExp): Promise<void> =>
  waitFor(`${selector} shows ${text}`, async () => {
    const now = await textOf(selector);
    return typeof text === 'string' ? now.includes(text) : text.test(now);
  });
const live = (): Promise<string[]> =>
  page.locator('.state.leaf.live').evaluateAll((boxes) => boxes.map((box) => box.getAttribute('data-id') ?? '').sort());

describe('the page in a browser', () => {
  test('lists a thousand addresses, of which only those in sight are in the page, and loads nothing from elsewhere', async () => {
    await show();
    await shows('#chips', `All ${ADDRESSES}`);
    const drawn = await page.locator('.row').count();
    expect(drawn).toBeGreaterThan(10);
    expect(drawn).toBeLessThan(60);
    await page.locator('#rows').evaluate((rows) => rows.scrollTo(0, rows.scrollHeight));
    await page.waitForSelector(`[data-actor="${addressActor(ADDRESSES - 1)}"]`);
    expect(complaints).toEqual([]);
  });

  test('draws the chart from its definition, with every live state marked', async () => {
    await show();
    expect(await live()).toEqual(['sample.Stable.Address.Held', 'sample.Stable.Records.Clean']);
    expect(await page.locator('.state').count()).toBe(14);
    for (const label of ['GRANTED', 'assign done', 'assign failed', 'after coolOff', 'LOST', 'RETIRE']) {
      expect(await page.locator(`.edge.label text:text-is("${label}")`).count(), label).toBeGreaterThan(0);
    }
  });

  test('follows a turn: live state, the arrows taken, what is waited for, why, and the journal', async () => {
    await show();
    world.turn({ [first]: { event: 'LOST', to: { Unassigned: 'Waiting' } } });
    world.turn({ [first]: { event: 'GRANTED', to: 'Assigning', waiting: { assign: { commandId: 'command-1' } } } });
    await page.waitForSelector('[data-id="sample.Assigning"].live');
    const arrows = () => page.locator('.edge.last:not(.label)').evaluateAll((edges) => edges.map((edge) => edge.getAttribute('data-id')));
    expect((await arrows()).sort()).toEqual(['sample.Electing → sample.Assigning', 'sample.Unassigned.Waiting → sample.Electing']);
    expect(await textOf('#waiting')).toContain('job assign');

    const failure = { kind: 'RateLimited', message: 'assign: 429' };
    const waiting = { 'xstate.after.coolOff.sample.CoolOff': { commandId: 'command-2', dueAt: Date.now() + 50_000 } };
    world.turn({
      [first]: { event: 'xstate.error.actor.assign', to: 'CoolOff', waiting, context: { address: addressAt(0), failure, attempts: 2 } },
    });
    await page.waitForSelector('[data-id="sample.CoolOff"].live.trouble');
    expect(await textOf('#title')).toContain('RateLimited: assign: 429');
    expect(await textOf('#waiting')).toMatch(/coolOff in \d+ s/);
    const row = `[data-actor="${first}"]`;
    for (const part of [addressAt(0), 'default/ingress', 'CoolOff', 'RateLimited', '2 failed']) await shows(row, part);
    expect(await textOf('#journal')).toMatch(/assign failed\s+Assigning → CoolOff[\s\S]+GRANTED\s+Unassigned\.Waiting → Assigning/);
    expect(await textOf('#context')).toContain('429');
    // Trouble comes first.
    expect(await page.locator('.row').first().getAttribute('data-actor')).toBe(first);
    expect(complaints).toEqual([]);
  });

  test('tells how long a state has lasted that another leader entered, in the list and beside the name, and goes on counting', async () => {
    world.wrote({ actor: first, at: Date.now() - 65_000, event: 'GRANTED', from: 'Electing', to: 'Stable' });
    await show();
    await page.waitForFunction(() => /for 1 m \d+ s/.test(document.querySelector('#title')?.textContent ?? ''));
    await shows(`[data-actor="${first}"]`, /1 m \d+ s/);
    const before = await page.locator('#title').textContent();
    await page.waitForFunction((text) => document.querySelector('#title')?.textContent !== text, before);
    expect(await textOf('#title')).toMatch(/for 1 m \d+ s/);
  });

  test('filters by text, pool and state', async () => {
    await show();
    world.turn({ [addressActor(7)]: { event: 'LOST', to: { Unassigned: 'Waiting' } } });
    const chips = page.locator('#chips');
    await chips.getByText('Unassigned 1').click();
    await page.waitForFunction(() => document.querySelectorAll('.row').length === 1);
    await chips.getByText('All').click();
    await page.selectOption('#pool', 'edge/public');
    await page.waitForFunction(() => document.querySelector('#chips')?.textContent?.includes('All 100'));
    await page.fill('#search', addressAt(13));
    await page.waitForFunction(() => document.querySelectorAll('.row').length === 2);
    expect(await textOf('.row >> nth=0')).toContain(addressAt(13));
    await page.fill('#search', 'no such thing');
    await page.waitForSelector('#empty:not([hidden])');
    expect(await textOf('#empty')).toBe('Nothing matches the filter.');
  });

  test('lists RoutedIPs beside the pools, and the firewalls with what is claimed of them', async () => {
    const policy = { firewall: 'firewall/digitalocean/edge', ports: ['tcp/80'] };
    const node = { name: 'web-1', providerID: 'digitalocean://7' };
    world.put('pool', 'rip/default/shop', {
      to: { Serving: 'Open' },
      context: { members: { '192.0.2.1': { node } }, exposed: { policy } },
    });
    world.put('ip', 'rip/default/shop/ip/192.0.2.1', { to: 'Stable', context: { address: '192.0.2.1', assigned: node, policy } });
    const claims = { 'rip/default/shop/ip/192.0.2.1': { nodes: [node], ports: ['tcp/80'] } };
    world.put('firewall', 'firewall/digitalocean/edge', { to: 'Idle', context: { claims } });
    await show();
    await page.selectOption('#pool', 'RoutedIP default/shop');
    await page.waitForFunction(() => document.querySelectorAll('.row').length === 1);
    for (const part of ['192.0.2.1', 'default/shop', 'web-1', 'tcp/80']) expect(await textOf('.row')).toContain(part);
    await page.locator('.row').click();
    await page.waitForFunction(() => document.querySelector('#title')?.textContent?.includes('RoutedIP default/shop'));
    const tab = (name: string) => page.locator('#kinds').getByText(name, { exact: true }).click();
    await tab('RoutedIPs');
    await page.waitForFunction(() => document.querySelector('.row .mono')?.textContent === 'shop');
    expect(await page.locator('.row').count()).toBe(1);
    expect(await textOf('.row')).toMatch(/Serving[\s\S]+web-1[\s\S]+tcp\/80/);
    await page.selectOption('#pool', '');
    await tab('Other');
    await page.waitForFunction(() => document.querySelector('.row .mono')?.textContent === 'edge');
    expect(await textOf('.row')).toMatch(/edge\s+firewall\s+Idle[\s\S]+web-1\s+tcp\/80/);
    expect(complaints).toEqual([]);
  });

  test('says of a pool that is paused, and of its addresses, that it is, and no more once it is not', async () => {
    const pool = 'pool/edge/public';
    const marks = (paused: boolean) => ({ marks: { isTold: true, paused, deleting: false, wrong: null } });
    const paused = addressActor(3, 'edge/public');
    world.put('pool', pool, { to: { Serving: { granting: 'Open' } }, context: marks(true) });
    await show(paused);
    await shows('#title', /^203\.0\.113\.4[\s\S]*paused/);
    await page.fill('#search', 'paused');
    await shows('#chips', `All ${ADDRESSES / 10}`);
    await shows(`[data-actor="${paused}"]`, 'paused');
    await page.click('#kinds button:text-is("Pools")');
    await shows(`[data-actor="${pool}"]`, /public[\s\S]*paused/);
    world.turn({ [pool]: { event: 'SPEC_OBSERVED', to: { Serving: { granting: 'Open' } }, context: marks(false) } });
    await shows('#empty', 'Nothing matches');
    await shows('#title', /^203\.0\.113\.4(?![\s\S]*paused)/);
    expect(complaints).toEqual([]);
  });

  test('lists Services with their addresses, and why one has none', async () => {
    const waits = { service: { ingress: [] }, refusal: { reason: 'PoolExhausted', message: 'no IP could be allocated' } };
    world.put('vip-service', 'vip/edge/chat', { to: 'Pending', context: waits });
    world.put('vip-service', 'vip/edge/mail', { to: { Bound: 'Settled' }, context: { service: { ingress: [{ ip: '198.51.100.9' }] } } });
    await show();
    await page.locator('#kinds').getByText('Services', { exact: true }).click();
    await page.waitForFunction(() => document.querySelectorAll('.row').length === 2);
    expect(await textOf('.row >> nth=0')).toMatch(/edge\/chat[\s\S]+Pending[\s\S]+PoolExhausted: no IP could be allocated/);
    expect(await textOf('.row >> nth=1')).toMatch(/edge\/mail[\s\S]+Bound[\s\S]+198\.51\.100\.9/);
    expect(complaints).toEqual([]);
  });

  test('shows another address when it is chosen, by mouse and by keyboard', async () => {
    await show();
    await page.locator('.row').nth(3).click();
    const chosen = async (address: string): Promise<void> => {
      await page.waitForFunction((wanted) => document.querySelector('#title strong')?.textContent === wanted, address);
      await page.waitForFunction((wanted) => document.querySelector('.row[aria-selected="true"] .mono')?.textContent === wanted, address);
    };
    await chosen(addressAt(3));
    await page.locator('#rows').press('ArrowDown');
    await chosen(addressAt(4));
    expect(await page.locator('.row[aria-selected="true"]').count()).toBe(1);
  });

  test('says that it only observes, and what would be done, above all and at each address; nothing of it once it acts', async () => {
    const differences = [
      { what: 'move', subject: addressAt(0), from: 'node-0', to: 'node-9' },
      { what: 'open', subject: 'tcp/443', from: null, to: 'firewall edge' },
    ] as const;
    const observing = await startWorld({ changes: () => differences });
    observing.leadership = { ...observing.leadership, observes: true };
    observing.put('ip', first, { to: { Stable: 'Held' }, context: { address: addressAt(0) } });
    observing.put('firewall', 'firewall/digitalocean/edge', { to: 'Idle' });
    await page.goto(observing.url);
    await shows('#plan-title', 'Only observes: nothing is changed at any provider or in the cluster. Withheld: 2');
    await page.click('#plan-title');
    expect(
      (await textOf('#plan'))
        .split('\n')
        .slice(1)
        .map((line) => line.split('\t')),
    ).toEqual([
      ['What', 'Of', 'From', 'To'],
      ['move', addressAt(0), 'node-0', 'node-9'],
      ['open', 'tcp/443', '–', 'firewall edge'],
    ]);
    await shows(`[data-actor="${first}"]`, 'withheld: move to node-9');
    await page.getByText('Other').click();
    await shows('[data-actor="firewall/digitalocean/edge"]', 'withheld: open tcp/443');
    const { observes: _, ...acting } = observing.leadership;
    observing.leadership = acting;
    observing.turn({ [first]: { event: 'LOST', to: 'Electing' } });
    await page.waitForSelector('#plan', { state: 'hidden' });
    await observing.dashboard.close();
  });

  test('says that this replica is not the leader, who is, and how to get there', async () => {
    const reach = 'kubectl -n routedip-operator port-forward pod/pod-b 8081';
    world.leadership = { leading: false, term: 8, leader: 'pod-b', reach };
    await page.goto(world.url);
    await page.waitForSelector('#notice:not([hidden])');
    expect(await textOf('#notice')).toBe(`This replica is not the leader: it runs no actors. The leader is pod-b. To see them: ${reach}`);
    expect(await page.locator('.row').count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test('says that the connection is lost and as of when it shows things, and comes back by itself', async () => {
    await show();
    const { port } = new URL(world.url);
    await world.dashboard.close();
    await page.waitForSelector('#notice:not([hidden])');
    expect(await textOf('#notice')).toMatch(
      /^No connection to the operator for \d+ s\. What you see is as of \d\d:\d\d:\d\d\. Trying again…$/,
    );
    expect(await page.locator('.row').count()).toBeGreaterThan(10);

    const next = await startWorld({ bind: { host: '127.0.0.1', port: Number(port) } });
    next.put('ip', first, { to: 'CoolOff', context: { address: addressAt(0) } });
    await page.waitForSelector('#notice', { state: 'hidden' });
    await page.waitForSelector('[data-id="sample.CoolOff"].live');
    await shows('#chips', /All 1\b/);
    await next.dashboard.close();
  });

  test('can be read in the dark and in the light', async () => {
    const ground = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.emulateMedia({ colorScheme: 'dark' });
    await show();
    const dark = await ground();
    await page.click('#theme');
    const light = await ground();
    expect(light).not.toBe(dark);
    await page.reload();
    await page.waitForSelector('.state.leaf.live');
    expect(await ground()).toBe(light);
  });
});
