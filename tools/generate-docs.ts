import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type GeneratedFile, generate } from './generated-files.ts';

const ROOT = join(import.meta.dirname, '..');

/** One row of the command line's help: a flag or a variable, and what is said of it. */
export interface HelpEntry {
  readonly term: string;
  readonly text: string;
}

/** What `run --help` prints. The command itself is asked: what a user is told and what the page says cannot differ. */
const help = (): string => {
  const { COLUMNS: _, ...env } = process.env;
  const done = spawnSync(process.execPath, [join(ROOT, 'bin/routedip-operator.mjs'), 'run', '--help'], { encoding: 'utf8', env });
  if (done.status !== 0) throw new Error(`the operator's --help failed: ${done.stderr}`);
  return done.stdout;
};

/** The entries under `title:`, in their order; a line that is indented further goes on with the one before. @throws Error when there are none */
export const entriesOf = (text: string, title: string): readonly HelpEntry[] => {
  const lines = text.split('\n');
  const first = lines.indexOf(`${title}:`) + 1;
  const end = lines.indexOf('', first);
  const entries: { term: string; text: string }[] = [];
  for (const line of first === 0 ? [] : lines.slice(first, end === -1 ? undefined : end)) {
    const [, term, said] = /^ {2}(\S.*?) {2,}(\S.*)$/.exec(line) ?? [];
    const last = entries.at(-1);
    if (term !== undefined && said !== undefined) entries.push({ term, text: said });
    else if (last) last.text = `${last.text} ${line.trim()}`;
  }
  if (entries.length === 0) throw new Error(`--help says nothing under ${title}`);
  return entries;
};

/** What the parser of the command line adds for itself and no reader needs. */
const ASIDE = / \(preset: [^)]*\)/;
const ADDRESS = /\b(?:https?|rediss?):\/\/[^\s)]*[^\s).,]/g;

const rowOf = ({ term, text }: HelpEntry): string =>
  `| \`${term.replaceAll('|', '\\|')}\` | ${text.replace(ASIDE, '').replace(/ +/g, ' ').replace(ADDRESS, '`$&`').replaceAll('|', '\\|')} |`;

const tableOf = (heading: string, entries: readonly HelpEntry[]): string =>
  [`| ${heading} | Meaning |`, '|---|---|', ...entries.map(rowOf)].join('\n');

/** `text` with new content between each pair of markers. @throws Error when a pair is missing */
export const withSections = (text: string, sections: Readonly<Record<string, string>>): string =>
  Object.entries(sections).reduce((page, [name, content]) => {
    const begin = `<!-- generated: ${name}; change its source and run npm run generate -->\n`;
    const end = `\n<!-- end of ${name} -->`;
    const [from, to] = [page.indexOf(begin), page.indexOf(end)];
    if (from === -1 || to === -1) throw new Error(`the page has no place for ${name}: it needs the lines\n${begin}${end.trim()}`);
    return `${page.slice(0, from + begin.length)}\n${content}\n${page.slice(to)}`;
  }, text);

/** docs/configuration.md as it should be: what people wrote, with the tables of flags and variables. */
export const configurationPage = (): GeneratedFile => {
  const path = join(ROOT, 'docs/configuration.md');
  const said = help();
  const sections = {
    flags: tableOf('Flag', entriesOf(said, 'Options')),
    environment: tableOf('Variable', entriesOf(said, 'Environment')),
  };
  return { path, text: withSections(readFileSync(path, 'utf8'), sections) };
};

if (import.meta.main) process.exitCode = generate([configurationPage()], process.argv.slice(2));
