import { failoverScenarios } from '../e2e/failover.scenario.ts';

failoverScenarios();
