import type { CallOwner } from '../../actors/ports/provider.ts';
import { type Family, label } from './exposition.ts';

/** A finished call to a provider. */
export interface EndedCall {
  readonly provider: string;
  readonly call: string;
  /** Null when it was made for several objects, or for none. */
  readonly owner: CallOwner | null;
  readonly outcome: 'success' | 'error';
  /** Including the wait for the request budget. */
  readonly seconds: number;
}

/** The `flipop_providers_*` series. Those of a pool or a record set carry its name, as FLIPOP's do, and disappear with it on every replica that made calls for it.
 *  All objects of another kind share one: there may be thousands, and users who create them must not determine the size of a scrape. */
export interface ProviderCalls {
  ended(call: EndedCall): void;
  /** The object exists, perhaps again. */
  objectSeen(owner: CallOwner): void;
  /** The object is gone: calls for it that end later count as having no owner. */
  objectGone(owner: CallOwner): void;
  readonly families: readonly Family[];
}

/** The unit of the series: the calls of one name for one owner. */
interface Calls {
  /** Rendered labels. */
  readonly labels: string;
  success: number;
  error: number;
  /** Total of all calls. */
  seconds: number;
  /** Calls per bucket of `BUCKETS_S`, not cumulative. */
  readonly buckets: number[];
}

/** Maximum number of deleted objects remembered: their last calls end within seconds. */
const MOST_GONE = 1_000;

const NOBODY: CallOwner = { kind: '', namespace: '', name: '' };

/** FLIPOP's kinds. */
const NAMED: ReadonlySet<string> = new Set(['FloatingIPPool', 'NodeDNSRecordSet']);

/** FLIPOP's own buckets end at 10 s. A call may take 15 s, plus the wait for its budget. */
const BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

const keyOf = ({ kind, namespace, name }: CallOwner): string => `${kind}/${namespace}/${name}`;

export function providerCalls(): ProviderCalls {
  /** By owner, then by provider and call. */
  const shown = new Map<string, Map<string, Calls>>();
  const gone = new Set<string>();
  const shownAs = (owner: CallOwner): CallOwner => {
    if (!NAMED.has(owner.kind)) return { ...NOBODY, kind: owner.kind };
    return gone.has(keyOf(owner)) ? NOBODY : owner;
  };

  return {
    ended: ({ provider, call, owner, outcome, seconds }) => {
      const { kind, namespace, name } = owner ? shownAs(owner) : NOBODY;
      const key = keyOf({ kind, namespace, name });
      const ofOwner = shown.get(key) ?? new Map<string, Calls>();
      const calls = ofOwner.get(`${provider}/${call}`) ?? noCalls({ provider, call, kind, namespace, name });
      shown.set(key, ofOwner.set(`${provider}/${call}`, calls));
      calls[outcome] += 1;
      calls.seconds += seconds;
      const bucket = BUCKETS_S.findIndex((most) => seconds <= most);
      if (bucket >= 0) calls.buckets[bucket] = (calls.buckets[bucket] ?? 0) + 1;
    },
    objectSeen: (owner) => void gone.delete(keyOf(owner)),
    objectGone: (owner) => {
      if (!NAMED.has(owner.kind)) return;
      const key = keyOf(owner);
      shown.delete(key);
      gone.add(key);
      const [oldest] = gone;
      if (gone.size > MOST_GONE && oldest !== undefined) gone.delete(oldest);
    },
    families: families(() => [...shown.values()].flatMap((ofOwner) => [...ofOwner.values()])),
  };
}

const noCalls = (labels: Readonly<Record<string, string>>): Calls => ({
  labels: Object.entries(labels)
    .map(([name, value]) => label(name, value))
    .join(','),
  success: 0,
  error: 0,
  seconds: 0,
  buckets: BUCKETS_S.map(() => 0),
});

const DURATION = 'flipop_providers_call_duration_seconds';

const families = (all: () => readonly Calls[]): readonly Family[] => [
  {
    name: 'flipop_providers_calls_total',
    type: 'counter',
    help: 'Calls to providers.',
    *lines() {
      for (const { labels, success, error } of all()) {
        if (success > 0) yield `flipop_providers_calls_total{${labels},outcome="success"} ${success}`;
        if (error > 0) yield `flipop_providers_calls_total{${labels},outcome="error"} ${error}`;
      }
    },
  },
  {
    name: DURATION,
    type: 'histogram',
    help: 'How long calls to providers took, with the wait for the request budget.',
    *lines() {
      for (const calls of all()) yield* durationsOf(calls);
    },
  },
];

function* durationsOf({ labels, success, error, seconds, buckets }: Calls): Generator<string> {
  let upTo = 0;
  for (const [bucket, most] of BUCKETS_S.entries()) {
    upTo += buckets[bucket] ?? 0;
    yield `${DURATION}_bucket{le="${most}",${labels}} ${upTo}`;
  }
  yield `${DURATION}_bucket{le="+Inf",${labels}} ${success + error}`;
  yield `${DURATION}_sum{${labels}} ${seconds}`;
  yield `${DURATION}_count{${labels}} ${success + error}`;
}
