import { redisScenarios } from '../e2e/redis.scenario.ts';

redisScenarios();
