import { isDeepStrictEqual } from 'node:util';
import { isNotFound, messageOf } from './api-error.ts';
import type { Cache } from './cache-state.ts';
import type { Connection } from './connection.ts';
import { type SeenSlice, trimEndpoints, trimSlice } from './endpoint-slices.ts';
import { type Intern, intern } from './intern.ts';
import type { Subject, Surroundings } from './reflector.ts';
import { SharedWatches, type Use, type WatchUser } from './shared-watches.ts';
import type { Trimmed } from './trim.ts';

/** One way to learn the endpoints of the Services of a namespace. */
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

/** Before 1.17. Newer servers have them too, but cut off after a thousand endpoints. */
const ENDPOINTS: EndpointApi = { kind: 'Endpoints', apiVersion: 'v1', plural: 'endpoints', trim: trimEndpoints };

/** The best that the server has. @throws ServerUnreachable | ApiError */
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

const namespaced = ({ apiVersion, plural }: EndpointApi, namespace: string): string =>
  `/${apiVersion === 'v1' ? 'api' : 'apis'}/${apiVersion}/namespaces/${namespace}/${plural}`;

/** The endpoints of Services, one watch for each namespace: EndpointSlices of the newest version that the server has, or else Endpoints. What it has is asked
 *  when one of them turns out not to be served and, while it is not the newest, whenever a watch is interrupted, as it is when the server is replaced. */
export class EndpointWatches {
  readonly #world: Surroundings;
  readonly #watches: SharedWatches<SeenSlice>;
  #api = NEWEST;
  #asking = false;

  constructor(world: Surroundings, shared = intern()) {
    this.#world = world;
    const subject = (namespace: string): Subject<SeenSlice> => {
      const { trim } = this.#api;
      return {
        query: { path: namespaced(this.#api, namespace), labelSelector: '' },
        trim: (object) => trim(object, shared),
        same: isDeepStrictEqual,
      };
    };
    // By namespace: what is asked for there may change.
    this.#watches = new SharedWatches(world, ({ path }) => subject(path));
  }

  use(namespace: string, user: WatchUser<SeenSlice>): Use<SeenSlice> {
    const troubled = (error: Error | null): void => {
      if (isNotFound(error)) this.#ask();
      else this.review();
      user.troubled(error);
    };
    return this.#watches.use({ path: namespace, labelSelector: '' }, { ...user, troubled });
  }

  /** Looks whether the server has come to serve something newer. */
  review(): void {
    if (this.#api !== NEWEST && this.#watches.reflectors().length > 0) this.#ask();
  }

  /** The caches, for a look at how they stand. */
  caches(): readonly Cache[] {
    return this.#watches.reflectors().map((reflector) => ({ kind: this.#api.kind, reflector }));
  }

  #ask(): void {
    if (this.#asking) return;
    this.#asking = true;
    const { connection, log } = this.#world;
    bestOf(connection)
      .then((best) => {
        if (best === this.#api) return;
        this.#api = best;
        log.info('endpoints of Services are read from another API', { api: best.apiVersion, kind: best.kind });
        this.#watches.renew();
      })
      .catch((error: unknown) => {
        // What is not served is looked for again by its watch, and each time that fails it is asked again.
        log.debug('not known which endpoints are served', { error: messageOf(error) });
      })
      .finally(() => {
        this.#asking = false;
      });
  }
}
