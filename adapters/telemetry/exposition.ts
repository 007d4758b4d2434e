/** A metric with series for each of possibly thousands of objects. prom-client would keep an object per series, and render all of them in one
 *  go: these are rendered for each scrape while they are sent. */
export interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** All samples: name, labels, value. */
  readonly lines: () => Iterable<string>;
}

/** Characters rendered in one go and held in memory: some hundred samples. */
const PIECE = 32 * 1024;

/** `before`, then the families in prom-client's format: in pieces that are rendered on demand. */
export function* exposition(before: string, families: readonly Family[]): Generator<string> {
  let piece = before;
  for (const { name, type, help, lines } of families) {
    piece += `\n# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
    for (const line of lines()) {
      piece += `${line}\n`;
      if (piece.length < PIECE) continue;
      yield piece;
      piece = '';
    }
  }
  yield piece;
}

/** A label with its value. */
export const label = (name: string, value: string): string => `${name}="${NEEDS_ESCAPE.test(value) ? escaped(value) : value}"`;

const NEEDS_ESCAPE = /[\\\n"]/;

const escaped = (value: string): string => value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
