import { describeCrashes } from './suite.ts';
import { VIP_SCENARIOS } from './vip-scenarios.ts';

describeCrashes({
  scenarios: VIP_SCENARIOS,
  takeovers: ['lease runs out', 'lease is deleted', 'Redis is emptied'],
  cannot: {},
});
