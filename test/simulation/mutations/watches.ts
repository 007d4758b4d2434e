import { vi } from 'vitest';
import { ClusterWatch, type Watched } from '../../../adapters/memory/cluster-watch.ts';
import type { ShortPools as History } from '../short.ts';
import type { Mutations } from './mutation.ts';
import { CALM, step } from './pools.ts';

/** A watch that lists anew takes what it has for what is, and tells only what is newer. */
const tellsNothingOf = (watched: Watched) => (): void => {
  const { relist } = ClusterWatch.prototype;
  vi.spyOn(ClusterWatch.prototype, 'relist').mockImplementation(function (this: ClusterWatch, each) {
    if (each !== watched) relist.call(this, each);
  });
};

const stale = (watch: Watched) => step(2_000, { kind: 'stale', watch, ms: 10_000 });

/** What a watch owes to whoever listens, as the one of the API server does: a process that has missed something hears of it in the end. */
export const WATCH_END_MUTATIONS: Mutations<string, History> = {
  'is annotated 203.0.113.200': [
    {
      mutation: 'a watch that lists anew does not tell which pools are gone',
      sabotage: tellsNothingOf('objects'),
      history: { ...CALM, pools: [[0], [1]], steps: [stale('objects'), step(1_000, { kind: 'removePool', pool: 0 })] },
    },
  ],
  'web lists 198.51.100.1 198.51.100.2': [
    {
      mutation: 'a watch that lists anew does not tell which NodeDNSRecordSets are gone',
      sabotage: tellsNothingOf('objects'),
      history: {
        ...CALM,
        names: [null],
        steps: [
          step(0, { kind: 'nameNodes', name: 0, of: 'machines' }),
          stale('objects'),
          step(1_000, { kind: 'removeNodeSet' }),
          step(1_000, { kind: 'name', pool: 0, name: 0 }),
        ],
      },
    },
  ],
};
