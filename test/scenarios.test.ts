import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const read = (folder: string, file: string): string => readFileSync(join(import.meta.dirname, folder, file), 'utf8');
const scenarios = readdirSync(join(import.meta.dirname, 'e2e')).flatMap((file) => /^(.+)\.scenario\.ts$/.exec(file)?.[1] ?? []);

/** The names of the files in `folder` that run a scenario. */
const runIn = (folder: 'e2e' | 'cluster'): readonly string[] =>
  readdirSync(join(import.meta.dirname, folder)).filter((file) => file.endsWith('.test.ts') && read(folder, file).includes('.scenario.ts'));

describe('every scenario', () => {
  test('is one of many', () => expect(scenarios.length).toBeGreaterThan(15));

  test.each(scenarios)('%s runs against the simulator and against a real API server', (name) => {
    const [, exported] = /^export (?:const|function) (\w+Scenarios)\b/m.exec(read('e2e', `${name}.scenario.ts`)) ?? [];
    expect(exported).toBeDefined();
    for (const folder of ['e2e', 'cluster'] as const) {
      expect(runIn(folder)).toContain(`${name}.test.ts`);
      const text = read(folder, `${name}.test.ts`);
      expect(text).toContain(`${folder === 'e2e' ? './' : '../e2e/'}${name}.scenario.ts`);
      expect(text).toContain(`${exported}();`);
    }
  });
});
