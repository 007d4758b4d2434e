import type { CallOwner } from '../../actors/ports/provider.ts';
import { Counter, Histogram, type Registry } from './prom-client.ts';

/** A call to a provider that has ended. */
export interface EndedCall {
  readonly provider: string;
  readonly call: string;
  /** Null when it was made for many objects, or for none. */
  readonly owner: CallOwner | null;
  readonly outcome: 'success' | 'error';
  /** With the wait for the request budget. */
  readonly seconds: number;
}

/** The `flipop_providers_*` series. Those of a pool or a record set bear its name, as FLIPOP's do, and go with it on every replica that made calls for it. All
 *  objects of another kind share one: of these there may be thousands, and whoever may create them must not decide how long a scrape gets. */
export interface ProviderCalls {
  ended(call: EndedCall): void;
  /** The object is there, perhaps again. */
  objectSeen(owner: CallOwner): void;
  /** The object is gone: a call for it that still ends counts as one for nobody. */
  objectGone(owner: CallOwner): void;
}

interface Labels extends CallOwner {
  readonly provider: string;
  readonly call: string;
}

/** How many objects that are gone are remembered: their last calls end within seconds. */
const MOST_GONE = 1_000;

const NOBODY: CallOwner = { kind: '', namespace: '', name: '' };

/** The kinds that FLIPOP has. */
const NAMED: ReadonlySet<string> = new Set(['FloatingIPPool', 'NodeDNSRecordSet']);

/** FLIPOP's own buckets end at 10 s. A call may take 15 s, and waits for its budget before. */
const BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

const keyOf = ({ kind, namespace, name }: CallOwner): string => `${kind}/${namespace}/${name}`;

export function providerCalls(registry: Registry): ProviderCalls {
  const registers = [registry];
  const calls = new Counter({
    name: 'flipop_providers_calls_total',
    help: 'Calls to providers.',
    labelNames: ['provider', 'call', 'outcome', 'kind', 'namespace', 'name'] as const,
    registers,
  });
  const durations = new Histogram({
    name: 'flipop_providers_call_duration_seconds',
    help: 'How long calls to providers took, with the wait for the request budget.',
    labelNames: ['provider', 'call', 'kind', 'namespace', 'name'] as const,
    buckets: BUCKETS_S,
    registers,
  });
  /** By owner, then by provider and call: what there are series for. */
  const shown = new Map<string, Map<string, Labels>>();
  const gone = new Set<string>();
  const shownAs = (owner: CallOwner): CallOwner => {
    if (!NAMED.has(owner.kind)) return { ...NOBODY, kind: owner.kind };
    return gone.has(keyOf(owner)) ? NOBODY : owner;
  };

  return {
    ended: ({ provider, call, owner, outcome, seconds }) => {
      const { kind, namespace, name } = owner ? shownAs(owner) : NOBODY;
      const labels: Labels = { provider, call, kind, namespace, name };
      const ofOwner = shown.get(keyOf(labels)) ?? new Map<string, Labels>();
      shown.set(keyOf(labels), ofOwner.set(`${provider}/${call}`, labels));
      calls.inc({ ...labels, outcome });
      durations.observe({ ...labels }, seconds);
    },
    objectSeen: (owner) => void gone.delete(keyOf(owner)),
    objectGone: (owner) => {
      if (!NAMED.has(owner.kind)) return;
      const key = keyOf(owner);
      for (const labels of shown.get(key)?.values() ?? []) {
        for (const outcome of ['success', 'error']) calls.remove({ ...labels, outcome });
        durations.remove({ ...labels });
      }
      shown.delete(key);
      gone.add(key);
      const [oldest] = gone;
      if (gone.size > MOST_GONE && oldest !== undefined) gone.delete(oldest);
    },
  };
}
