import { readFileSync } from 'node:fs';

/** A series as docs/metrics.md has it. */
export interface DocumentedSeries {
  readonly name: string;
  readonly type: string;
  /** Sorted. */
  readonly labels: readonly string[];
  readonly meaning: string;
}

/** Every series of the tables of docs/metrics.md. */
export function documentedSeries(): readonly DocumentedSeries[] {
  const page = readFileSync(new URL('../../../docs/metrics.md', import.meta.url), 'utf8');
  const rows = page.split('\n').filter((line) => line.startsWith('| `'));
  return rows.flatMap((row) => {
    const [, names = '', type = '', labels = '', meaning = ''] = row.split('|').map((cell) => cell.trim());
    const listed = labels === '' ? [] : labels.split(', ').sort();
    return [...names.matchAll(/`([a-z_0-9]+)`/g)].map(([, name = '']) => ({ name, type, labels: listed, meaning }));
  });
}
