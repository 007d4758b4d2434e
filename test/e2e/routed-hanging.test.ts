import { routedHangingScenarios } from './routed-hanging.scenario.ts';

routedHangingScenarios();
