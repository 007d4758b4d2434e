import { type Binary, type Expression, parsePromQL } from './promql.ts';

/** The sample of a series without labels at a time, s; null for none. */
export type Sample = (name: string, at: number) => number | null;

/** What a query about series without labels answers at a time, s; null for nothing. As far as the alerts that are tried out use the language.
 *  @throws Error for more */
export const answerAt = (query: string, at: number, sample: Sample): number | null => answerOf(parsed(query), at, sample);

const known = new Map<string, Expression>();
const parsed = (query: string): Expression => {
  const expression = known.get(query) ?? parsePromQL(query);
  known.set(query, expression);
  return expression;
};

const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

const secondsOf = (duration: string): number => {
  const [, count = '', unit = ''] = /^(\d+)([smhd])$/.exec(duration) ?? [];
  if (!Object.hasOwn(SECONDS, unit)) throw new Error(`${duration} is not tried out`);
  return Number(count) * SECONDS[unit as keyof typeof SECONDS];
};

function answerOf(expression: Expression, at: number, sample: Sample): number | null {
  switch (expression.kind) {
    case 'number':
      return Number(expression.text);
    case 'selector':
      return sample(expression.name, at);
    case 'aggregation':
      // Of one sample.
      if (!['max', 'min', 'sum'].includes(expression.name)) break;
      return answerOf(expression.of, at, sample);
    case 'call':
      if (expression.name !== 'changes') break;
      return changes(expression.args[0], at, sample);
    case 'binary':
      return combined(expression, answerOf(expression.left, at, sample), answerOf(expression.right, at, sample));
    case 'subquery':
    case 'string':
      break;
  }
  throw new Error(`${JSON.stringify(expression)} is not tried out`);
}

/** How often a value differs from the one before, gaps left out; null where there are none at all. */
function changes(over: Expression | undefined, at: number, sample: Sample): number | null {
  if (over?.kind !== 'subquery') throw new Error('changes is tried out over subqueries only');
  const [range, step] = [secondsOf(over.range), secondsOf(over.step ?? '1m')];
  // Steps are at whole multiples, whenever the query is asked.
  const last = Math.floor(at / step) * step;
  const values: number[] = [];
  for (let time = last - Math.floor((last - (at - range)) / step) * step; time <= last; time += step) {
    const value = answerOf(over.of, time, sample);
    if (value !== null) values.push(value);
  }
  return values.length === 0 ? null : values.filter((value, index) => index > 0 && value !== values[index - 1]).length;
}

function combined({ operator }: Binary, left: number | null, right: number | null): number | null {
  switch (operator) {
    case 'unless':
      return right === null ? left : null;
    case 'and':
      return right === null ? null : left;
    case 'or':
      return left ?? right;
    case '>':
      return left !== null && right !== null && left > right ? left : null;
    default:
      throw new Error(`${operator} is not tried out`);
  }
}
