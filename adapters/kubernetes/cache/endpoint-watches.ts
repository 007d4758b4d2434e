import { isDeepStrictEqual } from 'node:util';
import { isNotFound, messageOf } from '../client/api-error.ts';
import type { Connection } from '../client/connection.ts';
import { type SeenSlice, trimEndpoints, trimSlice } from './endpoint-slices.ts';
import { type Intern, intern } from './intern.ts';
import { ObjectCache } from './object-cache.ts';
import type { Subject, Surroundings } from './reflector.ts';
import { keyOf, type Trimmed } from './trim.ts';

/** One API that provides the endpoints of Services. */
interface EndpointApi {
  readonly kind: string;
  readonly apiVersion: string;
  readonly plural: string;
  trim(object: unknown, shared: Intern): Trimmed<SeenSlice> | null;
}

const GROUP = 'discovery.k8s.io';

const slicesOf = (version: string): EndpointApi => ({
  kind: 'EndpointSlice',
  apiVersion: `${GROUP}/${version}`,
  plural: 'endpointslices',
  trim: trimSlice,
});

/** Kubernetes 1.21 and later. */
const NEWEST = slicesOf('v1');

/** Before 1.21. */
const BETA = slicesOf('v1beta1');

/** Before 1.17. Newer servers have them too, but truncated at a thousand endpoints. */
const ENDPOINTS: EndpointApi = { kind: 'Endpoints', apiVersion: 'v1', plural: 'endpoints', trim: trimEndpoints };

/** The newest API that the server has. @throws ServerUnreachable | ApiError */
const bestOf = async (connection: Connection): Promise<EndpointApi> => {
  try {
    const { versions } = (await connection.send({ method: 'GET', path: `/apis/${GROUP}` })) as { readonly versions?: unknown };
    const served = (Array.isArray(versions) ? versions : []).map(({ version }: { readonly version?: unknown }) => version);
    return [NEWEST, BETA].find(({ apiVersion }) => served.includes(apiVersion.slice(GROUP.length + 1))) ?? ENDPOINTS;
  } catch (error) {
    if (isNotFound(error)) return ENDPOINTS;
    throw error;
  }
};

const pathOf = ({ apiVersion, plural }: EndpointApi): string => `/${apiVersion === 'v1' ? 'api' : 'apis'}/${apiVersion}/${plural}`;

/** The endpoints of all Services, by namespace and name of their Service: EndpointSlices of the newest version that the server has, or else Endpoints. Discovery is
 *  repeated when the API in use is not served and, while it is not the newest, whenever the watch is interrupted, as by a server upgrade. */
export class EndpointWatches {
  readonly slices: ObjectCache<SeenSlice>;
  readonly #world: Surroundings;
  #api = NEWEST;
  #asking = false;

  constructor(world: Surroundings, shared = intern()) {
    this.#world = world;
    const subject = (): Subject<SeenSlice> => {
      const { trim } = this.#api;
      return { query: { path: pathOf(this.#api), labelSelector: '' }, trim: (object) => trim(object, shared), same: isDeepStrictEqual };
    };
    const nameOf = (key: string, { service }: SeenSlice): string => keyOf(namespaceIn(key), service);
    this.slices = new ObjectCache({ kind: () => this.#api.kind, subject, nameOf, troubled: (error) => this.#troubled(error) }, world);
  }

  /** Checks whether the server now serves a newer API. */
  review(): void {
    if (this.#api !== NEWEST && this.slices.reflector !== null) this.#ask();
  }

  #troubled(error: Error | null): void {
    if (isNotFound(error)) this.#ask();
    else this.review();
  }

  #ask(): void {
    if (this.#asking) return;
    this.#asking = true;
    const { connection, log } = this.#world;
    bestOf(connection)
      .then((best) => {
        if (best === this.#api) return;
        this.#api = best;
        log.info('endpoints of Services are read from another API', { api: `${best.apiVersion} ${best.kind}` });
        this.slices.renew();
      })
      .catch((error: unknown) => {
        // The watch of an API that is not served retries, and each failure repeats the discovery.
        log.debug('not known which endpoints are served', { error: messageOf(error) });
      })
      .finally(() => {
        this.#asking = false;
      });
  }
}

const namespaceIn = (key: string): string => key.slice(0, key.indexOf('/'));
