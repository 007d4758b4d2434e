import { routedPortScenarios } from '../e2e/routed-ports.scenario.ts';

routedPortScenarios();
