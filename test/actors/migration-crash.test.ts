import { describeCrashes } from './crash-suite.ts';
import { MIGRATION_SCENARIOS } from './migration-crash-scenarios.ts';

describeCrashes({
  scenarios: MIGRATION_SCENARIOS,
  takeovers: ['lease is deleted', 'Redis is emptied'],
  cannot: {},
});
