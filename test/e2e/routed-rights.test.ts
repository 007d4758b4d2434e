import { routedRightScenarios } from './routed-rights.scenario.ts';

routedRightScenarios();
