import { parse, stringify } from 'yaml';

/** As much of Helm's template language as the chart uses. Anything else is an error, so that the chart cannot outgrow it unseen. */

type Value = unknown;
type Scope = { readonly dot: Value; readonly root: Value; readonly variables: Map<string, Value> };

type Node =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'print'; readonly code: string }
  | { readonly type: 'set'; readonly code: string; readonly name: string }
  | { readonly type: 'branch'; readonly moves: boolean; readonly code: string; readonly body: Node[]; readonly otherwise: Node[] };

interface Frame {
  readonly nodes: Node[];
  readonly close: (nodes: Node[]) => void;
  otherwise?: Node[];
}

const isTrue = (value: Value): boolean =>
  Array.isArray(value) ? value.length > 0 : typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value);

/** A text as YAML, always in quotes, as Helm's `quote` has it. */
const quoted = (value: Value): string => JSON.stringify(String(value));

const indented = (spaces: number, text: string): string => text.replace(/^/gm, ' '.repeat(spaces));

const lookUp = (value: Value, path: readonly string[]): Value =>
  path.reduce<Value>((at, key) => {
    if (typeof at !== 'object' || at === null || !(key in at)) throw new Error(`the values have no ${path.join('.')}`);
    return (at as Readonly<Record<string, Value>>)[key];
  }, value);

const statementOf = (code: string): Node => {
  const [, name, value = ''] = /^\$(\w+) := (.*)$/.exec(code) ?? [];
  return name === undefined ? { type: 'print', code } : { type: 'set', code: value, name };
};

/** What stands open from `{{ if }}` or `{{ with }}` on, until its end puts it into `outer`. */
const branchOf = (statement: string, outer: Node[]): Frame => {
  const moves = statement.startsWith('with ');
  const code = statement.slice(statement.indexOf(' ') + 1);
  const frame: Frame = {
    nodes: [],
    close: (body) => outer.push({ type: 'branch', moves, code, body, otherwise: frame.otherwise ?? [] }),
  };
  return frame;
};

const closeLast = (stack: Frame[]): void => {
  const frame = stack.pop();
  if (!frame || stack.length === 0) throw new Error('an {{ end }} ends nothing');
  frame.close(frame.nodes);
};

const parsed = (text: string): Node[] => {
  const trimmed = text.replace(/\s*\{\{- /g, '{{ ').replace(/ -\}\}\s*/g, ' }}');
  const top: Frame = { nodes: [], close: () => undefined };
  const stack = [top];
  const last = (): Frame => stack.at(-1) ?? top;
  const into = (): Node[] => last().otherwise ?? last().nodes;
  for (const part of trimmed.split(/(\{\{ .*? \}\})/)) {
    const code = /^\{\{ (.*) \}\}$/.exec(part)?.[1];
    if (code === undefined) into().push({ type: 'text', text: part });
    else if (code === 'else') last().otherwise = [];
    else if (code === 'end') closeLast(stack);
    else if (/^(if|with) /.test(code)) stack.push(branchOf(code, into()));
    else into().push(statementOf(code));
  }
  if (stack.length !== 1) throw new Error('an {{ if }} or {{ with }} has no end');
  return top.nodes;
};

const TOKEN = /"(?:[^"\\]|\\.)*"|[()|]|[^\s()|"]+/g;

/** Renders the templates of one chart. @throws Error on what this language does not have, and on what `required` asks for */
export class GoTemplates {
  readonly #defined = new Map<string, Node[]>();

  constructor(helpers: string) {
    for (const [, name = '', body = ''] of helpers.matchAll(
      /\{\{- define "([^"]+)" -\}\}\n([\s\S]*?)\{\{- end \}\}\n(?=\n\{\{- define|$)/g,
    )) {
      this.#defined.set(name, parsed(body.trimEnd()));
    }
  }

  render(text: string, root: Value): string {
    return this.#run(parsed(text), { dot: root, root, variables: new Map() });
  }

  #run(nodes: readonly Node[], scope: Scope): string {
    return nodes
      .map((node) => {
        if (node.type === 'text') return node.text;
        const value = this.#pipeline([...(node.code.match(TOKEN) ?? [])], scope);
        if (node.type === 'print') return String(value);
        if (node.type === 'set') {
          scope.variables.set(`$${node.name}`, value);
          return '';
        }
        const inner = node.moves && isTrue(value) ? { ...scope, dot: value } : scope;
        return this.#run(isTrue(value) ? node.body : node.otherwise, inner);
      })
      .join('');
  }

  /** Takes tokens up to the end or the closing bracket. */
  #pipeline(tokens: string[], scope: Scope): Value {
    let piped: readonly Value[] = [];
    for (;;) {
      const words: Value[] = [];
      const first = tokens[0] ?? '';
      const called = /^[a-zA-Z]+$/.test(first) ? tokens.shift() : undefined;
      while (tokens.length > 0 && tokens[0] !== '|' && tokens[0] !== ')') words.push(this.#operand(tokens, scope));
      const value = called === undefined ? words[0] : this.#call(called, [...words, ...piped]);
      if (tokens[0] !== '|') return value;
      tokens.shift();
      piped = [value];
    }
  }

  #operand(tokens: string[], scope: Scope): Value {
    const token = tokens.shift() ?? '';
    if (token === '(') {
      const value = this.#pipeline(tokens, scope);
      tokens.shift();
      return value;
    }
    if (token.startsWith('"')) return JSON.parse(token);
    if (/^\d+$/.test(token)) return Number(token);
    if (token === '.') return scope.dot;
    if (token === '$') return scope.root;
    const [head = '', ...path] = token.split('.');
    return lookUp(head === '' ? scope.dot : head === '$' ? scope.root : scope.variables.get(head), path);
  }

  #call(name: string, given: readonly Value[]): Value {
    const [a, b] = given;
    if (name === 'include') return this.#include(String(a), b);
    const functions: Readonly<Record<string, () => Value>> = {
      quote: () => quoted(a),
      eq: () => a === b,
      not: () => !isTrue(a),
      and: () => given.find((each) => !isTrue(each)) ?? given.at(-1),
      default: () => (isTrue(b) ? b : a),
      join: () => (b as readonly string[]).join(String(a)),
      trim: () => String(a).trim(),
      trimSuffix: () => (String(b).endsWith(String(a)) ? String(b).slice(0, -String(a).length) : b),
      toYaml: () => stringify(a).trimEnd(),
      nindent: () => `\n${indented(Number(a), String(b))}`,
      dict: () => Object.fromEntries(given.flatMap((key, at) => (at % 2 === 0 ? [[String(key), given[at + 1]]] : []))),
      required: () => {
        if (!isTrue(b)) throw new Error(String(a));
        return b;
      },
    };
    const found = functions[name];
    if (!found) throw new Error(`this language has no ${name}`);
    return found();
  }

  #include(name: string, dot: Value): string {
    const nodes = this.#defined.get(name);
    if (!nodes) throw new Error(`the chart defines no ${name}`);
    return this.#run(nodes, { dot, root: dot, variables: new Map() });
  }
}

/** `values` with those of `over` in their places, as Helm merges them. */
export const mergedValues = (values: Value, over: Value): Value => {
  const isMap = (value: Value): value is Readonly<Record<string, Value>> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isMap(values) || !isMap(over)) return over;
  const keys = new Set([...Object.keys(values), ...Object.keys(over)]);
  return Object.fromEntries([...keys].map((key) => [key, key in over ? mergedValues(values[key], over[key]) : values[key]]));
};

/** What Helm hands to a template: the values of a file, and what the release and the chart are. */
export const releaseOf = (valuesFile: string, chartFile: string, namespace: string, over: Value = {}): Value => {
  const { name, appVersion }: { name: string; appVersion: string } = parse(chartFile);
  return {
    Values: mergedValues(parse(valuesFile), over),
    Release: { Name: name, Namespace: namespace },
    Chart: { Name: name, AppVersion: appVersion },
  };
};
