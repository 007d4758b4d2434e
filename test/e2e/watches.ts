import { readFileSync } from 'node:fs';
import { connectionOf, rawClient } from '../../simulator/kubernetes/client.ts';
import type { Target } from './target.ts';

/** While definitions are replaced a server may refuse to watch their objects for a moment: it is asked again after so long, ms, and so often. */
const REFUSED = { pauseMs: 200, times: 50 };

/** One line of a watch. */
export interface Told {
  readonly type: string;
  readonly object: unknown;
}

interface Versioned {
  readonly metadata: { readonly resourceVersion: string };
}

/** So long a watch lasts. API servers of 1.20 may tell one of Services nothing more without ending it before its time. */
const LASTS_S = 5;

/** What is told of a cluster, until it is closed. */
export interface Watches {
  /** Every change of the objects under the path, in order; resolves once the server has begun to tell. */
  follow(path: string, take: (told: Told) => void): Promise<void>;
  /** The objects under the path as the server has them now, for comparison. */
  list(path: string): Promise<readonly unknown[]>;
  close(): void;
}

/** A server that refuses answers with a Status in one line. */
const isTold = (line: Partial<Told>): line is Told => line.type !== undefined;

/** Servers also end a watch whose reader is slow for a moment, as any may be on a loaded machine: each is taken up again where it ended, and misses nothing. `lost`
 *  hears when that is impossible. */
export function openWatches(target: Pick<Target, 'adminKubeconfig'>, lost: (why: string) => void): Watches {
  const raw = rawClient(connectionOf(readFileSync(target.adminKubeconfig, 'utf8')));
  let closed = false;
  return {
    follow: (path, take) => {
      // What is there already is told in the order of names.
      let newest = 0;
      let refusals = 0;
      const hear = (line: string): void => {
        const told = JSON.parse(line) as Partial<Told>;
        if (!isTold(told)) {
          refusals += 1;
          if (refusals > REFUSED.times) lost(`${path}: ${line}`);
          return;
        }
        refusals = 0;
        if (told.type === 'ERROR') {
          lost(`${path}: ${line}`);
          return;
        }
        newest = Math.max(newest, Number((told.object as Versioned).metadata.resourceVersion));
        take(told);
      };
      const next = (): void => {
        if (!closed) watch().catch((error: unknown) => closed || lost(`${path}: ${String(error)}`));
      };
      const again = (): void => {
        if (refusals === 0) next();
        else if (refusals <= REFUSED.times) setTimeout(next, REFUSED.pauseMs);
      };
      const watch = (): Promise<void> =>
        raw.stream(`${path}?watch=true&timeoutSeconds=${LASTS_S}${newest === 0 ? '' : `&resourceVersion=${newest}`}`, hear, again);
      return watch();
    },
    list: async (path) => (JSON.parse((await raw.send('GET', path)).text) as { readonly items: readonly unknown[] }).items,
    close: () => {
      closed = true;
      raw.close();
    },
  };
}
