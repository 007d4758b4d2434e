import { routedKillScenarios } from './routed-kill.scenario.ts';

routedKillScenarios();
