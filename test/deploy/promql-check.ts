import type { ScrapedMetric } from '../adapters/telemetry-scrape.ts';
import { type Aggregation, type Binary, type Expression, parsePromQL, type Selector } from './promql.ts';

export type Scrape = ReadonlyMap<string, ScrapedMetric>;

/** What a query answers, judged by a scrape. */
export interface Judgement {
  /** In which the query is wrong, as sentences; empty when it is right. */
  readonly problems: readonly string[];
  /** Labels of what it answers. */
  readonly labels: ReadonlySet<string>;
}

/** Over what a function may run: counters only grow, so a rate of anything else means nothing. */
const OVER_COUNTERS = new Set(['rate', 'irate', 'increase', 'resets']);
const OVER_GAUGES = new Set(['delta', 'idelta', 'deriv', 'changes', 'max_over_time', 'min_over_time', 'avg_over_time']);
const SCALARS = new Set(['vector', 'scalar', 'time']);
const PLAIN = new Set(['abs', 'absent', 'ceil', 'clamp_max', 'clamp_min', 'floor', 'histogram_quantile', 'round', 'sort', 'sort_desc']);
const WITHOUT_LABELS: ReadonlySet<string> = new Set();

/** Whether every series and label that a query names is in the scrape, and each function is given what it is for. Dashboards may use variables: as the
 *  value of a matcher, or `$__rate_interval` and `$__range` for a range. */
export function judge(query: string, scrape: Scrape): Judgement {
  const problems: string[] = [];
  const say = (problem: string): void => void problems.push(`${problem} in ${query}`);
  try {
    const expression = parsePromQL(query.replace(/\$__(rate_interval|interval|range)\b/g, '5m'));
    return { labels: labelsOf(expression, { scrape, say }), problems };
  } catch (error) {
    return { problems: [error instanceof Error ? error.message : String(error)], labels: WITHOUT_LABELS };
  }
}

interface Judging {
  readonly scrape: Scrape;
  readonly say: (problem: string) => void;
}

function labelsOf(expression: Expression, judging: Judging): ReadonlySet<string> {
  switch (expression.kind) {
    case 'number':
    case 'string':
      return WITHOUT_LABELS;
    case 'selector':
      return ofSelector(expression, judging);
    case 'subquery':
      return labelsOf(expression.of, judging);
    case 'call':
      return ofCall(expression, judging);
    case 'aggregation':
      return ofAggregation(expression, judging);
    case 'binary':
      return ofBinary(expression, judging);
  }
}

function metricOf(name: string, scrape: Scrape): ScrapedMetric | undefined {
  const whole = name.replace(/_(bucket|sum|count)$/, '');
  const metric = scrape.get(name) ?? (scrape.get(whole)?.type === 'histogram' ? scrape.get(whole) : undefined);
  return metric?.type === 'histogram' && whole === name ? undefined : metric;
}

function ofSelector({ name, matchers }: Selector, { scrape, say }: Judging): ReadonlySet<string> {
  const samples = metricOf(name, scrape)?.samples.filter((sample) => sample.name === name) ?? [];
  if (samples.length === 0) say(`there is no series ${name}`);
  const labels = new Set(samples.flatMap((sample) => Object.keys(sample.labels)));
  for (const { label, value } of matchers) {
    const seen = new Set(samples.map((sample) => sample.labels[label] ?? ''));
    const never = value.split('|').filter((each) => isPlain(each) && !seen.has(each));
    if (!labels.has(label)) say(`${name} has no label ${label}`);
    else for (const each of never) say(`${label} of ${name} is never "${each}"`);
  }
  return labels;
}

/** No variable, no pattern. */
const isPlain = (value: string): boolean => /^[\w:/.-]+$/.test(value) && !/[.][*+]/.test(value);

type Call = Extract<Expression, { kind: 'call' }>;

function ofCall(call: Call, judging: Judging): ReadonlySet<string> {
  const { name, args } = call;
  const labels = new Set(args.flatMap((arg) => [...labelsOf(arg, judging)]));
  const problem = misuse(call, judging.scrape);
  if (problem !== null) judging.say(problem);
  if (SCALARS.has(name) || name === 'absent') return WITHOUT_LABELS;
  if (name === 'histogram_quantile' && !labels.delete('le')) judging.say('histogram_quantile needs the label le');
  return labels;
}

/** Why a function is not for what it is given; null when it is. */
function misuse({ name, args }: Call, scrape: Scrape): string | null {
  const given = args.find((arg) => arg.kind === 'selector' || arg.kind === 'subquery');
  const isRange = given?.kind === 'subquery' || (given?.kind === 'selector' && given.range !== null);
  if (!OVER_COUNTERS.has(name) && !OVER_GAUGES.has(name)) {
    if (isRange) return `${name} takes no range`;
    return SCALARS.has(name) || PLAIN.has(name) ? null : `${name} is not known here`;
  }
  if (!isRange) return `${name} needs a range`;
  if (given.kind === 'subquery') return null;
  const isCounter = metricOf(given.name, scrape)?.type !== 'gauge';
  return isCounter === OVER_COUNTERS.has(name) ? null : `${name} is not for ${given.name}`;
}

function ofAggregation({ name, of, grouping }: Aggregation, judging: Judging): ReadonlySet<string> {
  const labels = labelsOf(of, judging);
  for (const label of grouping?.labels ?? []) if (!labels.has(label)) judging.say(`${label} is no label to group by`);
  if (name === 'topk' || name === 'bottomk') return labels;
  if (grouping?.mode === 'without') return new Set([...labels].filter((label) => !grouping.labels.includes(label)));
  return new Set(grouping?.labels ?? []);
}

function ofBinary(binary: Binary, judging: Judging): ReadonlySet<string> {
  const { left, right, operator, matching, group } = binary;
  const [ofLeft, ofRight] = [labelsOf(left, judging), labelsOf(right, judging)];
  const lost = (matching?.labels ?? []).filter((label) => !ofLeft.has(label) || !ofRight.has(label));
  for (const label of lost) judging.say(`${label} is no label of both sides`);
  if (!isVector(left)) return ofRight;
  if (!isVector(right)) return ofLeft;
  if (operator === 'or') return new Set([...ofLeft].filter((label) => ofRight.has(label)));
  if (operator === 'and' || operator === 'unless') return ofLeft;
  if (!matching && !sameLabels(ofLeft, ofRight)) judging.say(`the sides of ${operator} never match`);
  if (group) return new Set([...(group.side === 'left' ? ofLeft : ofRight), ...group.include]);
  return isComparison(operator) || !matching ? ofLeft : matchedBy(matching, ofLeft);
}

const matchedBy = ({ mode, labels }: NonNullable<Binary['matching']>, ofLeft: ReadonlySet<string>): ReadonlySet<string> =>
  mode === 'on' ? new Set(labels) : new Set([...ofLeft].filter((label) => !labels.includes(label)));

const isComparison = (operator: string): boolean => /[=<>]/.test(operator);

const isVector = (expression: Expression): boolean =>
  expression.kind === 'binary'
    ? isVector(expression.left) || isVector(expression.right)
    : expression.kind !== 'number' && !(expression.kind === 'call' && ['time', 'scalar'].includes(expression.name));

const sameLabels = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean => a.size === b.size && [...a].every((label) => b.has(label));
