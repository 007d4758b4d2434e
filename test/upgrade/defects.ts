import type { CallKind, History, Json, ProviderCall, StatusRecord } from './history.ts';

/** How a sound history would have gone wrong, and what its rule then says of it. */
interface Defect {
  readonly rule: string;
  readonly what: string;
  readonly spoil: (history: History) => History;
  readonly says: RegExp;
}

type Fields = { readonly [field: string]: Json | undefined };

function firstOf(kind: CallKind, calls: readonly ProviderCall[]): ProviderCall {
  const found = calls.find((call) => call.kind === kind && call.accepted === true);
  if (!found) throw new Error(`nobody made a call of the kind ${kind}`);
  return found;
}

/** A call as the first one of its kind that was accepted, which is about something quiet, at the end of all. */
const once =
  (kind: CallKind, change: Partial<ProviderCall>) =>
  (history: History): History => {
    const { calls } = history;
    return { ...history, calls: [...calls, { ...firstOf(kind, calls), at: Number.MAX_SAFE_INTEGER, ...change }] };
  };

/** The same call a moment after it. */
const twice =
  (kind: CallKind) =>
  (history: History): History => {
    const call = firstOf(kind, history.calls);
    return { ...history, calls: history.calls.flatMap((one) => (one === call ? [one, { ...one }] : [one])) };
  };

/** The object is told of once more, with another status. */
const status =
  (object: string, change: (fields: Fields) => Fields | null) =>
  (history: History): History => {
    const last = history.statuses.findLast((one) => one.object === object);
    if (!last) throw new Error(`nobody was told of ${object}`);
    const isQuiet = object.includes(' quiet');
    const next: StatusRecord = { ...last, isQuiet, at: Number.MAX_SAFE_INTEGER, status: change(last.status as Fields) };
    return { ...history, statuses: [...history.statuses, next] };
  };

/** An address of the pool that is told of once more. */
const address = (change: (fields: Fields) => Fields | undefined) =>
  status('FloatingIPPool ingress', (fields) => {
    const ips = fields.ips as Fields;
    const [name = ''] = Object.keys(ips);
    return { ...fields, ips: { ...ips, [name]: change(ips[name] as Fields) } };
  });

const first = <T>(list: readonly T[], change: (one: T) => T): readonly T[] => list.map((one, index) => (index === 0 ? change(one) : one));

const MOVES = 'nothing moves that need not';
const CREATED = 'nothing is created twice';
const KEPT = 'no status is lost';
const TRUE = 'no status is untrue';
const STALLS = 'nobody stalls';

export const DEFECTS: readonly Defect[] = [
  {
    rule: MOVES,
    what: 'an address leaves a node that is well',
    spoil: once('assign', { node: 'n01' }),
    says: /was moved from \w+, which was well, to n01/,
  },
  { rule: MOVES, what: 'an address is assigned twice', spoil: twice('assign'), says: /was assigned to \w+ twice/ },
  { rule: MOVES, what: 'an address is unassigned', spoil: once('assign', { kind: 'unassign' }), says: /was unassigned/ },
  {
    rule: CREATED,
    what: 'one more address is created',
    spoil: (history) => ({
      ...history,
      stages: first(history.stages, (stage) => ({ ...stage, rest: { ...stage.rest, created: stage.rest.created + 1 } })),
    }),
    says: /at the end of stage 1 \d+ addresses had been created/,
  },
  {
    rule: CREATED,
    what: 'a DNS record is added that is there',
    spoil: twice('dns+'),
    says: /^record .* was added by \w+ though it was there/,
  },
  {
    rule: CREATED,
    what: 'a port is opened that is open',
    spoil: twice('firewall+'),
    says: /^firewall .* was added by \w+ though it was there/,
  },
  {
    rule: CREATED,
    what: 'two Services list one address',
    spoil: (history) => ({ ...history, doubles: ['a lists 10.4.0.1 while b does'] }),
    says: /while b does/,
  },
  {
    rule: KEPT,
    what: 'a status loses a field',
    spoil: status('FloatingIPPool ingress', ({ lastAssignmentTime: _, ...rest }) => rest),
    says: /FloatingIPPool ingress: lastAssignmentTime went/,
  },
  {
    rule: KEPT,
    what: 'a status loses a condition',
    spoil: status('RoutedIP shop', (fields) => ({ ...fields, conditions: (fields.conditions as Json[]).slice(1) })),
    says: /RoutedIP shop: condition \w+ went/,
  },
  { rule: KEPT, what: 'a pool loses an address', spoil: address(() => undefined), says: /address [\d.]+ went/ },
  { rule: KEPT, what: 'an address loses its origin', spoil: address(({ origin: _, ...rest }) => rest), says: /origin went/ },
  {
    rule: KEPT,
    what: 'an address has another origin',
    spoil: address((fields) => ({ ...fields, origin: 'Adopted' })),
    says: /origin was "\w+" and is "Adopted"/,
  },
  {
    rule: KEPT,
    what: 'elections are counted anew',
    spoil: address((fields) => ({ ...fields, epoch: 0 })),
    says: /epoch went from \d+ back to 0/,
  },
  {
    rule: KEPT,
    what: 'an address is not active though its node is well',
    spoil: address((fields) => ({ ...fields, state: 'no-match' })),
    says: /was active on \w+, which is well, and is no-match/,
  },
  {
    rule: KEPT,
    what: 'a time goes back',
    spoil: status('RoutedIP shop', (fields) => ({ ...fields, lastAssignmentTime: '2020-01-01T00:00:00.000Z' })),
    says: /lastAssignmentTime went from .* back to/,
  },
  {
    rule: KEPT,
    what: 'the status of something quiet changes',
    spoil: status('NodeDNSRecordSet quiet', (fields) => ({ ...fields, records: 3 })),
    says: /NodeDNSRecordSet quiet: .records was 6 and is 3/,
  },
  {
    rule: KEPT,
    what: 'a Service lists another address',
    spoil: status('Service quiet-vip', () => ({ loadBalancer: { ingress: [{ ip: '10.4.0.9', ipMode: 'VIP' }] } })),
    says: /Service quiet-vip: .loadBalancer.ingress.0.ip was "10.4.0.0" and is "10.4.0.9"/,
  },
  { rule: KEPT, what: 'an object is deleted', spoil: status('RoutedIP quiet', () => null), says: /RoutedIP quiet: it was deleted/ },
  {
    rule: KEPT,
    what: 'nobody knows who opened a port',
    spoil: (history) => ({
      ...history,
      stages: first(history.stages, (stage) => ({ ...stage, rest: { ...stage.rest, unowned: ['tcp/30080'] } })),
    }),
    says: /no status says that tcp\/30080 was opened/,
  },
  {
    rule: TRUE,
    what: 'a pool says that an address is where it is not',
    spoil: address((fields) => ({ ...fields, nodeName: 'q01' })),
    says: /FloatingIPPool ingress says that [\d.]+ is on q01, and it was led to/,
  },
  {
    rule: TRUE,
    what: 'a RoutedIP says so',
    spoil: status('RoutedIP shop', (fields) => ({ ...fields, assignedNode: 'q01' })),
    says: /RoutedIP shop says that [\d.]+ is on q01, and it was led to/,
  },
  {
    rule: TRUE,
    what: 'a Job has led an address before it had a Pod',
    spoil: (history) => ({
      ...history,
      acts: history.acts.map((act) => (act.stage === 2 && act.notBeforeMs > 0 ? { ...act, to: act.from + 1 } : act)),
    }),
    says: /stage 2: a RoutedIP that Jobs drive fails over: said to be done before/,
  },
  {
    rule: STALLS,
    what: 'something never ends',
    spoil: (history) => ({ ...history, acts: first(history.acts, (act) => ({ ...act, to: null })) }),
    says: /never$/,
  },
  {
    rule: STALLS,
    what: 'something takes too long',
    spoil: (history) => ({ ...history, acts: first(history.acts, (act) => ({ ...act, to: act.from + act.deadlineMs + 1 })) }),
    says: /ms, more than/,
  },
  {
    rule: STALLS,
    what: 'a process complains',
    spoil: (history) => ({ ...history, processes: first(history.processes, (one) => ({ ...one, complaints: ['a stack'] })) }),
    says: /old 1 complains: a stack/,
  },
  {
    rule: STALLS,
    what: 'a process is not ready for long',
    spoil: (history) => ({
      ...history,
      processes: first(history.processes, (one) => ({ ...one, unready: [{ answer: '503 redis', from: 0, to: 60_000 }] })),
    }),
    says: /old 1 is not ready: 503 redis/,
  },
  {
    rule: STALLS,
    what: 'a process does not end as it was asked to',
    spoil: (history) => ({ ...history, processes: first(history.processes, (one) => ({ ...one, ended: 'SIGSEGV' })) }),
    says: /old 1 ended with SIGSEGV and not with/,
  },
];
