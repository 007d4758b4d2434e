import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseCommandLine } from '../adapters/cli/options.ts';

const ROOT = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

describe('Dockerfile', () => {
  const dockerfile = read('Dockerfile');
  const stages = dockerfile.split(/^FROM /m).slice(1);
  const [build, demo, playground, pruned] = ['build', 'demo', 'playground', 'pruned'].map((name) =>
    stages.find((stage) => stage.split('\n')[0]?.endsWith(` AS ${name}`)),
  );
  // What a build makes that names none.
  const shipped = stages.at(-1) ?? '';

  test('builds in one stage and ships in another, both on the Node that the project needs', () => {
    expect(stages).toHaveLength(5);
    const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } };
    const major = /\d+/.exec(engines.node)?.[0];
    for (const stage of [build, playground, shipped]) expect(stage).toMatch(new RegExp(`^\\S+/node:${major}-`));
    for (const stage of [demo, pruned]) expect(stage).toMatch(/^build AS /);
  });

  test('ships no development dependencies and nothing but what it copies by name', () => {
    expect(pruned).toContain('npm prune --omit=dev');
    expect(shipped).not.toMatch(/^COPY (?!--from=pruned)/m);
    expect(shipped).not.toMatch(/^COPY .*(simulator|demo)/m);
    expect(shipped).not.toMatch(/^RUN /m);
  });

  test('runs as a user without a name, by the command of the package', () => {
    for (const stage of [shipped, demo, playground]) expect(stage).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m);
    const entry = /^ENTRYPOINT \["node", (?:"--[\w=-]+", )*"\/app\/(.*)"\]$/m.exec(shipped)?.[1];
    expect(existsSync(join(ROOT, String(entry)))).toBe(true);
  });

  test('starts it with flags that it has', async () => {
    const command = JSON.parse(/^CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? '[]') as string[];
    expect(await parseCommandLine(command, {}, '0.1.0')).not.toBeNull();
  });

  test('plays the demo in a stage of its own', () => {
    const entry = /^ENTRYPOINT \["node", "(.*)"\]$/m.exec(demo ?? '')?.[1];
    expect(entry).toBe('demo/main.ts');
    expect(existsSync(join(ROOT, String(entry)))).toBe(true);
  });

  test('has the playground of a cluster in another, with nothing but the simulators', () => {
    const entry = /^ENTRYPOINT \["node", "(.*)"\]$/m.exec(playground ?? '')?.[1];
    expect(entry).toBe('demo/playground/main.ts');
    const copied = [...(playground ?? '').matchAll(/^COPY (?:--from=build )?(\S+)/gm)].map(([, path]) => path);
    expect(copied).toEqual(['package.json', 'simulator', 'demo/playground', '/src/node_modules/yaml']);
  });

  test('gets from the host what the build reads, and neither dependencies nor keys', () => {
    const ignored = read('.dockerignore').split('\n');
    expect(ignored).toContain('*');
    for (const path of [
      'package.json',
      'package-lock.json',
      '.npmrc',
      'tools',
      'bin',
      'main.ts',
      'composition',
      'machines',
      'actors',
      'adapters',
      'crds',
      'plugin',
      'dashboard',
      'simulator',
      'demo',
    ]) {
      expect(ignored).toContain(`!${path}`);
    }
    expect(ignored).toContain('**/node_modules');
    expect(ignored).not.toContain('!.env');
  });
});
