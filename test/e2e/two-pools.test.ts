import { twoPoolsScenarios } from './two-pools.scenario.ts';

twoPoolsScenarios();
