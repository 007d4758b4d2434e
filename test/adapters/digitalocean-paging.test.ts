import { expect, test } from 'vitest';
import { readPages } from '../../adapters/digitalocean/paging.ts';
import { observedAddress } from '../../adapters/digitalocean/read.ts';

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
  const listed = await readPages({ get, path: '/reserved_ips', key: 'reserved_ips', query: {}, read }, async () => undefined);
  expect(steps).toEqual(['page 1', 'read', 'page 2', 'read', 'page 3', 'read']);
  expect(listed).toHaveLength(TOTAL);
  expect(listed.at(-1)).toEqual({ address: '203.0.1.193', region: 'nyc3', providerID: 'digitalocean://449', locked: false });
});
