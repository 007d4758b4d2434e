import { expect, onTestFinished, test } from 'vitest';
import { PageSizes, readPages } from '../../../adapters/digitalocean/paging.ts';
import { observedAddress } from '../../../adapters/digitalocean/read.ts';
import type { ProviderID } from '../../../machines/model/types.ts';
import { failure } from '../../contracts/provider-harness.ts';
import { startTestBed } from './support.ts';

const TOTAL = 450;

/** An address as the API shows it, with the droplet that it is on. */
const item = (number: number) => ({
  ip: `203.0.${number >> 8}.${number & 255}`,
  region: { slug: 'nyc3' },
  locked: false,
  droplet: { id: number, name: 'node', features: ['monitoring'] },
});

test('a list keeps of each address what is read of it before the next page is asked for, and not its droplet', async () => {
  const steps: string[] = [];
  const get = async (path: string) => {
    const page = Number(new URL(path, 'http://api').searchParams.get('page'));
    steps.push(`page ${page}`);
    const first = (page - 1) * 200;
    const reserved_ips = Array.from({ length: Math.min(200, TOTAL - first) }, (_, index) => item(first + index));
    return { reserved_ips, meta: { total: TOTAL } };
  };
  const read = (value: unknown) => {
    if (!steps.at(-1)?.startsWith('read')) steps.push('read');
    return observedAddress(value);
  };
  const listed = await readPages({ get, path: '/reserved_ips', key: 'reserved_ips', query: {}, perPage: 200, read }, async () => undefined);
  expect(steps).toEqual(['page 1', 'read', 'page 2', 'read', 'page 3', 'read']);
  expect(listed).toHaveLength(TOTAL);
  expect(listed.at(-1)).toEqual({ address: '203.0.1.193', region: 'nyc3', providerID: 'digitalocean://449', locked: false });
});

test('pages are smaller after the server has failed, down to 25, and larger again with each hour', () => {
  const sizes = new PageSizes();
  const HOUR = 3_600_000;
  expect(sizes.of('/reserved_ips', 0)).toBe(200);
  const shrunk = [1, 2, 3, 4].map((at) => {
    sizes.failed('/reserved_ips', at);
    return sizes.of('/reserved_ips', at);
  });
  expect(shrunk).toEqual([100, 50, 25, 25]);
  expect([HOUR, HOUR + 4, 2 * HOUR + 4, 9 * HOUR].map((at) => sizes.of('/reserved_ips', at))).toEqual([25, 50, 100, 200]);
  expect(sizes.of('/firewalls', 5)).toBe(200);
});

test('a list that is too much for the server is read in smaller pages at the next try', async () => {
  const { provider, simulator, close } = await startTestBed();
  onTestFinished(close);
  const { ip } = simulator.addReservedIP({ region: 'nyc3' });
  simulator.faults.add({ kind: 'status', code: 500, match: { path: 'per_page=(1\\d\\d|200)' } });
  await provider.findNode('digitalocean://1' as ProviderID, { purpose: 'verify' });
  simulator.calls.clear();
  const list = () => provider.listRoutedIPs({ purpose: 'verify', family: 4 });
  for (const _ of [200, 100]) expect((await failure(list())).kind).toBe('Unavailable');
  expect((await list()).map(({ address }) => address)).toEqual([ip]);
  expect(simulator.calls.all().map(({ path }) => /per_page=\d+/.exec(path)?.[0])).toEqual(['per_page=200', 'per_page=100', 'per_page=50']);
});
