import { DELETION_SCENARIOS, MIGRATION_SCENARIOS } from './migration-scenarios.ts';
import { describeCrashes } from './suite.ts';

describeCrashes({
  scenarios: MIGRATION_SCENARIOS,
  takeovers: ['lease is deleted', 'Redis is emptied'],
  cannot: {},
});

describeCrashes({ scenarios: DELETION_SCENARIOS, takeovers: ['Redis is emptied'], cannot: {} });
