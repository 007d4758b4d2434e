import { routedReachScenarios } from '../e2e/routed-reach.scenario.ts';

routedReachScenarios();
