import { redisScenarios } from './redis.scenario.ts';

redisScenarios();
