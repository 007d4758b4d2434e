import { routedControllerScenarios } from '../e2e/routed-controllers.scenario.ts';

routedControllerScenarios();
