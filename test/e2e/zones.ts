import type { CloudflareSimulator } from '../../simulator/cloudflare/server.ts';
import type { DigitalOceanSimulator } from '../../simulator/digitalocean/server.ts';

/** A record as its owner sees it in the control panel. */
export interface Entry {
  readonly type: string;
  /** Relative to the zone, `@` for the zone itself. */
  readonly name: string;
  readonly data: string;
  readonly ttl: number;
}

/** A zone at one of the simulated providers. What is done to it here is done by hand: the call log shows nothing of it. */
export interface Zone {
  readonly provider: 'digitalocean' | 'cloudflare';
  readonly name: string;
  /** Its id where zones have one, else its name. */
  readonly id: string;
  /** `A 203.0.113.1 60` for each A and AAAA record of that name, sorted; with `proxied` behind it where that is so. */
  records(name: string): readonly string[];
  add(entry: Entry): void;
  /** Gives all records of that name and data other data, or another TTL. */
  change(name: string, data: string, to: Partial<Pick<Entry, 'data' | 'ttl'>> & { readonly proxied?: boolean }): void;
  remove(name: string, data: string): void;
  /** `POST …`, `PUT …`, `DELETE …` for every change of records that the provider was asked for so far. */
  writes(): readonly string[];
}

const shown = ({ type, data, ttl }: Entry, proxied: boolean): string => `${type} ${data} ${ttl}${proxied ? ' proxied' : ''}`;

const isAddress = ({ type }: { readonly type: string }): boolean => type === 'A' || type === 'AAAA';

/** Puts the zone into the account. @throws Error when the provider refuses it */
export async function digitalOceanZone(cloud: DigitalOceanSimulator, name: string): Promise<Zone> {
  const headers = { authorization: 'Bearer by-hand', 'content-type': 'application/json' };
  const response = await fetch(`${cloud.url}/v2/domains`, { method: 'POST', headers, body: JSON.stringify({ name }) });
  if (!response.ok) throw new Error(`the zone ${name} was not created: ${response.status} ${await response.text()}`);
  const records = () => {
    const domain = cloud.state.domains.get(name);
    if (!domain) throw new Error(`the zone ${name} is gone`);
    return domain.records;
  };
  const blank = { priority: null, port: null, weight: null, flags: null, tag: null };
  // Above every id that the API gives out.
  let next = 900_000_000;
  const named = (wanted: string, data: string) => [...records().values()].filter((one) => one.name === wanted && one.data === data);
  return {
    provider: 'digitalocean',
    name,
    id: name,
    records: (wanted) =>
      [...records().values()]
        .filter((record) => record.name === wanted && isAddress(record))
        .map((record) => shown(record, false))
        .sort(),
    add: (entry) => {
      next += 1;
      records().set(next, { ...blank, ...entry, id: next });
    },
    change: (wanted, data, { proxied: _, ...to }) => {
      for (const record of named(wanted, data)) records().set(record.id, { ...record, ...to });
    },
    remove: (wanted, data) => {
      for (const { id } of named(wanted, data)) records().delete(id);
    },
    writes: () =>
      cloud.calls
        .select({ writes: true })
        .filter(({ path }) => path.startsWith(`/v2/domains/${name}/`))
        .map(({ method, path }) => `${method} ${path}`),
  };
}

export function cloudflareZone(cloud: CloudflareSimulator, name: string): Zone {
  const zone = cloud.addZone({ name });
  const full = (relative: string): string => (relative === '@' ? name : `${relative}.${name}`);
  const named = (wanted: string, data: string) =>
    [...zone.records.values()].filter((one) => one.name === full(wanted) && one.content === data);
  return {
    provider: 'cloudflare',
    name,
    id: zone.id,
    records: (wanted) =>
      [...zone.records.values()]
        .filter((record) => record.name === full(wanted) && isAddress(record))
        .map(({ type, content, ttl, proxied }) => shown({ type, name: wanted, data: content, ttl }, proxied))
        .sort(),
    add: ({ type, name: relative, data, ttl }) => void cloud.addRecord(zone.id, { type, name: full(relative), content: data, ttl }),
    change: (wanted, data, { data: content, ttl, proxied }) => {
      const to = {
        ...(content !== undefined && { content }),
        ...(ttl !== undefined && { ttl }),
        ...(proxied !== undefined && { proxied }),
      };
      for (const record of named(wanted, data)) zone.records.set(record.id, { ...record, ...to });
    },
    remove: (wanted, data) => {
      for (const { id } of named(wanted, data)) zone.records.delete(id);
    },
    writes: () =>
      cloud.calls
        .select({ writes: true })
        .filter(({ path }) => path.includes(`/zones/${zone.id}/`))
        .map(({ method, path }) => `${method} ${path}`),
  };
}
