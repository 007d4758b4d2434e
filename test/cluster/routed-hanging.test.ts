import { routedHangingScenarios } from '../e2e/routed-hanging.scenario.ts';

routedHangingScenarios();
