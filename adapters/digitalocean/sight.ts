import { ProviderError } from '../../actors/ports/errors.ts';
import { ApiRefusal, type RequestLayer } from './gaps.ts';

/** What a token could see it is taken to see for so long, ms: longer than from one verification to the next. */
const PROVEN_MS = 3_600_000;

/** Whether a token may see something without which an answer says less than there is, and looks whole. */
export interface Sight {
  /** An answer has shown it. */
  readonly shown: () => void;
  /** An answer has not shown it. @throws ProviderError Unauthorized when the token may not see it; what the question itself failed with */
  readonly require: () => Promise<void>;
}

/** `path` is refused to a token without the scope, and asked for where no answer has shown it lately. */
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
      // An outage of the path takes away no scope that was there.
      else if (provenAt === Number.NEGATIVE_INFINITY) throw error;
    },
  };
}

/** What a proxy says with that status is of another kind. */
const isForbidden = (error: unknown): boolean => error instanceof ApiRefusal && error.status === 403 && error.kind === 'Unauthorized';

/** An API that stands in for DigitalOcean's may have no such path. */
const isWithoutPath = (error: unknown): boolean => error instanceof ApiRefusal && error.status === 404;

/** Without `droplet:read` an address shows no Droplet, as if it were on none, and a firewall none either. */
export const dropletSight = (layer: RequestLayer): Sight =>
  sightOf(layer, '/droplets', 'the token lacks the scope droplet:read: nobody can tell on which Droplets addresses and firewalls are');

/** Without `tag:read` a firewall shows no tags, as if it covered nothing by them. */
export const tagSight = (layer: RequestLayer): Sight =>
  sightOf(layer, '/tags', 'the token lacks the scope tag:read: nobody can tell which Droplets a firewall covers by their tags');
