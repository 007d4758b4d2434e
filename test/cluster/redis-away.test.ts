import { redisAwayScenarios } from '../e2e/redis-away.scenario.ts';

redisAwayScenarios();
