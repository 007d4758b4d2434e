import { routedIPScenarios } from '../e2e/routed-ip.scenario.ts';

routedIPScenarios();
