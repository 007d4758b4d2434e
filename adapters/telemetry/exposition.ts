/** A metric that has series for each object, of which there may be thousands. prom-client would keep an object for each series, and look at and write all of them at a
 *  stretch: these are written anew for each scrape, as they are sent. */
export interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** All samples: the name, its labels, the value. */
  readonly lines: () => Iterable<string>;
}

/** Characters that are written at a stretch, and lie in memory: some hundred samples. */
const PIECE = 32 * 1024;

/** What stands before it, then the families, as prom-client would write them: in pieces that are made as they are taken. */
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
