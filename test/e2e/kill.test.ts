import { killScenarios } from './kill.scenario.ts';

killScenarios();
