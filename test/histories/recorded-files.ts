import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '../../actors/ports/settings.ts';
import type { Line } from './recorded-journal.ts';

/** Recordings stand in numbered sets. A set belongs to the versions that the charts had; the newest one is that of today's. */
const FOLDER = join(import.meta.dirname, 'recorded');

export interface Journal {
  /** Under which the charts ran, as far as they ask for any. */
  readonly settings: Partial<Settings>;
  readonly lines: readonly Line[];
}

export const sets = (): readonly number[] =>
  existsSync(FOLDER)
    ? readdirSync(FOLDER)
        .map(Number)
        .sort((a, b) => a - b)
    : [];

export const newestSet = (): number | null => sets().at(-1) ?? null;

/** The recordings of a set, by name. */
export function readSet(set: number): ReadonlyMap<string, Journal> {
  const folder = join(FOLDER, String(set));
  return new Map(readdirSync(folder).map((file) => [file.replace(/\.jsonl$/, ''), parsed(readFileSync(join(folder, file), 'utf8'))]));
}

/** The set that new recordings go to: the newest, unless a chart has another version by now than in that. */
export function openSet(newest: number | null, former: ReadonlyMap<string, Journal>, fresh: ReadonlyMap<string, Journal>): number {
  if (newest === null) return 1;
  const versions = (journals: ReadonlyMap<string, Journal>) =>
    new Set([...journals.values()].flatMap(({ lines }) => lines.map(({ chart, version }) => `${chart} ${version}`)));
  const known = versions(former);
  const raised = [...versions(fresh)].some(
    (each) => !known.has(each) && [...known].some((other) => other.split(' ')[0] === each.split(' ')[0]),
  );
  return raised ? newest + 1 : newest;
}

/** Puts the recordings in the place of all that the set held. Answers how many bytes they are. */
export function writeSet(set: number, journals: ReadonlyMap<string, Journal>): number {
  const folder = join(FOLDER, String(set));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  let bytes = 0;
  for (const [name, journal] of journals) {
    const text = textOf(journal);
    writeFileSync(join(folder, `${name}.jsonl`), text);
    bytes += Buffer.byteLength(text);
  }
  return bytes;
}

/** The settings first, then a line each. */
export const textOf = ({ settings, lines }: Journal): string => [settings, ...lines].map((each) => `${JSON.stringify(each)}\n`).join('');

function parsed(text: string): Journal {
  const [settings, ...lines] = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  return { settings, lines };
}
