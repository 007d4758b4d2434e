export interface Token {
  readonly kind: 'number' | 'duration' | 'string' | 'word' | 'sign' | 'end';
  readonly text: string;
}

/** In this order: a duration begins like a number, and the longer sign goes first. */
const FORMS: readonly (readonly [Token['kind'] | 'space', RegExp])[] = [
  ['space', /\s+|#[^\n]*/y],
  ['string', /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/y],
  ['duration', /(?:\d+(?:ms|[smhdwy]))+(?![\w.])/y],
  ['number', /(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?(?![\w.])/iy],
  ['word', /[a-zA-Z_][\w:]*/y],
  ['sign', /==|!=|>=|<=|=~|!~|[-+*/%^><=(){}[\],:]/y],
];

/** The tokens of a query in PromQL, with an `end` behind them. @throws Error at what is none */
export function tokensOf(query: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < query.length) {
    const found = firstForm(query, at);
    if (!found) throw new Error(`cannot be read from here on: ${query.slice(at)}`);
    at += found.text.length;
    if (found.kind !== 'space') tokens.push({ kind: found.kind, text: found.text });
  }
  return [...tokens, { kind: 'end', text: '' }];
}

function firstForm(query: string, at: number): { readonly kind: Token['kind'] | 'space'; readonly text: string } | null {
  for (const [kind, form] of FORMS) {
    form.lastIndex = at;
    const text = form.exec(query)?.[0];
    if (text) return { kind, text };
  }
  return null;
}
