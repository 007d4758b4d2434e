import { ProviderError } from '../../actors/ports/errors.ts';
import { ApiRefusal, type RequestLayer } from './gaps.ts';

/** How long a token's proven access is trusted, ms: longer than the interval between two verifications. */
const PROVEN_MS = 3_600_000;

/** Whether a token may read something that is otherwise silently missing from responses. */
export interface Sight {
  /** A response has shown it. */
  readonly shown: () => void;
  /** A response has not shown it. @throws ProviderError Unauthorized when the token may not read it; or the error of the check itself */
  readonly require: () => Promise<void>;
}

/** `path` is refused to a token without the scope, and requested when no recent response has shown access. */
function sightOf(layer: RequestLayer, path: string, why: string): Sight {
  let provenAt = Number.NEGATIVE_INFINITY;
  const shown = (): void => {
    provenAt = performance.now();
  };
  return {
    shown,
    require: async () => {
      if (performance.now() - provenAt < PROVEN_MS) return;
      const error = await layer.get(`${path}?page=1&per_page=1`).then(
        () => null,
        (refused: unknown) => refused,
      );
      if (isForbidden(error)) throw new ProviderError('Unauthorized', why, { cause: error });
      if (error === null || isWithoutPath(error)) shown();
      // An outage of the path does not remove a scope that was proven.
      else if (provenAt === Number.NEGATIVE_INFINITY) throw error;
    },
  };
}

/** A 403 of a proxy has another kind. */
const isForbidden = (error: unknown): boolean => error instanceof ApiRefusal && error.status === 403 && error.kind === 'Unauthorized';

/** A stand-in for DigitalOcean's API may lack this path. */
const isWithoutPath = (error: unknown): boolean => error instanceof ApiRefusal && error.status === 404;

/** Without `droplet:read` an address shows no Droplet, as if it were unassigned, and neither does a firewall. */
export const dropletSight = (layer: RequestLayer): Sight =>
  sightOf(layer, '/droplets', 'the token lacks the scope droplet:read: nobody can tell on which Droplets addresses and firewalls are');

/** Without `tag:read` a firewall shows no tags, as if it covered nothing by them. */
export const tagSight = (layer: RequestLayer): Sight =>
  sightOf(layer, '/tags', 'the token lacks the scope tag:read: nobody can tell which Droplets a firewall covers by their tags');
