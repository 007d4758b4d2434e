import { Allocator } from '../actors/vip/allocator.ts';
import { parseGroup } from '../machines/vip/ip-group.ts';
import type { Figure } from './figures.ts';
import type { Measured, Plan } from './scenario.ts';

const SEGMENTS = ['10.0.0.0/16', '10.0.0.0/8', '2001:db8::/64'];

/** How long the allocator takes to choose an address: each Service asks, is answered and reserves, one after another. */
export async function allocation({ extent }: Plan): Promise<Measured> {
  const services = { full: 10_000, round: 10_000, quick: 1_000 }[extent];
  return {
    conditions: [
      `${services} Services that ask for any address, each answered before the next asks; no API server, no Redis: the choice alone`,
    ],
    figures: SEGMENTS.flatMap((segment) => figuresOf(segment, services)),
  };
}

function figuresOf(segment: string, services: number): readonly Figure[] {
  const allocator = new Allocator();
  allocator.putGroup(parseGroup('bench', { segment, excludedIPs: [] }));
  const startedAt = performance.now();
  const took = Array.from({ length: services }, (_, index) => {
    const key = `vip/bench/service-${index}`;
    const askedAt = performance.now();
    allocator.ask({ key, address: null, group: null, family: null, preferred: [], since: index });
    const changed = allocator.changed();
    const verdict = allocator.verdict(key);
    const answeredAt = performance.now();
    if (changed.length !== 1 || verdict?.kind !== 'offered') throw new Error(`${key} was offered nothing of ${segment}`);
    allocator.take(verdict.address, key, verdict.group);
    return answeredAt - askedAt;
  });
  const seconds = (performance.now() - startedAt) / 1000;
  const allocated = allocator.figures('bench')?.allocated;
  if (allocated !== BigInt(services)) throw new Error(`${allocated} of ${services} are allocated`);
  took.sort((a, b) => a - b);
  return [
    { what: `${segment}: all of them`, value: seconds, unit: 's', target: { atMost: 60 } },
    { what: `${segment}: a choice, p99`, value: took[Math.floor(services * 0.99)] ?? 0, unit: 'ms', target: { atMost: 5 } },
  ];
}
