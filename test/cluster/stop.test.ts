import { stopScenarios } from '../e2e/stop.scenario.ts';

stopScenarios();
