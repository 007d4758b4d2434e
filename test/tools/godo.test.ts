import { beforeAll, describe, expect, test } from 'vitest';
import { startDigitalOcean } from '../../simulator/digitalocean/server.ts';
import { callOf, description } from '../simulator/digitalocean-described.ts';
import { unread } from '../simulator/unread.ts';
import { outputMeanwhile } from './tool.ts';

/** A call of the client: the answer as it came, and as it reads it. */
interface Said {
  readonly call: string;
  readonly heard: Readonly<Record<string, unknown>> | null;
  readonly read: unknown;
}

let said: readonly Said[];
let left: { readonly addresses: number; readonly firewalls: number; readonly domains: number; readonly droplets: number };
const nameOf = ({ call }: Said): string => {
  const [method = '', path = ''] = call.split(' ');
  return callOf(method, path)?.name ?? call;
};

beforeAll(async () => {
  const simulator = await startDigitalOcean({ token: 'test', actionMs: 0, firewallMs: 0 });
  try {
    simulator.addDroplet({ id: 11, name: 'a', region: 'nyc3', tags: ['web'], ipv6: true });
    simulator.addDroplet({ id: 12, name: 'b', region: 'nyc3' });
    simulator.addPrefix({ prefix: '198.51.100.0/24', region: 'nyc3' });
    const output = await outputMeanwhile('godo', [simulator.url]);
    said = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const { reservedIPs, firewalls, domains, droplets } = simulator.state;
    left = { addresses: reservedIPs.size, firewalls: firewalls.size, domains: domains.size, droplets: droplets.size };
  } finally {
    await simulator.close();
  }
});

/** The client gives what is in the answer, without its name. */
const bodyOf = ({ heard }: Said): unknown => Object.entries(heard ?? {}).find(([name]) => name !== 'links' && name !== 'meta')?.[1] ?? null;

describe('DigitalOcean’s own client in Go', () => {
  test('makes every call that is served, but one that it does not have', () => {
    const made = new Set(said.map(nameOf));
    expect(Object.keys(description.calls).filter((name) => !made.has(name))).toEqual([
      'PATCH /v2/domains/{domain_name}/records/{domain_record_id}',
    ]);
  });

  test('ends with everything undone that it did', () => expect(left).toEqual({ addresses: 0, firewalls: 0, domains: 0, droplets: 2 }));

  test('reads every answer, but for two names that it does not know', () => {
    const missing = said.flatMap((one) => unread(bodyOf(one), one.read, (name) => name, true).map((place) => `${nameOf(one)} ${place}`));
    const names = missing.map((place) =>
      place.replace(/^.*actions.* \.project_id$/, 'project_id of an action').replace(/^.*\.disk_info\[\].*$/, 'disk_info'),
    );
    expect([...new Set(names)].sort()).toEqual(['disk_info', 'project_id of an action']);
  });

  test('is told which page it reads', () => {
    const page = said.find(({ call }) => call === 'GET /v2/droplets?page=2&per_page=1');
    expect(page).toMatchObject({ heard: { meta: { total: 2 } }, read: [{ id: 12, name: 'b' }] });
  });
});
