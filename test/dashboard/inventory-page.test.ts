import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Address, ProviderID } from '../../machines/model/types.ts';
import { type AccountFacts, type Inventory, inventoryOf } from '../../machines/status/inventory.ts';
import { waitFor } from '../support/wait-for.ts';
import { launchChromium } from './chromium.ts';
import { SECRET, startWorld, type World } from './world.ts';

const TENANT = 'digitalocean@web.do-token';
const MANY = 2_000;

let browser: Browser;
let world: World;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser?.close());

beforeEach(async () => {
  world = await startWorld({ links: { Inventory: '/inventory.html', Jobs: '/jobs' } });
  complaints = [];
  page = await browser.newPage({ viewport: { width: 1300, height: 800 } });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('request', (request) => request.url().startsWith(world.url) || complaints.push(`asked for ${request.url()}`));
});

afterEach(async () => {
  await page.close();
  await world.dashboard.close();
});

const observed = (address: string, machine: string | null = null) => ({
  ...{ address: address as Address, region: 'fra1', locked: false },
  providerID: machine as ProviderID | null,
});

const account = (key: string, addresses: readonly ReturnType<typeof observed>[], change: Partial<AccountFacts> = {}): AccountFacts => ({
  ...{ key, readAt: Date.now() - 40_000, problem: null, note: null, addresses },
  ...change,
});

const taken = (...accounts: readonly AccountFacts[]): Inventory =>
  inventoryOf({
    at: Date.now(),
    accounts,
    ownerOf: (address) =>
      ({ '203.0.113.20': 'RoutedIP web/shop', '2604:a880::7': 'FloatingIPPool default/ingress' })[address as string] ?? null,
    made: new Map([['203.0.113.9' as Address, { for: 'RoutedIP web/old', since: Date.now() - 40 * 86_400_000 }]]),
    isSeen: () => true,
    nodes: new Map([['digitalocean://1', 'node-a']]),
  });

const OWN = [
  observed('203.0.113.20', 'digitalocean://1'),
  observed('203.0.113.9'),
  observed('203.0.113.30', 'digitalocean://1'),
  observed('203.0.113.31', 'digitalocean://99'),
  observed('2604:a880::7'),
];

// biome-ignore lint/performance/useDomNodeTextContent: what counts is what a person sees, line by line
const textOf = (selector: string): Promise<string> => page.locator(selector).innerText();
const shows = (selector: string, text: string | RegExp): Promise<void> =>
  waitFor(`${selector} shows ${text}`, async () => {
    const now = await textOf(selector);
    return typeof text === 'string' ? now.includes(text) : text.test(now);
  });
const show = () => page.goto(`${world.url}/inventory.html`);
const listed = (): Promise<string[]> =>
  page.locator('tbody tr').evaluateAll((rows) => rows.map((row) => row.getAttribute('data-address') ?? ''));

describe('the page of the inventory', () => {
  test('shows each address, whose it is and what it costs, orphans first, and the sum of each account', async () => {
    world.inventory = taken(account('digitalocean', OWN), account(TENANT, [observed('198.51.100.1')]));
    await show();
    await shows(
      '[data-address="203.0.113.9"]',
      /203\.0\.113\.9\s+digitalocean\s+nobody\s+made for RoutedIP web\/old\s+—\s+fra1\s+40 d\s+5\.00 USD/,
    );
    await shows('[data-address="203.0.113.20"]', /RoutedIP web\/shop\s+node-a\s+digitalocean:\/\/1\s+fra1\s+—\s+free/);
    await shows('[data-address="203.0.113.30"]', 'nobody, and yet on a node');
    await shows('[data-address="203.0.113.31"]', /outside this cluster\s+digitalocean:\/\/99/);
    await shows('[data-address="2604:a880::7"]', 'FloatingIPPool default/ingress');
    expect(await listed()).toEqual(['203.0.113.9', '203.0.113.30', '203.0.113.31', '203.0.113.20', '2604:a880::7', '198.51.100.1']);
    expect(await textOf('.account >> nth=0')).toMatch(/digitalocean\s+5\s+addresses\s+1\s+orphan\s+5\.00 USD\s+a month\s+read 4\d s ago/);
    expect(await textOf('.account >> nth=1')).toMatch(/digitalocean@web\.do-token\s+1\s+address\s+1\s+orphan\s+5\.00 USD/);
    expect(complaints).toEqual([]);
  });

  test('filters by text and by whose they are', async () => {
    world.inventory = taken(account('digitalocean', OWN), account(TENANT, [observed('198.51.100.1')]));
    await show();
    await page.locator('#chips').getByText('orphans 2').click();
    expect(await listed()).toEqual(['203.0.113.9', '198.51.100.1']);
    await page.locator('#search').fill('do-token');
    expect(await listed()).toEqual(['198.51.100.1']);
    await page.locator('#search').fill('node-a');
    await shows('#empty', 'Nothing matches the filter.');
    await page.locator('#chips').getByText('All 2').click();
    expect(await listed()).toEqual(['203.0.113.30', '203.0.113.20']);
  });

  test('says why an account cannot be read, with what it held before; of one that was never read that nothing is known', async () => {
    const never = account('job.http', [], { readAt: null, note: 'Jobs drive its addresses, and nobody can list them' });
    world.inventory = taken(account('digitalocean', OWN, { problem: 'list: 401' }), never);
    await show();
    await shows('.account >> nth=0', 'list: 401');
    await shows('.account >> nth=1', /^job\.http\s+Jobs drive its addresses, and nobody can list them$/);
    expect(await listed()).toHaveLength(5);
  });

  test('says that an account is empty, that nobody has looked yet, and who leads instead', async () => {
    world.inventory = taken(account('digitalocean', []));
    await show();
    await shows('#empty', 'No addresses are known of.');
    world.inventory = null;
    await page.reload();
    await shows('#notice', 'The operator has not looked yet');
    world.leadership = {
      leading: false,
      term: 0,
      leader: 'routedip-operator-1_x',
      reach: 'kubectl port-forward pod/routedip-operator-1 8081',
    };
    await page.reload();
    await shows('#notice', 'The leader is routedip-operator-1_x. To see them: kubectl port-forward pod/routedip-operator-1 8081');
  });

  test('says above everything that the operator only observes, and no more once it acts', async () => {
    world.inventory = taken(account('digitalocean', OWN));
    world.leadership = { ...world.leadership, observes: true };
    await show();
    await shows('#observes', 'Only observes: nothing is changed at any provider or in the cluster.');
    const { observes: _, ...acting } = world.leadership;
    world.leadership = acting;
    await page.reload();
    await shows('.account', 'orphan');
    expect(await page.locator('#observes').isHidden()).toBe(true);
  });

  test('shows what has changed by itself, and when it has lost the operator', async () => {
    world.inventory = taken(account('digitalocean', OWN));
    await show();
    await shows('.account', /1\s+orphan/);
    world.inventory = taken(account('digitalocean', OWN.slice(0, 1)));
    await shows('.account', /1\s+address\s+0\s+orphans/);
    await world.dashboard.close();
    await shows('#notice', 'No connection to the operator');
  });

  test(`shows ${MANY.toLocaleString('en')} addresses, and filters them while somebody types`, async () => {
    const many = Array.from({ length: MANY }, (_, index) => observed(`10.0.${Math.floor(index / 250)}.${index % 250}`));
    world.inventory = taken(account('digitalocean', many));
    await show();
    await shows('#chips', 'All 2000');
    expect(await listed()).toHaveLength(MANY);
    await page.locator('#search').fill('10.0.3.249');
    expect(await listed()).toEqual(['10.0.3.249']);
  });

  test('leads to the other pages and back, and shows no secret', async () => {
    world.inventory = taken(account('digitalocean', OWN, { problem: `refused ${SECRET}` }));
    await page.goto(world.url);
    await page.locator('#links').getByText('Inventory').click();
    await shows('.account', 'refused [redacted');
    expect(await textOf('#links')).toMatch(/^Dashboard\s+Jobs$/);
    await page.locator('#theme').click();
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toMatch(/dark|light/);
    await page.locator('#links').getByText('Dashboard').click();
    await page.waitForSelector('#kinds');
    expect(complaints).toEqual([]);
  });
});
