import { routedShownScenarios } from './routed-shown.scenario.ts';

routedShownScenarios();
