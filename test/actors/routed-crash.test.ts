import { describeCrashes } from './crash-suite.ts';
import { ROUTED_SCENARIOS } from './routed-crash-scenarios.ts';

describeCrashes({
  scenarios: ROUTED_SCENARIOS,
  takeovers: ['lease runs out', 'lease is deleted', 'Redis is emptied'],
  cannot: {},
});
