import { routedKillScenarios } from '../e2e/routed-kill.scenario.ts';

routedKillScenarios();
