import { charts } from '../actors/controllers/chart-registry.ts';
import type { JournalEntry } from '../actors/ports/records.ts';
import { DEFAULT_SETTINGS } from '../actors/ports/settings.ts';
import type { Chart } from '../actors/runtime/charts.ts';
import { remembered } from '../actors/runtime/journal.ts';
import { fits, type Step, step } from '../actors/runtime/step.ts';
import { gather } from './objects.ts';
import { type Owner, ownersOf, ownerText } from './owners.ts';
import { EXIT, type ExitCode, type Session } from './ports.ts';
import { age, data, table } from './table.ts';

/** What the operator remembers of an address, oldest first. */
export interface Told {
  readonly owner: Owner;
  readonly entries: readonly JournalEntry[];
}

/** Path of what the operator serves beside its journal, through the API server. */
export const journalPath = ({ journalService: { namespace, service } }: Session, what: string): string =>
  `/api/v1/namespaces/${encodeURIComponent(namespace)}/services/${service}/proxy/${what}`;

/** Asks the operator, through the API server. @throws Error that says what is missing */
export async function readJournal(session: Session, owner: Owner): Promise<Told> {
  const answer = (await session.api.get(journalPath(session, `journal?actor=${encodeURIComponent(owner.actor)}`))) as {
    readonly entries?: readonly JournalEntry[];
  } | null;
  const { namespace, service } = session.journalService;
  if (!answer?.entries) {
    throw new Error(
      `the operator does not serve its journal: there is no Service ${service} in namespace ${namespace}. Apply deploy/journal.yaml and run the operator with ` +
        '--journal-bind-addr=:8084, or say by --journal-service where it is',
    );
  }
  return { owner, entries: [...answer.entries].reverse() };
}

/** The owner of an address and its journal. @throws Error when there is none */
async function toldOf(session: Session, address: string): Promise<Told> {
  const { objects, problems } = await gather(session, ['pools', 'routedIPs']);
  const [owner] = ownersOf(objects, address);
  if (!owner) throw new Error([...problems, `no FloatingIPPool and no RoutedIP that can be seen has ${address}`].join('; '));
  return readJournal(session, owner);
}

/** `kubectl routedip journal <address>` */
export async function journal(session: Session, { address }: { readonly address: string }): Promise<ExitCode> {
  const { owner, entries } = await toldOf(session, address);
  session.out(data(session, { address, actor: owner.actor, entries }) ?? headed(address, owner, journalText(entries, session.now)));
  return EXIT.ok;
}

const headed = (address: string, owner: Owner, lines: readonly string[]): readonly string[] => [
  `${address} of ${ownerText(owner)}`,
  '',
  ...lines,
];

export const journalText = (entries: readonly JournalEntry[], now: number): readonly string[] =>
  entries.length === 0
    ? ['The operator remembers nothing of it.']
    : table(
        ['TIME', 'AGE', 'WHAT HAPPENED', 'FROM', 'TO'],
        entries.map((entry) => [stamp(entry.at), age(now - entry.at), happened(entry), statePath(entry.from), statePath(entry.to)]),
      );

const stamp = (ms: number): string => new Date(ms).toISOString();

/** `assign done`, `after coolOff`; facts and messages by name, with the node that they are about. */
export function happened({ event, data }: Pick<JournalEntry, 'event' | 'data'>): string {
  const [, outcome, job] = /^xstate\.(done|error)\.actor\.(\w+)$/.exec(event) ?? [];
  if (job) return `${job} ${outcome === 'done' ? 'done' : `failed${kindOf(data)}`}`;
  const [, timer] = /^xstate\.after\.(\w+)/.exec(event) ?? [];
  if (timer) return `after ${timer}`;
  return event === 'init' ? 'begins' : `${event}${nodeIn(data)}`;
}

type Fields = Readonly<Record<string, unknown>>;
const fields = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});

const kindOf = (data: unknown): string => {
  const { kind } = fields(fields(data).error);
  return typeof kind === 'string' ? `: ${kind}` : '';
};

const nodeIn = (data: unknown): string => {
  const { name, node, eligible } = fields(data);
  const named = typeof name === 'string' ? name : fields(node).name;
  if (typeof named !== 'string') return '';
  return eligible === false ? ` ${named}, not eligible` : ` ${named}`;
};

/** A state value on one line. */
export function statePath(value: unknown): string {
  if (typeof value === 'string') return value;
  return Object.entries(fields(value))
    .map(([state, inner]) => [state, statePath(inner)].filter((part) => part !== '').join('.'))
    .join('|');
}

// ---------------------------------------------------------------- replay

interface Again {
  readonly entry: JournalEntry;
  readonly verdict: 'same' | 'differs' | 'begins' | 'unknown';
  /** Target state in this program's chart; null when it cannot be replayed. */
  readonly to: string | null;
  /** What else it did, or why it cannot be replayed. */
  readonly does: string;
}

/** `kubectl routedip replay <address>`: replays each recorded event on this program's chart. */
export async function replay(session: Session, { address }: { readonly address: string }): Promise<ExitCode> {
  const { owner, entries } = await toldOf(session, address);
  const again = replayed(entries);
  const differing = again.filter(({ verdict }) => verdict === 'differs').length;
  session.out(data(session, { address, actor: owner.actor, steps: again }) ?? headed(address, owner, replayText(again, session.now)));
  return differing === 0 ? EXIT.ok : EXIT.attention;
}

/** Replays each transition by itself, from its recorded state and context. */
export function replayed(entries: readonly JournalEntry[]): readonly Again[] {
  const chart = charts(DEFAULT_SETTINGS, () => 1).ip;
  if (!chart) throw new Error('there is no chart of addresses');
  return entries.map((entry) => takenAgain(chart, entry));
}

function takenAgain(chart: Chart, entry: JournalEntry): Again {
  if (entry.event === 'init') return { entry, verdict: 'begins', to: null, does: 'the address begins' };
  const known = remembered(entry);
  const unknown = (does: string): Again => ({ entry, verdict: 'unknown', to: null, does });
  if (!known) return unknown('the journal has only the states of this transition');
  if (entry.chart !== chart.version) return unknown(`recorded by version ${entry.chart} of the chart, this program has ${chart.version}`);
  if (!fits(chart, known.before)) return unknown('this program has no such state');
  const taken = step(chart, known.before, known.event);
  const to = statePath(taken.snapshot.value);
  return { entry, verdict: to === statePath(entry.to) ? 'same' : 'differs', to, does: doneBy(chart, taken) };
}

/** Jobs, timers and messages of a step, in words. */
function doneBy(chart: Chart, { starts, delays, effects, invoking }: Step): string {
  return [
    ...starts.filter(({ invokeId }) => invoking.has(invokeId)).map(({ job, input }) => `job: ${chart.job(job, input as never).title}`),
    ...delays.map(({ sendId, delayMs }) => `timer ${timerName(sendId)} in ${age(delayMs)}`),
    ...effects.flatMap((effect) => (effect.type === 'tell' ? `tells its pool ${effect.params.event.type}` : [])),
  ].join(', ');
}

/** `xstate.after.coolOff.ip.CoolOff` as named in the chart. */
const timerName = (sendId: string): string => /^xstate\.after\.(\w+)/.exec(sendId)?.[1] ?? sendId;

function replayText(steps: readonly Again[], now: number): readonly string[] {
  if (steps.length === 0) return ['The operator remembers nothing of it.'];
  const cells = steps.map(({ entry, verdict, to, does }) => [
    stamp(entry.at),
    age(now - entry.at),
    happened(entry),
    statePath(entry.from),
    statePath(entry.to),
    verdict === 'differs' ? `DIFFERS: ${to}` : verdict === 'unknown' ? 'not known' : verdict,
    does,
  ]);
  const count = (verdict: Again['verdict']) => steps.filter((each) => each.verdict === verdict).length;
  const [same, differ, unknown] = [count('same'), count('differs'), count('unknown')];
  const summary = [
    `${same} of ${same + differ} transitions came out the same`,
    ...(differ > 0 ? [`${differ} ${differ === 1 ? 'differs' : 'differ'}`] : []),
    ...(unknown > 0 ? [`of ${unknown} more the journal does not hold enough`] : []),
  ].join(', ');
  return [...table(['TIME', 'AGE', 'WHAT HAPPENED', 'FROM', 'TO', 'AGAIN', 'DID'], cells), '', `${summary}.`];
}
