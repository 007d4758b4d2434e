import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';
import { ROOT } from './root.mjs';

/** The programs, each with the file under which `bin/` finds it. */
const ENTRIES = { main: 'main.ts', 'kubectl-routedip': 'composition/kubectl-routedip.ts' };
/** What is loaded only when somebody asks for a page or for certificates stays where it is: as many modules as all the rest, and some look for files beside them. */
const APART = /^(@bull-board|@fastify|fastify|@statelyai|@peculiar|reflect-metadata)(\/|$)/;

export interface Bundle {
  /** Where to, as files beside each other. */
  readonly folder: string;
  /** The plugin alone, with all that it needs: by default both programs, whose larger libraries stay apart. */
  readonly isPlugin?: boolean;
  /** Whether the source maps hold the sources, for a debugger. */
  readonly withSources?: boolean;
}

/**
 * The programs with their libraries in a few files, which start in half the time that takes to find and read hundreds of modules.
 * @returns the terms of every library that is in them: they ask to be passed on
 * @throws Error for a library that comes without any
 */
export async function bundle({ folder, isPlugin = false, withSources = false }: Bundle): Promise<string> {
  const input = isPlugin ? { 'kubectl-routedip': ENTRIES['kubectl-routedip'] } : ENTRIES;
  const made = await rolldown({
    input,
    cwd: ROOT,
    platform: 'node',
    external: isPlugin ? [] : APART,
    plugins: [placesOfSources],
    logLevel: 'silent',
  });
  const { output } = await made.write({
    dir: folder,
    sourcemap: !isPlugin,
    sourcemapExcludeSources: !withSources,
    // Two fifths less to parse and to keep in memory. Names stay, for stack traces.
    minify: true,
    keepNames: true,
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
  });
  await made.close();
  return termsOf(output.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : [])));
}

/** A module looks for pages, the package's version and libraries by its own place: it has the place that it would have if each source was compiled to a file of its own. */
const placesOfSources: Plugin = {
  name: 'places-of-sources',
  transform: {
    filter: { id: { exclude: /[\\/]node_modules[\\/]/ }, code: /\bimport\.meta\.url\b/ },
    // No line moves, so the source map stays as it is.
    handler: (code, id) => ({
      code: code.replaceAll(
        'import.meta.url',
        `new URL(${JSON.stringify(`./${relative(ROOT, id).replace(/\.ts$/, '.js')}`)}, import.meta.url).href`,
      ),
      map: null,
    }),
  },
};

const packageOf = (path: string): string | null => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0] ?? null;

const termsOf = (modules: readonly string[]): string => {
  const folders = [...new Set(modules.flatMap((path) => packageOf(path) ?? []))].sort();
  const terms = folders.map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const texts = globSync('{LICEN[CS]E,licen[cs]e,NOTICE,COPYING}*', { cwd: folder }).sort();
    if (texts.length === 0 && license === undefined) throw new Error(`${name} says nothing about its license`);
    return [`${name} ${version}: ${license}`, ...texts.map((file) => readFileSync(join(folder, file), 'utf8').trim())].join('\n\n');
  });
  return `${terms.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
};
