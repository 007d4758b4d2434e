import { failoverScenarios } from './failover.scenario.ts';

failoverScenarios();
