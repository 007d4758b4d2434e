import { ROUTED_SCENARIOS } from './routed-scenarios.ts';
import { describeCrashes } from './suite.ts';

describeCrashes({
  scenarios: ROUTED_SCENARIOS,
  takeovers: ['lease runs out', 'lease is deleted', 'Redis is emptied'],
  cannot: {},
});
