import { createRequire } from 'node:module';
import type { AxiosInstance } from 'axios';
import type { DigitalOcean } from 'digitalocean-js';

/** digitalocean-js with a request layer of its own. */
export interface Library {
  readonly services: DigitalOcean;
  readonly requestLayer: AxiosInstance;
}

const require = createRequire(import.meta.url);

/** The one copy for all accounts, loaded at startup: compiling it takes a quarter of a second. The library keeps token and URL on one module-level
 *  axios instance; they are removed, since only the sender of a request knows its account. */
export const library: Library = load();

function load(): Library {
  const { DigitalOcean: Services } = require('digitalocean-js') as typeof import('digitalocean-js');
  const { instance } = require('digitalocean-js/src/lib/axios-instance.js') as { instance: AxiosInstance };
  const services = new Services('');
  delete instance.defaults.headers.common.Authorization;
  delete instance.defaults.baseURL;
  return { services, requestLayer: instance };
}
