import { routedPortScenarios } from './routed-ports.scenario.ts';

routedPortScenarios();
