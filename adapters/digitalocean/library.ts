import { createRequire } from 'node:module';
import { dirname, sep } from 'node:path';
import type { AxiosInstance } from 'axios';
import type { DigitalOcean } from 'digitalocean-js';

/** digitalocean-js with a request layer of its own. */
export interface Library {
  readonly services: DigitalOcean;
  readonly requestLayer: AxiosInstance;
}

/**
 * A private copy of digitalocean-js. The library keeps token and URL on one module-level axios instance, so that a second
 * client would overwrite the first one's token; a copy of its modules per client keeps several tokens apart in one process.
 */
export function loadLibrary(token: string, baseURL: string): Library {
  const require = createRequire(import.meta.url);
  const folder = dirname(require.resolve('digitalocean-js')) + sep;
  const known = takeOut(require.cache, folder);
  try {
    const library = require('digitalocean-js') as typeof import('digitalocean-js');
    const { instance } = require('digitalocean-js/src/lib/axios-instance.js') as { instance: AxiosInstance };
    return { services: new library.DigitalOcean(token, baseURL), requestLayer: instance };
  } finally {
    takeOut(require.cache, folder);
    Object.assign(require.cache, known);
  }
}

/** Removes what was loaded from `folder` from the module cache, and answers it. */
function takeOut(cache: NodeJS.Dict<NodeJS.Module>, folder: string): NodeJS.Dict<NodeJS.Module> {
  const taken: NodeJS.Dict<NodeJS.Module> = {};
  for (const [path, module] of Object.entries(cache)) {
    if (!path.startsWith(folder)) continue;
    taken[path] = module;
    delete cache[path];
  }
  return taken;
}
