import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const DOCS = join(import.meta.dirname, '../../docs');

/** The pages of docs/ that are played from beginning to end, and the test that plays each: see test/support/guide.ts. */
export const GUIDES = {
  'getting-started': 'test/node/guides.test.ts',
  'on-digitalocean-kubernetes': 'test/node/guides.test.ts',
  'on-your-own-machines': 'test/node/guides.test.ts',
  'migrating-from-flipop': 'test/node/guides-migrating.test.ts',
  'migrating-from-vip-allocator': 'test/node/guides-migrating.test.ts',
} as const;

export type Guide = keyof typeof GUIDES;

export const guideText = (name: Guide): string => readFileSync(join(DOCS, `${name}.md`), 'utf8');

/** One section of a page, from its heading to the next one of its rank. @throws Error when there is none */
export function sectionOf(page: string, heading: string): string {
  const [, section] = page.split(`\n## ${heading}\n`);
  if (section === undefined) throw new Error(`there is no section ${heading}`);
  return section.split('\n## ')[0] ?? '';
}
