export type Style = 'plain' | 'strong' | 'dim' | 'good' | 'busy' | 'bad';

/** A piece of a line that is drawn alike. */
export interface Span {
  readonly text: string;
  readonly style: Style;
}

export type Line = readonly Span[];

export const line = (text: string, style: Style = 'plain'): Line => [{ text, style }];

/** The line without what does not fit. */
export function cut(spans: Line, columns: number): Line {
  let room = columns;
  return spans.flatMap(({ text, style }) => {
    const kept = text.slice(0, room);
    room -= kept.length;
    return kept === '' ? [] : [{ text: kept, style }];
  });
}

const CODES: Readonly<Record<Style, string>> = { plain: '', strong: '1', dim: '2', good: '32', busy: '33', bad: '31' };

/** The line as a terminal takes it. */
export const drawn = (spans: Line, colours: boolean): string =>
  spans.map(({ text, style }) => (colours && CODES[style] !== '' ? `\x1b[${CODES[style]}m${text}\x1b[0m` : text)).join('');
