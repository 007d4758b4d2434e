import { routedControllerScenarios } from './routed-controllers.scenario.ts';

routedControllerScenarios();
