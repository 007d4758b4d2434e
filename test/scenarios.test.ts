import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const FOLDERS = ['e2e', 'cluster'] as const;
type Folder = (typeof FOLDERS)[number];

const read = (folder: Folder, file: string): string => readFileSync(join(import.meta.dirname, folder, file), 'utf8');
const filesIn = (folder: Folder, end: string): readonly string[] =>
  readdirSync(join(import.meta.dirname, folder)).filter((file) => file.endsWith(end));

/** The scenario files that a file imports, as they are called in test/e2e. */
const importedBy = (text: string): readonly string[] =>
  [...text.matchAll(/from '(?:\.|\.\.\/e2e)\/([\w-]+\.scenario\.ts)'/g)].map(([, file]) => file ?? '');

/** All scenario files that the tests of a folder run, those that are parts of others among them. */
function runIn(folder: Folder): ReadonlySet<string> {
  const reached = new Set<string>();
  const follow = (text: string): void => {
    for (const file of importedBy(text).filter((each) => !reached.has(each))) {
      reached.add(file);
      follow(read('e2e', file));
    }
  };
  for (const file of filesIn(folder, '.test.ts')) follow(read(folder, file));
  return reached;
}

/** What a test file calls at its top: the scenarios that it registers. */
const callsIn = (text: string): readonly string[] => [...text.matchAll(/^(\w+Scenarios)\(/gm)].map(([, name]) => name ?? '');

/** What no real server can be told to do; why is said where they stand. */
const SIMULATED_ONLY: ReadonlySet<string> = new Set(['watchFaultScenarios']);

describe('every scenario', () => {
  const scenarios = filesIn('e2e', '.scenario.ts');

  test('is one of many', () => expect(scenarios.length).toBeGreaterThan(15));

  test.each(FOLDERS)('is run by a test in test/%s', (folder) => {
    expect(scenarios.filter((file) => !runIn(folder).has(file))).toEqual([]);
  });

  test('runs in files of the same name, which call the same, against the simulator and against a real API server', () => {
    const [simulated, real] = FOLDERS.map((folder) =>
      filesIn(folder, '.test.ts')
        .map((file) => ({ file, calls: callsIn(read(folder, file)).filter((name) => !SIMULATED_ONLY.has(name)) }))
        .filter(({ calls }) => calls.length > 0),
    );
    expect(simulated?.length).toBeGreaterThan(15);
    expect(real).toEqual(simulated);
    const all = filesIn('e2e', '.test.ts').flatMap((file) => callsIn(read('e2e', file)));
    expect([...SIMULATED_ONLY].filter((name) => !all.includes(name))).toEqual([]);
  });
});
