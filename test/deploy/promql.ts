import { type Token, tokensOf } from './promql-tokens.ts';

/** A query in PromQL, as far as alerts and dashboards use the language. */
export type Expression =
  | { readonly kind: 'number' | 'string'; readonly text: string }
  | Selector
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly Expression[] }
  | Aggregation
  | Binary
  | Subquery;

export interface Selector {
  readonly kind: 'selector';
  readonly name: string;
  readonly matchers: readonly Matcher[];
  /** The range in brackets; null for an instant. */
  readonly range: string | null;
}

export interface Matcher {
  readonly label: string;
  readonly operator: '=' | '!=' | '=~' | '!~';
  readonly value: string;
}

export interface Subquery {
  readonly kind: 'subquery';
  readonly of: Expression;
  /** How far it looks back. */
  readonly range: string;
  /** How far apart it looks; null for as often as rules are evaluated. */
  readonly step: string | null;
}

export interface Aggregation {
  readonly kind: 'aggregation';
  readonly name: string;
  /** Absent: everything becomes one. */
  readonly grouping?: { readonly mode: 'by' | 'without'; readonly labels: readonly string[] };
  readonly of: Expression;
}

export interface Binary {
  readonly kind: 'binary';
  readonly operator: string;
  readonly left: Expression;
  readonly right: Expression;
  readonly matching?: { readonly mode: 'on' | 'ignoring'; readonly labels: readonly string[] };
  readonly group?: { readonly side: 'left' | 'right'; readonly include: readonly string[] };
}

const AGGREGATIONS = new Set(['sum', 'min', 'max', 'avg', 'count', 'stddev', 'group', 'topk', 'bottomk', 'quantile']);
const WITH_PARAMETER = new Set(['topk', 'bottomk', 'quantile']);
const PRECEDENCE: readonly (readonly string[])[] = [
  ['or'],
  ['and', 'unless'],
  ['==', '!=', '>', '<', '>=', '<='],
  ['+', '-'],
  ['*', '/', '%'],
];

/** @throws Error that says what is wrong, and where */
export function parsePromQL(query: string): Expression {
  return new Parser(query).whole();
}

class Parser {
  readonly #query: string;
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(query: string) {
    this.#query = query;
    this.#tokens = tokensOf(query);
  }

  whole(): Expression {
    const expression = this.#binary(0);
    if (this.#next.kind !== 'end') this.#fail('the end');
    return expression;
  }

  get #next(): Token {
    return this.#tokens[this.#at] ?? { kind: 'end', text: '' };
  }

  #fail(wanted: string): never {
    throw new Error(`${this.#query}: ${wanted} is wanted where "${this.#next.text}" stands`);
  }

  #is(text: string): boolean {
    return this.#next.text === text && this.#next.kind !== 'string';
  }

  #take(text: string): boolean {
    const found = this.#is(text);
    if (found) this.#at += 1;
    return found;
  }

  #expect(text: string): void {
    if (!this.#take(text)) this.#fail(text);
  }

  #of(kind: Token['kind']): string {
    const { text } = this.#next;
    if (this.#next.kind !== kind) this.#fail(`a ${kind}`);
    this.#at += 1;
    return text;
  }

  #binary(level: number): Expression {
    const operators = PRECEDENCE[level];
    if (!operators) return this.#postfixed();
    const take = () => operators.find((each) => this.#take(each));
    let left = this.#binary(level + 1);
    for (let operator = take(); operator; operator = take()) {
      this.#take('bool');
      const matching = this.#matching();
      left = { kind: 'binary', operator, left, ...matching, right: this.#binary(level + 1) };
    }
    return left;
  }

  #matching(): Pick<Binary, 'matching' | 'group'> {
    const mode = this.#oneOf('on', 'ignoring');
    const matching = mode && { mode, labels: this.#labels() };
    const grouped = this.#oneOf('group_left', 'group_right');
    if (!grouped) return matching ? { matching } : {};
    const include = this.#is('(') ? this.#labels() : [];
    return { ...(matching && { matching }), group: { side: grouped === 'group_left' ? 'left' : 'right', include } };
  }

  #oneOf<T extends string>(...words: readonly T[]): T | null {
    return words.find((word) => this.#take(word)) ?? null;
  }

  #postfixed(): Expression {
    const inBrackets = this.#is('(');
    let expression = this.#primary();
    while (this.#take('[')) expression = this.#ranged(expression, inBrackets);
    if (this.#take('offset')) this.#of('duration');
    return expression;
  }

  #ranged(of: Expression, inBrackets: boolean): Expression {
    const range = this.#of('duration');
    if (this.#take(':')) {
      const step = this.#is(']') ? null : this.#of('duration');
      this.#expect(']');
      return { kind: 'subquery', of, range, step };
    }
    if (of.kind !== 'selector' || inBrackets) this.#fail('a selector before a range');
    this.#expect(']');
    return { ...of, range };
  }

  #primary(): Expression {
    const { kind, text } = this.#next;
    if (this.#take('(')) return this.#closed();
    if (this.#take('-')) return this.#postfixed();
    if (kind === 'number' || kind === 'string') return { kind, text: this.#of(kind) };
    const name = this.#of('word');
    if (AGGREGATIONS.has(name)) return this.#aggregation(name);
    if (this.#take('(')) return { kind: 'call', name, args: this.#args() };
    return { kind: 'selector', name: text, matchers: this.#take('{') ? this.#matchers() : [], range: null };
  }

  #closed(): Expression {
    const inner = this.#binary(0);
    this.#expect(')');
    return inner;
  }

  #aggregation(name: string): Expression {
    const before = this.#grouping();
    this.#expect('(');
    const args = this.#args();
    const of = args.at(-1);
    if (!of || args.length !== (WITH_PARAMETER.has(name) ? 2 : 1)) throw new Error(`${this.#query}: ${name} has ${args.length} arguments`);
    const grouping = before ?? this.#grouping();
    return { kind: 'aggregation', name, of, ...(grouping && { grouping }) };
  }

  #grouping(): NonNullable<Aggregation['grouping']> | null {
    const mode = this.#oneOf('by', 'without');
    return mode && { mode, labels: this.#labels() };
  }

  #args(): readonly Expression[] {
    const args: Expression[] = [];
    while (!this.#take(')')) {
      if (args.length > 0) this.#expect(',');
      args.push(this.#binary(0));
    }
    return args;
  }

  #labels(): readonly string[] {
    const labels: string[] = [];
    this.#expect('(');
    while (!this.#take(')')) {
      if (labels.length > 0) this.#expect(',');
      labels.push(this.#of('word'));
    }
    return labels;
  }

  #matchers(): readonly Matcher[] {
    const matchers: Matcher[] = [];
    while (!this.#take('}')) {
      if (matchers.length > 0) this.#expect(',');
      const label = this.#of('word');
      const operator = this.#oneOf('=', '!=', '=~', '!~') ?? this.#fail('an operator');
      matchers.push({ label, operator, value: this.#of('string').slice(1, -1).replaceAll('\\\\', '\\') });
    }
    return matchers;
  }
}
