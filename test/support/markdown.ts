/** As much of Markdown as the tests of the documentation read. */

const FENCE = /^(```|~~~)[^\n]*\n[\s\S]*?^\1\s*$/gm;

const withoutCode = (text: string): string => text.replace(FENCE, '').replace(/`[^`\n]*`/g, '');

/** Where links and pictures lead, as written; those in code are none. */
export const linksOf = (text: string): readonly string[] =>
  [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target ?? '');

/** The anchors that GitHub gives to the headings. */
export const anchorsOf = (text: string): readonly string[] => {
  const seen = new Map<string, number>();
  return [...text.replace(FENCE, '').matchAll(/^#{1,6} (.+?)\s*$/gm)].map(([, heading = '']) => {
    const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '');
    const slug = plain
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-');
    const before = seen.get(slug) ?? 0;
    seen.set(slug, before + 1);
    return before === 0 ? slug : `${slug}-${before}`;
  });
};

/** Everything that is written as code, in blocks and in lines. */
export const codeOf = (text: string): string =>
  [...text.matchAll(FENCE)]
    .map(([block]) => block)
    .concat([...text.replace(FENCE, '').matchAll(/`[^`\n]+`/g)].map(([span]) => span))
    .join('\n');

/** What is in the fenced blocks of that language, in their order. */
export const blocksOf = (text: string, language: string): readonly string[] =>
  [...text.matchAll(FENCE)]
    .map(([block]) => block.trim().split('\n'))
    .filter(([first = '']) => first.replace(/^[`~]+/, '').trim() === language)
    .map((lines) => lines.slice(1, -1).join('\n'));

/** Files of the project that are named in a line as code: `actors/runtime/turn.ts`, `docs/adr/`. Those with a placeholder or of other projects' making are none. */
export const namedPaths = (text: string): readonly string[] =>
  [...text.replace(FENCE, '').matchAll(/`([\w.-]+\/[\w./-]*|[\w-]+\.(?:ts|yaml|md|json|yml))`/g)]
    .map(([, path]) => path ?? '')
    .filter((path) => OURS.test(path));

const OURS =
  /^(machines|actors|adapters|crds|simulator|dashboard|demo|tools|bench|bin|deploy|docs|test|\.ci)\/|^[\w-]+\.(ts|yaml|md|json|yml)$/;
