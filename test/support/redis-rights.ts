import { readFileSync } from 'node:fs';

const PAGE = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8');

/** The rights that the documents say a user of Redis needs, for keys of any prefix: all that runs here runs under them. */
export const LEAST_RIGHTS: readonly string[] = rightsIn(PAGE);

function rightsIn(page: string): readonly string[] {
  const [, rules] = /^ACL SETUSER <user> on ><password> (~\{<prefix>\}\*.*)$/m.exec(page) ?? [];
  if (rules === undefined) throw new Error('docs/security.md does not say which rights a user of Redis needs');
  return rules.replace('<prefix>', '*').split(' ');
}
