import { routedRightScenarios } from '../e2e/routed-rights.scenario.ts';

routedRightScenarios();
