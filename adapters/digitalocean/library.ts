import { createRequire } from 'node:module';
import type { AxiosInstance } from 'axios';
import type { DigitalOcean } from 'digitalocean-js';

/** digitalocean-js with a request layer of its own. */
export interface Library {
  readonly services: DigitalOcean;
  readonly requestLayer: AxiosInstance;
}

const require = createRequire(import.meta.url);

/** The one copy for all accounts, loaded before anything runs: to compile it takes a quarter of a second. The library keeps token and URL on one module-level
 *  axios instance; they are taken off it, since only whoever sends a request knows which account it is for. */
export const library: Library = load();

function load(): Library {
  const { DigitalOcean: Services } = require('digitalocean-js') as typeof import('digitalocean-js');
  const { instance } = require('digitalocean-js/src/lib/axios-instance.js') as { instance: AxiosInstance };
  const services = new Services('');
  delete instance.defaults.headers.common.Authorization;
  delete instance.defaults.baseURL;
  return { services, requestLayer: instance };
}
