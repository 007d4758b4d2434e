import { routedIPScenarios } from './routed-ip.scenario.ts';

routedIPScenarios();
