// Sections of docs/at-3-am.md that tell of an outage: a table of all that it shows, and, behind `Try it`, a block of commands that causes it in the demo and one that ends it.
import { readFileSync } from 'node:fs';
import { type Sample, samplesOf } from '../adapters/telemetry-scrape.ts';

export interface Outage {
  readonly title: string;
  /** The first one that its table names. */
  readonly alert: string;
  /** What the objects of these kinds say; null where nothing can be said. */
  readonly condition: OutageCondition | null;
  /** The reason of an Event; null for none. */
  readonly event: string | null;
  /** Messages of the log. */
  readonly messages: readonly string[];
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

/** A series that has the value, or at least that one. */
export interface OutageSeries {
  readonly sample: Sample;
  readonly isLeast: boolean;
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
    return text;
  };
  const [, trial] = section.split('\nTry it');
  const [breaks, ends] = [...(trial ?? '').matchAll(BLOCK)].map(([, script = '']) => script);
  if (breaks === undefined || ends === undefined) throw new Error(`${title}: two blocks of commands have to follow Try it`);
  return {
    title,
    alert: wordsIn(row('Alert'))[0] ?? '',
    condition: row('Condition').startsWith('none: ') ? null : conditionOf(row('Condition')),
    event: row('Event').startsWith('none, ') ? null : (wordsIn(row('Event'))[0] ?? ''),
    messages: wordsIn(row('Log')),
    series: seriesOf(wordsIn(row('Metric'))[0] ?? ''),
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
  const [, name = '', comparison = '', value = ''] = /^(\S+) (==|>=) (\d+)$/.exec(text) ?? [];
  const [sample] = samplesOf(`${name} ${value}`);
  if (!sample) throw new Error(`no series: ${text}`);
  return { sample, isLeast: comparison === '>=' };
}

/** The samples of a scrape that are the series. */
export const samplesOfSeries = (scrape: string, { sample: { name, labels, value }, isLeast }: OutageSeries): readonly Sample[] =>
  samplesOf(scrape).filter(
    (sample) =>
      sample.name === name &&
      Object.entries(labels).every(([label, text]) => sample.labels[label] === text) &&
      (isLeast ? sample.value >= value : sample.value === value),
  );
