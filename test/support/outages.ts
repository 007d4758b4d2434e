// Sections of docs/at-3-am.md that tell of an outage: a table of all that it shows, and, behind `Try it`, a block of commands that causes it in the demo and one that ends it.
import { readFileSync } from 'node:fs';
import { type Sample, samplesOf } from '../adapters/telemetry/scrape.ts';

export interface Outage {
  readonly title: string;
  /** Whom its commands break, as the log names them: `FloatingIPPool default/ingress-pool`. Empty where it is about the operator as a whole. */
  readonly objects: readonly string[];
  readonly alerts: readonly string[];
  /** What the objects of these kinds say; null where nothing can be said. */
  readonly condition: OutageCondition | null;
  /** Reasons of Events about the objects. */
  readonly events: readonly string[];
  readonly lines: readonly OutageLine[];
  readonly series: OutageSeries;
  readonly breaks: string;
  readonly ends: string;
}

export interface OutageCondition {
  readonly kinds: readonly string[];
  readonly type: string;
  readonly status: string;
  readonly reason: string;
}

/** A line of the log. */
export interface OutageLine {
  readonly message: string;
  /** Null for that of the condition or of an Event, where the line has one. */
  readonly reason: string | null;
}

/** A series that has the value, has at least that one, or grows. */
export interface OutageSeries {
  readonly sample: Sample;
  readonly relation: '==' | '>=' | 'grows';
}

const ROW = /^\| (\w+) \| (.+) \|$/gm;
const BLOCK = /^```sh\n([\s\S]*?)^```$/gm;

export const atThreeAm = (): string => readFileSync(new URL('../../docs/at-3-am.md', import.meta.url), 'utf8');

/** @throws Error where a section with a table lacks something */
export const outagesOf = (page: string): readonly Outage[] =>
  page
    .split(/^## /m)
    .filter((section) => section.includes('| Shows as | |'))
    .map(outageOf);

function outageOf(section: string): Outage {
  const [title = ''] = section.split('\n');
  const rows = new Map([...section.matchAll(ROW)].map(([, name = '', text = '']) => [name, text]));
  const row = (name: string): string => {
    const text = rows.get(name);
    if (text === undefined) throw new Error(`${title}: its table has no row ${name}`);
    return text.startsWith('none') ? '' : text;
  };
  const [, trial = ''] = section.split('\nTry it');
  const [breaks, ends] = [...trial.matchAll(BLOCK)].map(([, script = '']) => script);
  if (breaks === undefined || ends === undefined) throw new Error(`${title}: two blocks of commands have to follow Try it`);
  const objects = wordsIn(trial.split('\n')[0] ?? '').filter((word) => word.includes(' '));
  const condition = row('Condition') === '' ? null : conditionOf(row('Condition'));
  for (const kind of condition?.kinds ?? [])
    if (!objects.some((object) => object.startsWith(`${kind} `))) throw new Error(`${title}: Try it names no ${kind}`);
  return {
    title,
    objects,
    alerts: wordsIn(row('Alert')),
    condition,
    events: wordsIn(row('Event')),
    lines: [...row('Log').matchAll(/`([^`]+)`(?: \(`([^`]+)`\))?/g)].map(([, message = '', reason = null]) => ({ message, reason })),
    series: seriesOf(row('Metric')),
    breaks,
    ends,
  };
}

const wordsIn = (text: string): readonly string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word);

/** @throws Error when the text is none */
function conditionOf(text: string): OutageCondition {
  const [kinds = '', said = ''] = text.split(': ');
  const [condition = '', reason = ''] = wordsIn(said);
  const [type = '', status = ''] = condition.split('=');
  if (status === '' || reason === '') throw new Error(`no condition: ${text}`);
  return { kinds: wordsIn(kinds), type, status, reason };
}

/** @throws Error when the text is none */
function seriesOf(text: string): OutageSeries {
  const [, name, relation, value] = /^`(\S+) (==|>=) (\d+)`$/.exec(text) ?? /^`(\S+)` (grows)()$/.exec(text) ?? [];
  const [sample] = samplesOf(`${name} ${value || 0}`);
  if (!name || !sample) throw new Error(`no series: ${text}`);
  return { sample, relation: relation as OutageSeries['relation'] };
}

/** The samples of a scrape that are the series, of one that grows those that are more than in the scrape before. */
export const samplesOfSeries = (scrape: string, { sample, relation }: OutageSeries, former: string): readonly Sample[] => {
  const isIt = ({ name, labels }: Sample): boolean =>
    name === sample.name && Object.entries(sample.labels).every(([label, text]) => labels[label] === text);
  const before = samplesOf(former).filter(isIt);
  const valueBefore = ({ labels }: Sample): number =>
    before.find((each) => JSON.stringify(each.labels) === JSON.stringify(labels))?.value ?? 0;
  return samplesOf(scrape)
    .filter(isIt)
    .filter((each) => {
      if (relation === 'grows') return each.value > valueBefore(each);
      return relation === '>=' ? each.value >= sample.value : each.value === sample.value;
    });
};
