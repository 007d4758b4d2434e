import type { DomainName, History, Step } from './history.ts';

/** What is no fault: somebody comes, comes back, or takes something bad away. */
const GOOD: Readonly<Partial<Record<DomainName, readonly string[]>>> = {
  nodes: ['nodeRecovers', 'nodeComes', 'uncordon', 'cordon', 'spare', 'doom', 'taint', 'exclude', 'relieve', 'evacuate', 'stay', 'untaint'],
  people: ['restoreByHand', 'makeByHand'],
  processes: ['start', 'mendLease', 'mendStore'],
  stores: ['storeUp', 'queuesUp', 'redisUp', 'mendWrites'],
  api: ['tell'],
  provider: [],
  watches: [],
  jobs: ['allowJobs'],
};

const isFault = (step: Step): boolean => GOOD[step.in]?.includes(step.what.kind) === false;

/** How many faults happen in it: of nodes, provider, API server, processes and stores, and what people do past the operator. */
export const faultsOf = ({ steps }: History): number => steps.filter(isFault).length;
