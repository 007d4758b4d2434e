import type { Provider } from '../../actors/ports/provider.ts';
import type { Difference, DNSRecord, DNSZone } from '../../machines/types.ts';

type Verbs = Pick<Provider, 'listDNSRecords' | 'createDNSRecord' | 'updateDNSRecord' | 'deleteDNSRecord'>;

/** A record as it was when that was decided, null for none, and as it would be, null for none. */
interface Step {
  readonly was: DNSRecord | null;
  readonly is: DNSRecord | null;
}

interface Zone {
  /** As it was listed last. */
  listed: DNSZone;
  /** By the id of their record. */
  readonly steps: Map<string, Step>;
}

/** Zones as they would be. A step counts as long as its record stays as it was. */
export function zonesOver(
  real: Pick<Provider, 'listDNSRecords'>,
  told: (difference: Difference) => void,
): { readonly verbs: Verbs; readonly changes: () => readonly Difference[] } {
  const zones = new Map<string, Zone>();
  let made = 0;
  const zoneOf = (name: string): Zone => {
    const zone = zones.get(name) ?? { listed: { name, records: [] }, steps: new Map() };
    zones.set(name, zone);
    return zone;
  };
  const step = (name: string, id: string, is: DNSRecord | null): void => {
    const { listed, steps } = zoneOf(name);
    const was = listed.records.find((record) => record.id === id) ?? null;
    if (was === null && is === null) steps.delete(id);
    else {
      steps.set(id, { was, is });
      told(differenceOf(listed, { was, is }));
    }
  };
  const verbs: Verbs = {
    listDNSRecords: async (name, call) => {
      const zone = zoneOf(name);
      zone.listed = await real.listDNSRecords(name, call);
      const { records } = zone.listed;
      for (const [id, each] of zone.steps) if (!isDue(each, id, records)) zone.steps.delete(id);
      const kept = records.flatMap((record) => (zone.steps.has(record.id) ? (zone.steps.get(record.id)?.is ?? []) : record));
      return { ...zone.listed, records: [...kept, ...[...zone.steps.values()].flatMap(({ was, is }) => (was === null && is) || [])] };
    },
    createDNSRecord: async (name, record) => {
      made += 1;
      step(name, `withheld-${made}`, { ...record, id: `withheld-${made}` });
    },
    updateDNSRecord: async (name, record) => step(name, record.id, record),
    deleteDNSRecord: async (name, id) => step(name, id, null),
  };
  return {
    verbs,
    changes: () => [...zones.values()].flatMap(({ listed, steps }) => [...steps.values()].map((each) => differenceOf(listed, each))),
  };
}

/** Nobody has done it, or something else to the record, meanwhile. */
function isDue({ was, is }: Step, id: string, records: readonly DNSRecord[]): boolean {
  if (was !== null) return records.some((record) => record.id === id && isSame(record, was));
  return !records.some((record) => is !== null && isSame(record, is));
}

const isSame = (one: DNSRecord, other: DNSRecord): boolean =>
  (['type', 'name', 'data', 'ttlSeconds', 'proxied'] as const).every((field) => one[field] === other[field]);

function differenceOf({ name: zone }: DNSZone, { was, is }: Step): Difference {
  const { type, name } = (is ?? was) as DNSRecord;
  const subject = `${type} ${name === '@' ? zone : `${name}.${zone}`}`;
  return { what: is === null ? 'withdraw' : 'publish', subject, from: was?.data ?? null, to: is?.data ?? null };
}
