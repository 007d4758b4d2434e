import { killScenarios } from '../e2e/kill.scenario.ts';

killScenarios();
