import { routedReachScenarios } from './routed-reach.scenario.ts';

routedReachScenarios();
