// Preloaded into a process that measures modules of a build: whatever of the operator a scenario imports comes from there.
import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../tools/root.mjs';
import { jobOf } from './apart.ts';

/** Where modules stood in earlier builds, by where they stand now. */
const FORMER: Readonly<Record<string, string | readonly string[]>> = {
  'actors/controllers/chart-registry': 'actors/catalogue',
  'actors/ports/settings': 'actors/settings',
  'actors/runtime/charts': 'actors/charts',
  'actors/runtime/step': 'actors/step',
  'machines/model/actor-id': ['actors/runtime/charts', 'actors/charts'],
  'machines/model/matching': 'machines/match',
  'machines/vip/ip-group': 'machines/segment',
};

const HERE = pathToFileURL(join(ROOT, '/')).href;
const OPERATOR = /^((?:machines|actors|adapters|crds|composition|plugin)\/.*)\.ts$/;

const { sources } = jobOf(process.argv).plan.build;

registerHooks({
  resolve: (specifier, context, next) => {
    const found = next(specifier, context);
    const module = found.url.startsWith(HERE) ? OPERATOR.exec(found.url.slice(HERE.length))?.[1] : undefined;
    if (module === undefined) return found;
    const file = [module, FORMER[module] ?? []]
      .flat()
      .map((each) => join(sources, `${each}.ts`))
      .find(existsSync);
    if (file === undefined) throw new Error(`it has no ${module}.ts`);
    return { ...found, url: pathToFileURL(file).href };
  },
});
