import { SCENARIOS } from './scenarios.ts';
import { describeCrashes } from './suite.ts';

/** What ends in another way when nothing is remembered but what the status and the provider say, and why that is right. */
const OTHERWISE: Readonly<Record<string, string>> = {
  creation: 'which of two new addresses gets which node is up to who comes first',
  'pool deletion': 'nobody knows the pool any more: what its nodes are annotated with stays',
  'pool deletion while an address is created': 'likewise; the address that was made for it stays as well',
};

// Records and jobs in the memory of each process, and a status that lags behind: only what is written before its effect is sure to be found by the next one.
describeCrashes({
  scenarios: SCENARIOS.filter(({ name }) => OTHERWISE[name] === undefined).map((scenario) => ({
    ...scenario,
    options: { ...scenario.options, fleeting: true, lagMs: 700 },
  })),
  takeovers: ['lease runs out', 'lease is deleted'],
  cannot: {},
});
