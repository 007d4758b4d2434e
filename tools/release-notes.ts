/** What CHANGELOG.md says of one version. */
interface Section {
  /** As it stands there: a date, or `unreleased`. */
  readonly date: string;
  /** Markdown without the heading. */
  readonly text: string;
}

/** A change as Artifact Hub shows it. */
export interface Change {
  readonly kind: string;
  readonly description: string;
}

/** The headings of Keep a Changelog, which Artifact Hub has words for. */
const KINDS = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'];

/** The section of `version`; null when there is none. */
export const sectionOf = (changelog: string, version: string): Section | null => {
  const [, ...sections] = changelog.split(/^## /m);
  const found = sections.find((section) => section.startsWith(`[${version}]`));
  if (found === undefined) return null;
  const [heading = '', ...lines] = found.split('\n');
  return { date: heading.replace(/^\[[^\]]*\] *-? */, ''), text: lines.join('\n').trim() };
};

/** The items of a section in order. Lines that go on below an item belong to it; links become their text, since a list of changes has nowhere to go from. */
export const changesIn = (section: string): readonly Change[] => {
  const [, ...parts] = section.split(/^### /m);
  return parts.flatMap((part) => {
    const [heading = '', ...lines] = part.split('\n');
    if (!KINDS.includes(heading.trim())) throw new Error(`CHANGELOG.md: ### ${heading} is none of ${KINDS.join(', ')}`);
    const [, ...items] = lines.join('\n').split(/^- /m);
    return items.map((item) => ({ kind: heading.trim().toLowerCase(), description: plain(item) }));
  });
};

const plain = (markdown: string): string =>
  markdown
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\s+/g, ' ')
    .trim();
