import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Plugin, rolldown } from 'rolldown';
import { keptFolder, keyOf } from './kept-folder.ts';
import { ROOT } from './root.mjs';

const BUNDLES = join(ROOT, '.cache/operator');
const ENTRIES = { main: 'main.ts', 'composition/kubectl-routedip': 'composition/kubectl-routedip.ts' };
/** Whatever decides what is in a bundle. What may be in it is what the package is built from. */
const SOURCES = [
  'main.ts',
  '{composition,machines,actors,adapters,crds,plugin}/**/*.{ts,json}',
  'bin/*.mjs',
  'package-lock.json',
  'tools/bundle.ts',
];
/** What is loaded only when somebody asks for a page or for certificates stays where it is: as many modules as all the rest, and some look for files beside them. */
const APART = /^(@bull-board|@fastify|fastify|@statelyai|@peculiar|reflect-metadata)(\/|$)/;
/** A bundle that nobody has asked for so long is nobody's, ms. */
const KEPT_MS = 24 * 60 * 60 * 1000;

/**
 * The operator and the plugin with their libraries in a few files, which start in a fourth of the time that takes to find, read and compile
 * hundreds of sources. Answers the folder that holds `bin/` as the repository does; it is made when no run with the same sources has left it.
 */
export const bundled = (): Promise<string> => keptFolder({ parent: BUNDLES, key: keyOf(SOURCES), keptMs: KEPT_MS, make });

async function make(draft: string): Promise<void> {
  const bundle = await rolldown({ input: ENTRIES, cwd: ROOT, platform: 'node', external: APART, plugins: [ownUrls], logLevel: 'silent' });
  await bundle.write({
    dir: join(draft, 'dist'),
    sourcemap: true,
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
  });
  await bundle.close();
  cpSync(join(ROOT, 'bin'), join(draft, 'bin'), { recursive: true });
}

/** A module looks beside itself for pages, the package's version and libraries: it goes on doing so where its source is. */
const ownUrls: Plugin = {
  name: 'own-urls',
  transform: {
    filter: { id: { exclude: /[\\/]node_modules[\\/]/ }, code: /\bimport\.meta\.url\b/ },
    // No line moves, so the source map stays as it is.
    handler: (code, id) => ({ code: code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)), map: null }),
  },
};
