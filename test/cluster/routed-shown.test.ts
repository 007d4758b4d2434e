import { routedShownScenarios } from '../e2e/routed-shown.scenario.ts';

routedShownScenarios();
