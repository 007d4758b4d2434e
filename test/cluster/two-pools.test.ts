import { twoPoolsScenarios } from '../e2e/two-pools.scenario.ts';

twoPoolsScenarios();
