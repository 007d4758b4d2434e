import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

interface Rule {
  readonly description: string;
  readonly matchManagers?: readonly string[];
  readonly matchPackageNames?: readonly string[];
  readonly matchFileNames?: readonly string[];
}

const {
  packageRules,
  kubernetes,
}: { readonly packageRules: readonly Rule[]; readonly kubernetes: { readonly managerFilePatterns: readonly string[] } } = JSON.parse(
  read('renovate.json'),
);

/** Where something that Renovate moves may be named. */
const places = [
  ...globSync('{Dockerfile,docker-compose*.yml,package.json,tools/node24/package.json,deploy/*.yaml,deploy/chart/values.yaml}', {
    cwd: ROOT,
  }),
]
  .map(read)
  .join('\n');

const namesOf = ({ matchPackageNames = [] }: Rule): readonly string[] =>
  matchPackageNames.map((name) => name.replace(/\/?\*\*$/, '/').replace(/\/$/, ''));

test('every rule of renovate.json says what it is for and is about something that is here', () => {
  expect(packageRules.length).toBeGreaterThan(5);
  for (const rule of packageRules) {
    expect(rule.description).toMatch(/^[A-Z].*\.$/);
    expect([
      rule.description,
      namesOf(rule).filter((name) => places.includes(name)).length > 0 || rule.matchPackageNames === undefined,
    ]).toEqual([rule.description, true]);
    for (const pattern of rule.matchFileNames ?? [])
      expect([pattern, globSync(pattern, { cwd: ROOT }).length > 0]).toEqual([pattern, true]);
  }
  for (const pattern of kubernetes.managerFilePatterns)
    expect(existsSync(join(ROOT, pattern.replace(/^\/\^|\$\/$/g, '').replaceAll('\\', '')))).toBe(true);
});

test('every go.mod belongs to a group', () => {
  const globs = packageRules
    .filter(({ matchManagers }) => matchManagers?.includes('gomod'))
    .flatMap(({ matchFileNames = [] }) => matchFileNames);
  const grouped = new Set(globs.flatMap((pattern) => globSync(pattern, { cwd: ROOT })));
  const modules = globSync('tools/**/go.mod', { cwd: ROOT });
  expect(modules.length).toBeGreaterThan(3);
  expect(modules.filter((path) => !grouped.has(path))).toEqual([]);
});
