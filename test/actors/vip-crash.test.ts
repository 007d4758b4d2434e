import { describeCrashes } from './crash-suite.ts';
import { VIP_SCENARIOS } from './vip-crash-scenarios.ts';

describeCrashes({
  scenarios: VIP_SCENARIOS,
  takeovers: ['lease runs out', 'lease is deleted', 'Redis is emptied'],
  cannot: {},
});
