import { describe, expect, test } from 'vitest';
import { charts as chartsOf } from '../../actors/controllers/chart-registry.ts';
import { backoffMs, FLIPOP_BACKOFF } from '../../machines/model/backoff.ts';
import type { ErrorKind } from '../../machines/model/types.ts';
import { CALL_DEADLINE, VERIFY_EVERY } from './drive.ts';
import { restingStates } from './explore.ts';

const settings = { backoff: FLIPOP_BACKOFF, callDeadlineMs: CALL_DEADLINE, verifyEveryMs: VERIFY_EVERY, orphanDoubtMs: 60_000 };
const charts = Object.values(chartsOf(settings, () => 1));
type Node = (typeof charts)[number]['machine']['root'];

const nodesOf = (node: Node): readonly Node[] => [node, ...Object.values(node.states).flatMap(nodesOf)];
const listed = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : value === undefined ? [] : [value]);
const namesIn = (values: readonly unknown[]): readonly string[] =>
  values.flatMap((value) => (typeof value === 'string' ? [value] : ((value as { type?: string } | undefined)?.type ?? [])));

interface Transition {
  readonly guard?: unknown;
  readonly actions?: unknown;
}

/** Every name that the states and transitions of a chart mention, by kind. */
function usedIn(root: Node): Readonly<Record<'actions' | 'guards' | 'actors' | 'delays', readonly string[]>> {
  const configs = nodesOf(root).map(({ config }) => config as Readonly<Record<string, unknown>>);
  const invokes = configs.flatMap(({ invoke }) => listed(invoke)) as readonly Readonly<Record<string, unknown>>[];
  const delays = configs.flatMap(({ after }) => Object.entries((after as object | undefined) ?? {}));
  const transitions = [
    ...configs.flatMap(({ always }) => listed(always)),
    ...configs.flatMap(({ on }) => Object.values((on as object | undefined) ?? {}).flatMap(listed)),
    ...delays.flatMap(([, after]) => listed(after)),
    ...invokes.flatMap(({ onDone, onError }) => [...listed(onDone), ...listed(onError)]),
  ].filter((each) => typeof each === 'object') as readonly Transition[];
  const acts = [
    ...transitions.flatMap(({ actions }) => listed(actions)),
    ...configs.flatMap(({ entry, exit }) => [...listed(entry), ...listed(exit)]),
  ];
  const sorted = (names: readonly string[]) => [...new Set(names)].sort();
  return {
    actions: sorted(namesIn(acts)),
    guards: sorted(namesIn(transitions.flatMap(({ guard }) => listed(guard)))),
    actors: sorted(namesIn(invokes.map(({ src }) => src))),
    delays: sorted(delays.map(([name]) => name)),
  };
}

/** What decisions may ask of the runtime: no state names it. */
const EFFECTS: ReadonlySet<string> = new Set(['tell', 'spawn', 'claim']);

describe.each(charts.map((chart) => [chart.name, chart] as const))('what chart %s declares', (_, { machine }) => {
  const used = usedIn(machine.root);

  test.each(['actions', 'guards', 'actors', 'delays'] as const)('as %s is used, and what is used is declared', (kind) => {
    const declared = Object.keys(machine.implementations[kind]).filter((name) => !EFFECTS.has(name));
    expect(declared.sort()).toEqual(used[kind]);
  });
});

/** States in which an actor rests without a timer, a job or a claim of its own: what ends that, and who tells it, again under each leader. */
const ENDED_BY_OTHERS: Readonly<Record<string, Readonly<Record<string, readonly [event: string, who: string]>>>> = {
  pool: {
    Invalid: ['SPEC_OBSERVED', 'the user, who mends the spec'],
    Priming: ['PROVIDER_OBSERVED', 'the leader, which reads the lists of providers until it has them'],
    'Serving.acquiring.Complete': ['SPEC_OBSERVED', 'the user; nothing is missing, or the status says what is in the way'],
    'Serving.asking.Silent': ['CLUSTER_OBSERVED', 'the leader, when a node is absent'],
    'Serving.granting.Open': ['READY', 'an address that waits for a node, and the facts about nodes'],
    'Serving.naming.Named': ['ASSIGNED', 'an address that has come to a node'],
    'Serving.recovering.Calm': ['CLUSTER_OBSERVED', 'the leader, when a node is absent'],
    'Stopping.Concluding': ['CLAIMS_OBSERVED', 'the right to create, which another pool gives back once its creation was looked up'],
    'Stopping.Clearing': ['CLEARED', 'the projector, once no node bears a mark of the pool'],
    'Stopping.Releasing': ['GONE', 'its addresses, each of which ends by itself'],
  },
  ip: {
    'Stable.Holding': ['NODE_OBSERVED', 'the pool, when the node is lost; all is well before'],
    'Unassigned.Waiting': ['NODE_GRANTED', 'the pool, once a node can be had'],
  },
  firewall: { Idle: ['CLAIM', 'an address; nobody waits before'] },
  'dns-record-set': {
    Empty: ['SPEC_OBSERVED', 'the user; nothing is wanted before'],
    Failed: ['RECORDS_APPLIED', 'the zone, which tries again by itself'],
    Invalid: ['SPEC_OBSERVED', 'the user, who mends the spec'],
    Priming: ['CLUSTER_OBSERVED', 'the leader, which tells the facts to whatever it starts'],
    Published: ['CLUSTER_OBSERVED', 'the leader; all is well before'],
  },
  'vip-service': {
    'Bound.Settled': ['SERVICE_OBSERVED', 'the desk; all is well before'],
    Contended: ['SERVICE_OBSERVED', 'the desk, once what somebody else wrote is gone, or the Service asks for an address'],
    Pending: ['SERVICE_OBSERVED', 'the desk, once an address can be chosen'],
  },
  'virtual-ip': {
    Migrated: ['VIRTUAL_IP_OBSERVED', 'the user, who deletes it'],
    Priming: ['VIRTUAL_IP_OBSERVED', 'the desk, which tells it to whatever it begins'],
    Valid: ['VIRTUAL_IP_OBSERVED', 'the user, who asks for the migration'],
  },
};

/** Also without a target: what always holds is looked at after each event. */
const hears = (node: Node, type: string): boolean => node.transitions.has(type) || (node.parent ? hears(node.parent, type) : false);

/** The innermost state that hears the event is entered anew, or left. */
const resumes = (node: Node): boolean => {
  const transitions = node.transitions.get('RESUME');
  if (!transitions) return node.parent ? resumes(node.parent) : false;
  return transitions.every(({ target }) => (target ?? []).length > 0);
};

/** Asks somebody for something whenever it is entered, so that to resume it is to ask again. */
const asks = ({ invoke, entry }: Node): boolean => invoke.length > 0 || namesIn(entry).some((name) => name.startsWith('claim'));

describe.each(charts.map((chart) => [chart.name, chart] as const))('every wait of chart %s has an end:', (name, chart) => {
  const resting = new Set(restingStates(chart));
  const nodes = nodesOf(chart.machine.root).filter((node) => resting.has(node.path.join('.')) && node.type !== 'final');

  test('whoever is to end it is heard', () => {
    const endings = Object.entries(ENDED_BY_OTHERS[name] ?? {});
    const unheard = endings.filter(([path, [event]]) => !nodes.some((node) => node.path.join('.') === path && hears(node, event)));
    expect(unheard).toEqual([]);
  });

  test('there is a timer, what was asked for is asked for again, or it is known who ends it', () => {
    const alone = nodes.filter((node) => node.after.length === 0 && !asks(node)).map(({ path }) => path.join('.'));
    expect(alone.sort()).toEqual(Object.keys(ENDED_BY_OTHERS[name] ?? {}).sort());
  });

  test('what asks, or waits for a timer, does so anew when it is told to resume', () => {
    const deaf = nodes.filter((node) => (asks(node) || node.after.length > 0) && !resumes(node));
    expect(deaf.map(({ path }) => path.join('.'))).toEqual([]);
  });
});

test('no wait after a failure is longer than an hour, unless the provider asks for that', () => {
  const kinds: readonly ErrorKind[] = [
    'InProgress',
    'NodeInUse',
    'RateLimited',
    'Unavailable',
    'NotFound',
    'Conflict',
    'Unauthorized',
    'Invalid',
    'Unsupported',
  ];
  const reasons = [undefined, 'RoutedIPJobFailed', 'FirewallJobFailed', 'Forbidden', 'FirewallNotFound'] as const;
  const waits = kinds.flatMap((kind) =>
    reasons.flatMap((reason) =>
      [1, 5, 1000].map((attempt) => backoffMs(FLIPOP_BACKOFF, { kind, retryAfterMs: null, ...(reason && { reason }) }, attempt)),
    ),
  );
  expect(Math.max(...waits)).toBe(3_600_000);
  expect(Math.min(...waits)).toBeGreaterThan(0);
});
